"""Word alignment in both directions, symmetrisation, lexical translation tables and alignment error rates."""
