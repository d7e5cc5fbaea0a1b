"""Parallel text: fetched or generated, normalised, tokenised, cleaned, and numbered by a vocabulary."""
