"""Selection on a pool in which lines of the wanted kind are hidden among others, whole and in shards."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from refusals import check_refused
from selection_world import LAWS, NEWS, SETTINGS, scored, selected, sentences, texts_of, write_texts

from neural_smt.io.arrays import read_arrays
from neural_smt.io.files import read_csv, read_lines
from neural_smt.io.streams import TextLines
from neural_smt.language_model.model import NgramModel
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.selection import cross_entropy, curve
from neural_smt.selection.cross_entropy import score_sides, sentence_cross_entropy, train_sides
from neural_smt.selection.curve import Point, PoolModels, _halfway, chosen_fraction, draw_curve
from neural_smt.selection.steps import score_pool
from neural_smt.vocabulary import Vocabulary

FEW = SETTINGS | {"fractions": [0.2, 0.5], "random_samples": 1}
WORDS = ["the", "of", "law", "rain", "sun", "wind", "cold", "storm", "court", "shall", "article", "vote"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pool with 100 news lines at every fifth place of 500, in-domain and dev news."""
    news, laws = sentences(NEWS, 100, 1), sentences(LAWS, 400, 2)
    pool = [news[i // 5] if i % 5 == 0 else laws[i - i // 5 - 1] for i in range(500)]
    texts = {"pool": pool, "in": sentences(NEWS, 60, 3), "dev": sentences(NEWS, 50, 4)}
    return write_texts(tmp_path_factory.mktemp("toy"), **texts)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pool of 90 pairs with empty lines and words that no model knows, in-domain and dev text of its first words."""
    generator = np.random.default_rng(3)
    made = {
        name: [" ".join(generator.choice(words, generator.integers(0, 9))) for _ in range(lines)]
        for name, lines, words in (("pool", 90, WORDS), ("in", 30, WORDS[:7]), ("dev", 20, WORDS[:7]))
    }
    return write_texts(tmp_path_factory.mktemp("texts"), **made)


@pytest.mark.parametrize("sides", [("en", "fr"), ("fr",)])
def test_hidden_in_domain_lines_come_out_on_top(toy: Path, tmp_path: Path, sides: tuple[str, ...]) -> None:
    selected(toy, tmp_path, sides)
    rows = [line.split("\t") for line in read_lines(tmp_path / "scores.tsv.gz")]
    scores, kept = np.array([float(score) for score, _ in rows]), np.array([flag == "1" for _, flag in rows])
    assert len(rows) == 500 and set(np.argsort(scores)[:100]) == set(range(0, 500, 5))
    assert scores[kept].max() <= scores[~kept].min()
    for side in sides:
        inside = read_lines(toy / f"in.{side}") if len(sides) == 2 else []
        pool = read_lines(toy / f"pool.{side}")
        expected = inside + [line for line, keep in zip(pool, kept, strict=True) if keep]
        assert read_lines(tmp_path / f"out.{side}") == expected


def test_curve_holds_selected_and_random_and_the_choice(toy: Path, tmp_path: Path) -> None:
    files = selected(toy, tmp_path / "one")
    rows = read_csv(tmp_path / "one" / "curve.csv")
    assert list(rows[0]) == ["kept_fraction", "sentences", "words", "dev_perplexity", "method", "chosen"]
    methods = ("selected", "random")
    chosen_of, random = ({row["kept_fraction"]: row for row in rows if row["method"] == name} for name in methods)
    assert set(chosen_of) == set(random) and {"0.1", "0.2", "0.4", "0.8"} < set(chosen_of)
    (chosen,) = [row for row in rows if row["chosen"] == "1"]
    assert chosen["method"] == "selected"
    assert float(chosen["dev_perplexity"]) == min(float(row["dev_perplexity"]) for row in chosen_of.values())
    assert float(chosen["dev_perplexity"]) < float(random[chosen["kept_fraction"]]["dev_perplexity"])
    for fraction, row in chosen_of.items():
        assert abs(int(row["words"]) - int(random[fraction]["words"])) <= 12  # one line at most
    assert files["curve.png"].startswith(b"\x89PNG")
    assert selected(toy, tmp_path / "two", threads=2) == files, "with any number of threads"


@pytest.mark.parametrize("sides", [("en", "fr"), ("fr",)])
def test_so_many_words_are_kept_as_are_wanted(toy: Path, tmp_path: Path, sides: tuple[str, ...]) -> None:
    """Compared with two texts, which are no training text themselves; in-domain text still is."""
    news = [line.lower() for line in read_lines(toy / "in.fr")]
    write_texts(tmp_path, some=news[:25], others=news[25:])
    compared = [tmp_path / f"{name}.{side}" for side in sides for name in ("some", "others")]
    settings = SETTINGS | {"method": "axelrod" if len(sides) == 2 else "moore_lewis", "words": 300}
    (tmp_path / "out").mkdir()
    selected(toy, tmp_path / "in", sides, settings=settings)
    selected(toy, tmp_path / "out", sides, settings=settings, in_domain=[], compared=compared)
    kept = read_lines(tmp_path / "out" / "out.fr")
    assert 300 <= sum(len(line.split()) for line in kept) < 312 and {*kept} <= {*read_lines(toy / "pool.fr")[::5]}
    assert read_lines(tmp_path / "in" / "out.fr") == (read_lines(toy / "in.fr") if len(sides) == 2 else []) + kept
    rows = read_csv(tmp_path / "out" / "curve.csv")
    assert [(row["method"], row["sentences"]) for row in rows] == [
        ("selected", str(len(kept))),
        ("random", rows[1]["sentences"]),
    ]
    whole = selected(toy, tmp_path / "out", sides, settings=settings | {"words": 10**6})
    assert len(whole["out.fr"].splitlines()) >= 500
    check_refused(
        ["2 pool", "3 in_domain"], selected, toy, tmp_path, compared=[*compared[:1], *compared[:1], *compared[:1]]
    )


def test_method_none_keeps_everything_and_draws_no_curve(toy: Path, tmp_path: Path) -> None:
    off = {"settings": SETTINGS | {"method": "none"}}
    files = selected(toy, tmp_path, **off)
    assert read_lines(tmp_path / "out.fr") == read_lines(toy / "in.fr") + read_lines(toy / "pool.fr")
    assert read_csv(tmp_path / "curve.csv") == [] and files["curve.png"]
    assert read_lines(tmp_path / "scores.tsv.gz") == ["nan\t1"] * 500
    selected(toy, tmp_path, **off, in_domain=[])
    assert read_lines(tmp_path / "out.en") == read_lines(toy / "pool.en")


@pytest.mark.parametrize("count", [1, 4, 16, 100])
@pytest.mark.parametrize("sides", [("en", "fr"), ("fr",)])
def test_shards_are_selected_as_the_whole(texts: Path, tmp_path: Path, sides: tuple[str, ...], count: int) -> None:
    settings = {"settings": FEW | {"method": "axelrod" if len(sides) == 2 else "moore_lewis"}}
    whole = selected(texts, tmp_path / "whole", sides, **settings)
    assert selected(texts, tmp_path / "o", sides, scored=scored(texts, tmp_path, sides, count), **settings) == whole
    assert 10 < len(whole["out.fr"].splitlines()) < 120


def test_scores_do_not_depend_on_the_pieces_that_are_read(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = [TextLines(path) for path in texts_of(texts, "pool")]
    inside = [read_lines(path) for path in texts_of(texts, "in")]
    models = train_sides(pool, inside, 3, np.random.default_rng(7))
    whole = score_sides(models, pool)
    monkeypatch.setattr(cross_entropy, "LINES", 7)
    np.testing.assert_array_equal(score_sides(models, pool, threads=2), whole)
    assert len(whole) == 90 and len(set(whole.tolist())) > 50


def test_models_on_disk_draw_the_same_curve(texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = selected(texts, tmp_path, settings=FEW)
    monkeypatch.setattr(curve, "MEMORY", 1)
    monkeypatch.setattr(curve, "LINES", 11)
    assert selected(texts, tmp_path, settings=FEW) == whole


def test_what_shards_lack_is_said(texts: Path, tmp_path: Path) -> None:
    parts = scored(texts, tmp_path, ("en", "fr"), 4)
    pieces = "1-of-4.safetensors", "67 scores", "90 lines"
    check_refused(pieces, selected, texts, tmp_path, settings=FEW, scored=parts[:3])


def test_memory_of_a_shard_does_not_grow_with_the_pool(texts: Path, tmp_path: Path) -> None:
    scored(texts, tmp_path, ("en", "fr"), 1)
    peaks, pool = [], texts_of(tmp_path, "pool")
    for copies in (200, 800):
        for path in pool:
            path.write_text((texts / path.name).read_text() * copies)
        tracemalloc.start()
        score_pool(pool=pool, models=tmp_path / "models", output=tmp_path / "s.safetensors", shard="2-of-4")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(read_arrays(tmp_path / "s.safetensors")["scores"]) == 90 * copies // 4
    # The scores themselves are 8 bytes a line, a few times over while both sides are added up.
    assert peaks[1] - peaks[0] < 64 * 90 * 600 / 4 + (1 << 20)


def test_cross_entropy_pays_for_the_end_but_does_not_count_it():
    ids, zeros = np.arange(4, dtype=np.int32)[:, None], np.zeros(4, "f4")
    vocabulary = Vocabulary.from_sentences(["a"])
    table = NgramTable(ids, np.log10([0.125, 1, 0.25, 0.5]).astype("f4"), zeros)
    found = sentence_cross_entropy(NgramModel.from_tables([table], vocabulary), vocabulary.encode(["a a", "a b", ""]))
    np.testing.assert_allclose(found, [2, 3, 2], rtol=1e-6)


def test_words_outside_the_in_domain_vocabulary_count_against_a_line():
    in_domain = sentences(NEWS, 40, 5)
    pool = sentences(NEWS, 20, 6) + [line.replace("minister", "quark") for line in sentences(NEWS, 20, 6)]
    scores = score_sides(train_sides([pool], [in_domain], 2, np.random.default_rng(1)), [pool])
    changed = [i for i in range(20) if pool[i] != pool[i + 20]]
    assert changed and all(scores[i + 20] > scores[i] for i in changed)


def test_the_step_is_halved_around_the_best():
    for fractions, best, expected in (
        ([0.1, 0.2, 0.3], 0.2, [0.15, 0.25]),
        ([0.1, 0.2, 0.3], 0.3, [0.25, 0.35]),
        ([0.02, 0.04], 0.02, [0.01, 0.03]),
        ([0.19, 0.2, 0.21], 0.2, []),
        ([0.5, 1.0], 1.0, [0.75]),
    ):
        assert _halfway(fractions, best) == expected


def test_the_smallest_of_equally_good_shares_is_chosen():
    figures = ("random", 0.05, 40.0), ("selected", 0.2, 50.0), ("selected", 0.1, 50.0), ("selected", 0.3, 60.0)
    assert chosen_fraction([Point(name, share, 1, 5, perplexity) for name, share, perplexity in figures]) == 0.1


def test_perplexities_are_over_one_vocabulary(toy):
    """A model that saw almost nothing is near uniform over all words of pool and in-domain text."""
    pool, dev = ["a b c d e f g h"], ["x"]
    models = PoolModels([*pool, "x y z"], [], dev, 1)
    perplexity = models.measure(np.array([0]))[2]
    # p(unseen) is what the fallback discounts set free, 9 * 0.5 / 9, shared by 13 words; </s> was seen once of 9.
    seen_once = 0.5 / 9 + 0.5 / 13
    assert perplexity == pytest.approx((0.5 / 13 * seen_once) ** -0.5, rel=1e-5)


def test_random_samples_can_be_left_out(toy):
    models = PoolModels(read_lines(toy / "pool.fr"), read_lines(toy / "in.fr"), read_lines(toy / "dev.fr"), 2)
    drawn = draw_curve(models, np.arange(500), [0.5], 0, 1, 1)
    assert {point.method for point in drawn} == {"selected"} and 0.5 in {point.fraction for point in drawn}
