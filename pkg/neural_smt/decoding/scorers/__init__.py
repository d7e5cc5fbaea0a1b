"""How networks score target words: one interface for search, lattices, n-best lists and beam search."""
