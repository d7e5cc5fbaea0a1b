"""Translating new text with the systems of an experiment whose results are there."""
