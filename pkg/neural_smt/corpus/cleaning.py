"""Drop the sentences that alignment and phrase extraction cannot use, and count why."""

from collections import Counter
from collections.abc import Iterable, Iterator

DEFAULTS = {"max_length": 80, "max_ratio": 9}
"""Moses' clean-corpus-n.perl: at most 80 tokens a side, at most nine times as long as the other side."""

REASONS = ("empty", "too_long", "ratio")
"""Why a pair is dropped; the first that holds is the one counted."""


def fault(source: str, target: str | None, max_length: int, max_ratio: float) -> str | None:
    """The reason to drop a tokenised pair (``target`` None: a single sentence), or None to keep it."""
    lengths = [len(side.split()) for side in (source, target) if side is not None]
    if min(lengths) == 0:
        return "empty"
    if max(lengths) > max_length:
        return "too_long"
    if max(lengths) > max_ratio * min(lengths):
        return "ratio"
    return None


def clean(
    pairs: Iterable[tuple[str, str | None]], counts: Counter, max_length: int, max_ratio: float
) -> Iterator[tuple[str, str | None]]:
    """Yield the pairs to keep; count every pair in ``counts`` under ``kept`` or its fault."""
    for source, target in pairs:
        reason = fault(source, target, max_length, max_ratio)
        counts[reason or "kept"] += 1
        if reason is None:
            yield source, target
