"""Lattices and n-best lists rescored with the recurrent joint model (Auli et al. 2013, section 3)."""
