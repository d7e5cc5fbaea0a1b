"""What the networks have learnt, looked at: the qualitative analyses of Cho et al. (2014), sections 4.3 and 4.4."""
