"""Representations of the source sentence, the auxiliary input of the joint model (Auli et al. 2013, section 5)."""
