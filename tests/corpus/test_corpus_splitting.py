"""What is said of parallel text; splits that share nothing, by content, on random corpora full of repetitions."""

import gzip
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from german_english import write_pairs
from hypothesis import given
from hypothesis import strategies as st
from published_archives import made
from refusals import check_named, check_refused

from neural_smt.corpus import splitting
from neural_smt.corpus.splitting import DEV, SHORT, TEST, TRAIN, PairKeys, Survey, assign, check_start, content_key
from neural_smt.corpus.steps import split
from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, read_lines

ODD = yaml.safe_load(Path(__file__).with_name("splitting.yaml").read_text(encoding="utf-8"))
ENGLISH = "the cat is on the table and the dog was in the garden with a friend of this man"
GERMAN = "die Katze ist nicht auf dem Tisch und der Hund war mit dem Freund von Frau Groß für eine Stunde im Garten"

Pairs = list[tuple[str, str]]

WORDS = ["a", "b", "c", "d", "A", "B,"]
SIDES = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
PAIRS = st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=60)


def content(text: str) -> str:
    """What a text says, as tests see it: its words in small letters."""
    return " ".join(re.findall(r"\w+", text.lower()))


def contents(pairs: Pairs) -> tuple[set, set, set]:
    """Pairs, and the sides of more than a few words."""
    sides = [{content(pair[n]) for pair in pairs if len(pair[n].split()) > SHORT} for n in (0, 1)]
    return {(content(one), content(other)) for one, other in pairs}, *sides


def overlap(some: Pairs, others: Pairs) -> bool:
    return any(one & other for one, other in zip(contents(some), contents(others), strict=True))


def parts_of(pairs: Pairs, roles: np.ndarray) -> list[Pairs]:
    return [[pair for pair, role in zip(pairs, roles, strict=True) if role == part] for part in (TRAIN, DEV, TEST)]


def test_texts_of_the_same_words_have_one_key() -> None:
    assert content_key("The  red House .") == content_key("the red, house") == content_key("THE RED HOUSE")
    assert content_key("the red houses") != content_key("the red house")
    assert content_key("- - -") == content_key("-  - -") != content_key("...")
    assert content_key("") == content_key("  ")
    assert content_key("वह दिन") != content_key("वह दान"), "vowel signs count"
    assert 0 <= content_key("x") < 2**64


@pytest.mark.parametrize(("pairs", "size"), [(199, 9), (600, 30), (19_999, 999), (20_000, 1000), (10**7, 1000)])
def test_sets_have_a_thousand_pairs_or_a_twentieth(pairs: int, size: int) -> None:
    assert splitting.usual_size(pairs) == size


@given(PAIRS, st.integers(0, 3), st.integers(0, 3), st.integers(0, 5))
def test_parts_share_no_pair_and_no_side_but_short_ones(pairs: Pairs, dev: int, test: int, seed: int) -> None:
    keys = PairKeys(pairs)
    try:
        roles = assign(keys, [], dev, test, seed, Path("corpus"))
    except UserError:
        # brute force: so many pairs are like no other
        fitting = [(n, pair) for n, pair in enumerate(pairs) if all(map(str.split, pair)) and pair[0] != pair[1]]
        alone = [pair for n, pair in fitting if not overlap([pair], pairs[:n] + pairs[n + 1 :])]
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
    assert (assign(keys, [], dev, test, seed, Path("corpus")) == roles).all()


@given(PAIRS, PAIRS)
def test_given_sets_leave_the_training_text(pairs: Pairs, others: Pairs) -> None:
    roles = assign(PairKeys(pairs), [PairKeys(others)], 0, 0, 1, Path("corpus"))
    train = parts_of(pairs, roles)[0]
    assert not overlap(train, others)
    kept = [pair for pair in pairs if pair[0] and pair[1] and not overlap([pair], others)]
    assert train == kept


