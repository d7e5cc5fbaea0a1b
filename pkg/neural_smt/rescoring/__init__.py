"""Scores of trained networks as columns of the phrase table."""
