"""An experiment made of a user's own parallel text: its languages, its checks, its splits, its settings."""
