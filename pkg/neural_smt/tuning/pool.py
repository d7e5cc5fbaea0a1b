"""What tuning collects over its decoding passes, whatever it tunes on."""

from pathlib import Path
from typing import Protocol, Self


class Pool(Protocol):
    """What all decoding passes so far have found; its length is the size that the history shows."""

    def __len__(self) -> int: ...

    @classmethod
    def empty(cls, size: int, features: int) -> Self:
        """Nothing yet, for ``size`` sentences and ``features`` feature values."""

    def save(self, folder: Path) -> None:
        """Write a folder."""

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what ``save`` wrote."""
