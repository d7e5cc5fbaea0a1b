"""The attention network of Bahdanau et al. (2015) with a target vocabulary per batch (Mi et al. 2016)."""
