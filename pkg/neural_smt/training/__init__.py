"""Training networks: data, optimiser, loop, checkpoints and learning curves."""
