"""Tuning of the log-linear weights: MERT on n-best lists and lattices, batch MIRA."""
