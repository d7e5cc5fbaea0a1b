"""Scores of translations: BLEU on text and on tokens, and whether systems really differ."""
