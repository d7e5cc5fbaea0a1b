"""Splits that share nothing, by content, on random corpora full of repetitions."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neural_smt.corpus.splitting import DEV, SHORT, TEST, TRAIN, PairKeys, assign, content_key, usual_size
from neural_smt.corpus.steps import split
from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, read_lines

WORDS = ["a", "b", "c", "d", "A", "B,"]
SIDES = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
PAIRS = st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=60)


def keys_of(pairs: list[tuple[str, str]]) -> PairKeys:
    keys = PairKeys()
    for pair in pairs:
        keys.add(*pair)
    return keys


def content(text: str) -> str:
    """What a text says, as tests see it: its words in small letters."""
    return " ".join(re.findall(r"\w+", text.lower()))


def contents(pairs: list[tuple[str, str]]) -> tuple[set, set, set]:
    """Pairs, and the sides of more than a few words."""
    sides = [{content(pair[n]) for pair in pairs if len(pair[n].split()) > SHORT} for n in (0, 1)]
    return {(content(one), content(other)) for one, other in pairs}, *sides


def overlap(some: list[tuple[str, str]], others: list[tuple[str, str]]) -> bool:
    return any(one & other for one, other in zip(contents(some), contents(others), strict=True))


def parts_of(pairs: list[tuple[str, str]], roles: np.ndarray) -> list[list[tuple[str, str]]]:
    return [[pair for pair, role in zip(pairs, roles, strict=True) if role == part] for part in (TRAIN, DEV, TEST)]


def test_texts_of_the_same_words_have_one_key() -> None:
    assert content_key("The  red House .") == content_key("the red, house") == content_key("THE RED HOUSE")
    assert content_key("the red houses") != content_key("the red house")
    assert content_key("- - -") == content_key("-  - -") != content_key("...")
    assert content_key("") == content_key("  ")
    assert 0 <= content_key("x") < 2**64


@pytest.mark.parametrize(("pairs", "size"), [(199, 9), (600, 30), (19_999, 999), (20_000, 1000), (10**7, 1000)])
def test_sets_have_a_thousand_pairs_or_a_twentieth(pairs: int, size: int) -> None:
    assert usual_size(pairs) == size


@given(PAIRS, st.integers(0, 3), st.integers(0, 3), st.integers(0, 5))
@settings(max_examples=300)
def test_parts_share_no_pair_and_no_side_but_short_ones(
    pairs: list[tuple[str, str]], dev: int, test: int, seed: int
) -> None:
    keys = keys_of(pairs)
    try:
        roles = assign(keys, [], dev, test, seed, "corpus")
    except UserError:
        # brute force: so many pairs are like no other
        alone = [
            pair
            for number, pair in enumerate(pairs)
            if min(len(side.split()) for side in pair) > 0
            and pair[0] != pair[1]
            and not overlap([pair], pairs[:number] + pairs[number + 1 :])
        ]
        assert len(alone) < dev + test
        return
    train, drawn_dev, drawn_test = parts_of(pairs, roles)
    assert (len(drawn_dev), len(drawn_test)) == (dev, test)
    assert not overlap(drawn_dev, train)
    assert not overlap(drawn_test, train)
    assert not overlap(drawn_dev, drawn_test)
    assert all(count == 1 for count in Counter(drawn_dev + drawn_test).values())
    assert all(one.strip() and other.strip() and one != other for one, other in drawn_dev + drawn_test)
    # what is not drawn is trained on, every copy of it, unless a side is empty
    left = [pair for pair in pairs if not (pair[0] and pair[1])]
    assert sorted(train + drawn_dev + drawn_test + left) == sorted(pairs)
    assert (assign(keys, [], dev, test, seed, "corpus") == roles).all()


@given(PAIRS, PAIRS)
@settings(max_examples=200)
def test_given_sets_leave_the_training_text(pairs: list[tuple[str, str]], others: list[tuple[str, str]]) -> None:
    roles = assign(keys_of(pairs), [keys_of(others)], 0, 0, 1, "corpus")
    train = parts_of(pairs, roles)[0]
    assert not overlap(train, others)
    kept = [pair for pair in pairs if pair[0] and pair[1] and not overlap([pair], others)]
    assert train == kept


def test_seeds_draw_other_pairs() -> None:
    keys = keys_of([(f"wort{n} eins zwei drei", f"word{n} one two three") for n in range(400)])
    drawn = [np.flatnonzero(assign(keys, [], None, None, seed, "corpus") == TEST).tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 20


def test_long_pairs_are_trained_on_and_not_drawn() -> None:
    pairs = [(f"w{n} " * 81, f"v{n}") for n in range(50)] + [("a b", "c d"), ("e", "f")]
    roles = assign(keys_of(pairs), [], 1, 1, 1, "corpus")
    assert sorted(roles[50:].tolist()) == [DEV, TEST]
    assert (roles[:50] == TRAIN).all()


def test_too_few_different_pairs_are_counted() -> None:
    keys = keys_of([("a b c d", "e f g h")] * 500 + [("x", "y")])
    with pytest.raises(UserError, match=r"^c\.en: 20 pairs are to be drawn, but 1 occur only once; ask for fewer with"):
        assign(keys, [], 10, 10, 1, "c.en")
    with pytest.raises(UserError, match=r"^c\.en: no set can be drawn, but 1 occur only once"):
        assign(keys, [], None, None, 1, "c.en")


def corpus(folder: Path, pairs: list[tuple[str, str]], name: str = "c") -> list[Path]:
    paths = [folder / f"{name}.xx", folder / f"{name}.yy"]
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return paths


def test_parts_are_written_clean(tmp_path: Path) -> None:
    pairs = [(f"\ufeffEins {n} u\u0308ber\u200b drei\r", f"one {n} two\x85three") for n in range(300)]
    source, target = corpus(tmp_path, [*pairs, ("", "nothing")])
    dev = corpus(tmp_path, [("EINS 7 über drei!", "other"), ("neu", "new")], "d")
    languages = {"source_language": "de", "target_language": "en"}
    for name in ("out", "again"):
        split(source=source, target=target, **languages, output=tmp_path / name, dev=dev, test_size=12)
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    texts = {"dev.de", "dev.en", "test.de", "test.en", "train.de.gz", "train.en.gz"}
    assert written.keys() == {"split.csv", *texts}
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == written
    rows = {row["text"]: int(row["pairs"]) for row in read_csv(tmp_path / "out" / "split.csv")}
    # the empty one, and the seventh, which is in dev
    assert rows == {"train": 287, "dev": 2, "test": 12, "left out": 2}
    assert written["dev.de"].decode() == "EINS 7 über drei!\nneu\n"
    german, english = (read_lines(tmp_path / "out" / f"train.{language}.gz") for language in ("de", "en"))
    assert german[0] == "Eins 0 über drei" and english[0] == "one 0 two three"
    assert "Eins 7 über drei" not in german
    assert len(german) == len(english) == 287


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"dev_size": 150, "test_size": 100}, r"c\.xx: 50 pairs are left to train on; draw fewer with --dev-size"),
        ({"output": "."}, "is there already; name a new folder"),
        ({"dev_size": 0}, "--dev-size: 0; give at least one pair, or a set of your own with --dev"),
        ({"dev": ["c.xx", "c.yy"], "dev_size": 3}, "--dev-size: the set is given with --dev; leave one of the two out"),
        ({"test": ["c.xx"]}, "--test: 1 files; give two, the source side and the target side"),
        ({"test": ["e.xx", "e.yy"]}, r"e\.xx and .*e\.yy, line 2: no text on a side; take the line out of both"),
        ({"dev": ["n.xx", "n.yy"]}, r"n\.xx: no text; give --dev a set with sentences"),
    ],
)
def test_faults_of_splits_are_said_and_nothing_is_written(tmp_path: Path, options: dict, sentence: str) -> None:
    source, target = corpus(tmp_path, [(f"{n} a b c d", f"{n} e f g h") for n in range(300)])
    corpus(tmp_path, [("a", "b"), ("c", "")], "e")
    corpus(tmp_path, [], "n")
    options = {
        name: [tmp_path / file for file in value] if isinstance(value, list) else value
        for name, value in options.items()
    }
    options = {"output": tmp_path / "out"} | options | ({"output": tmp_path} if "output" in options else {})
    with pytest.raises(UserError, match=sentence):
        split(source=source, target=target, source_language="a", target_language="b", **options)
    assert not (tmp_path / "out").exists()
