"""Search graphs of sentences: building, k-best derivations, new weights, oracles, and file formats."""
