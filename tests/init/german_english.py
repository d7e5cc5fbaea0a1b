"""German sentences with their English translations, as many as are wanted, no two alike."""

import itertools
from pathlib import Path

SUBJECTS = [
    ("Der alte Lehrer", "The old teacher"),
    ("Die junge Ärztin", "The young doctor"),
    ("Das kleine Mädchen", "The little girl"),
    ("Mein Nachbar", "My neighbour"),
    ("Die Bürgermeisterin", "The mayor"),
    ("Unser Bäcker", "Our baker"),
    ("Der Schüler", "The pupil"),
    ("Ihre Tante", "Her aunt"),
    ("Frau Groß", "Mrs Groß"),
    ("Der Hund", "The dog"),
]
VERBS = [
    ("sucht", "is looking for"),
    ("findet", "finds"),
    ("verkauft", "sells"),
    ("kennt", "knows"),
    ("malt", "paints"),
    ("fürchtet", "fears"),
    ("bezahlt", "pays for"),
    ("vergisst", "forgets"),
]
OBJECTS = [
    ("den grünen Schlüssel", "the green key"),
    ("die schöne Straße", "the beautiful street"),
    ("das „Schloss“", 'the "castle"'),
    ("den Käse", "the cheese"),
    ("die Übung Nr. 5", "exercise no. 5"),
    ("das Öl für 3,50 €", "the oil for € 3.50"),
    ("zwei Äpfel", "two apples"),
    ("die Türen", "the doors"),
]
PLACES = [("in der Stadt", "in the town"), ("auf dem Markt", "at the market"), ("und lacht", "and laughs")]


def sentences(count: int) -> list[tuple[str, str]]:
    """The first ``count`` of 1,920 pairs."""
    found = [
        tuple(f"{' '.join(part[side] for part in parts)}." for side in (0, 1))
        for parts in itertools.product(SUBJECTS, VERBS, OBJECTS, PLACES)
    ]
    assert count <= len(found)
    # neighbours differ in all of their parts, so that the first ones have every word
    return [found[(number * 787) % len(found)] for number in range(count)]


def write_corpus(folder: Path, count: int = 600, name: str = "corpus") -> tuple[Path, Path]:
    """Write ``<name>.de`` and ``<name>.en``."""
    paths = folder / f"{name}.de", folder / f"{name}.en"
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in sentences(count)), encoding="utf-8")
    return paths
