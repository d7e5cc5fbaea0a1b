"""Data selection: keep the part of a general pool that resembles in-domain text."""
