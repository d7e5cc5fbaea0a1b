"""Reranking: networks score n-best lists and lattices, and the best candidates are chosen anew."""
