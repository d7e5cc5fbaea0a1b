"""Phrase pairs: extraction from aligned text, scoring, lexicalised reordering, and the table they end up in."""
