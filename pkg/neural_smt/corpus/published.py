"""Which sources of an experiment are published texts, and which of their sides it reads."""

from collections.abc import Iterator, Mapping
from typing import Any

ALIGNMENT = "alignment"
"""The side of a gold set that holds its links."""


def published_sources(config: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Every source of published text that an experiment uses, those that are joined one by one, and its sides."""
    corpus, languages = config["corpus"], [config["languages"][side] for side in ("source", "target")]
    both = [*corpus["train"], *corpus["in_domain"], corpus["dev"], *corpus["test"], *corpus["gold"]]
    sides = dict.fromkeys(corpus["monolingual"], languages[1:]) | dict.fromkeys(both, languages)
    sides |= {name: [*languages, ALIGNMENT] for name in corpus["gold"]}
    wanted: dict[str, list[str]] = {}
    for name, needed in sides.items():
        for part in corpus["sources"][name].get("join", [name]):
            if "part" not in corpus["sources"][part] and len(needed) > len(wanted.get(part, ())):
                wanted[part] = needed
    yield from wanted.items()
