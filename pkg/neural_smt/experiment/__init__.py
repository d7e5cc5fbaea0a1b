"""An experiment: its settings and their schema, its networks and systems, and where their results lie."""
