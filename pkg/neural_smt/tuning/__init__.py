"""Tuning of the log-linear weights: minimum error rate training on n-best lists."""
