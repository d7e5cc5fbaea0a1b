"""Translation with attention networks: beam search, and what is written for unknown words."""
