"""Search graphs of sentences: building, k-best derivations, new weights, posteriors, oracles, and file formats."""