def test_seeds_draw_other_pairs() -> None:
    keys = PairKeys([(f"wort{n} eins zwei drei", f"word{n} one two three") for n in range(400)])
    drawn = [np.flatnonzero(assign(keys, [], None, None, seed, Path("corpus")) == TEST).tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 20


def test_long_pairs_are_trained_on_and_not_drawn() -> None:
    pairs = [(f"w{n} " * 81, f"v{n}") for n in range(50)] + [("a b", "c d"), ("e", "f")]
    roles = assign(PairKeys(pairs), [], 1, 1, 1, Path("corpus"))
    assert sorted(roles[50:].tolist()) == [DEV, TEST]
    assert (roles[:50] == TRAIN).all()


def test_too_few_different_pairs_are_counted() -> None:
    keys = PairKeys([("a b c d", "e f g h")] * 500 + [("x", "y")])
    check_refused(["c.en", "1 of"], assign, keys, [], None, None, 1, Path("c.en"))


def test_parts_are_written_clean(tmp_path: Path) -> None:
    pairs = [(f"\ufeffEins {n} u\u0308ber\u200b drei\r", f"one {n} two\x85three") for n in range(300)]
    source, target = write_pairs(tmp_path, "c", [*pairs, ("", "nothing")])
    dev = write_pairs(tmp_path, "d", [("EINS 7 über drei!", "other"), ("neu", "new")])
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


def survey(folder: Path, english: list[str], german: list[str]) -> Survey:
    """Of English to German."""
    return Survey(*write_pairs(folder, "c", list(zip(german, english, strict=True)))[::-1])


def numbered(text: str, count: int = 300) -> list[str]:
    return [f"{n} {text}" for n in range(count)]


@pytest.mark.parametrize(("name", "kind"), [("c.en", "a.tar"), ("c.en.gz", "a.tgz")])
def test_an_archive_is_no_text(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / name).write_bytes(made(kind, {"a": ""}))
    check_refused([name, "archive"], check_start, tmp_path / name)


@pytest.mark.parametrize("name", ["c.en", "c.en.gz"])
def test_marks_and_line_ends_are_told(tmp_path: Path, name: str) -> None:
    data = b"\xef\xbb\xbfone\r\ntwo\r\n"
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    for told, what in zip(check_start(tmp_path / name), ("byte order mark", "Windows"), strict=True):
        check_named(told, [name, what])


def test_pairs_are_counted_by_what_is_odd(tmp_path: Path) -> None:
    found = survey(tmp_path, ODD["english"], ODD["german"])
    assert {name: getattr(found, name) for name in ODD["counts"]} == ODD["counts"]
    assert found.spaced[0] == 2 + 2 + 0 + 1 + 1 + 81 + 2 + 1
    # behind the byte order mark
    for remark, pieces in zip(found.remarks(tokenised=False)[1:6], ODD["remarks"], strict=True):
        check_named(remark, pieces)
    assert not any("tokenised" in remark for remark in found.remarks(tokenised=True))


def test_small_corpora_and_copies_are_refused(tmp_path: Path) -> None:
    sides = tmp_path / "c.en", tmp_path / "c.de"
    survey(tmp_path, numbered(ENGLISH, 199), numbered(GERMAN, 199))
    check_refused(["c.en", "199 pairs", "200"], splitting.survey_corpus, *sides)
    survey(tmp_path, numbered(ENGLISH), [*numbered(ENGLISH, 200), *numbered(GERMAN, 100)])
    check_refused("200 of 300", splitting.survey_corpus, *sides)


def test_swapped_and_wrong_sides_are_told(tmp_path: Path) -> None:
    right = survey(tmp_path, numbered(ENGLISH), numbered(GERMAN))
    assert right.check_languages(("en", "de"), stated=False) == []
    swapped = survey(tmp_path, numbered(GERMAN), numbered(ENGLISH))
    (told,) = swapped.check_languages(("en", "de"), stated=True)
    check_named(told, [f"{tmp_path}/c.en", "'de'", f"{tmp_path}/c.de", "'en'"])
    wrong = survey(tmp_path, numbered(ENGLISH), numbered(ENGLISH + " here"))
    check_refused(["c.de", "'en'", "'de'"], wrong.check_languages, ("en", "de"), stated=False)


def test_words_without_spaces_are_not_found(tmp_path: Path) -> None:
    for line in ODD["unspaced"]:
        sides = survey(tmp_path, numbered(ENGLISH), [line] * 300)
        check_refused(["c.de", "spaces", "sacremoses"], sides.check_split)
    for line in ODD["spaced"]:
        survey(tmp_path, numbered(ENGLISH), [line] * 300).check_split()


def test_lines_that_do_not_belong_together_are_noticed(tmp_path: Path) -> None:
    lengths = [(7 * n) % 23 + 1 for n in range(300)]
    shuffled = [lengths[(n * 37) % 300] for n in range(300)]
    together = survey(tmp_path, ["wort " * n for n in lengths], ["word " * n for n in lengths])
    assert together.correlation == pytest.approx(1.0)
    assert together.remarks(tokenised=False) == []
    apart = survey(tmp_path, ["wort " * n for n in lengths], ["word " * n for n in shuffled])
    assert abs(apart.correlation) < 0.2
    check_named(" ".join(apart.remarks(tokenised=False)), ["long lines", "translations"])
