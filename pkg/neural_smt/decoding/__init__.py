"""Phrase-based beam search with the features of Moses: stack decoding, cube pruning, lattices, n-best lists."""
