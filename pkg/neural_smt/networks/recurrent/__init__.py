"""The recurrent language model and the joint language and translation model (Auli et al. 2013)."""
