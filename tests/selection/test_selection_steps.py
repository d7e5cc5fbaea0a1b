"""Selection on a pool in which lines of the wanted kind are hidden among others."""

import csv

import numpy as np
import pytest

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_lines
from neural_smt.language_model.model import NgramModel
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.selection.cross_entropy import cross_entropy_difference, sentence_cross_entropy
from neural_smt.selection.curve import Curve, Point, PoolModels, _halfway, draw_curve
from neural_smt.selection.steps import select_pairs, select_text
from neural_smt.vocabulary import Vocabulary

SETTINGS = {"method": "axelrod", "order": 3, "fractions": [0.1, 0.2, 0.4, 0.8], "random_samples": 2}
NEWS = ["minister", "president", "parliament", "budget", "election", "said", "rejected", "visited", "today", "new"]
LAWS = ["section", "regulation", "subsection", "applies", "pursuant", "licence", "shall", "paragraph", "to", "the"]


def sentences(words: list[str], count: int, seed: int) -> list[str]:
    """Sentences of a first-order chain over the words, so that n-grams repeat."""
    generator = np.random.default_rng(seed)
    steps = np.random.default_rng(len(words[0])).dirichlet(np.full(len(words), 0.3), size=len(words))
    lines = []
    for length in generator.integers(4, 12, count):
        chain = [int(generator.integers(len(words)))]
        while len(chain) < length:
            chain.append(int(generator.choice(len(words), p=steps[chain[-1]])))
        lines.append(" ".join(words[i] for i in chain))
    return lines


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A pool with 100 news lines at every fifth place of 500, in-domain and dev news; "French" is upper case."""
    folder = tmp_path_factory.mktemp("toy")
    news, laws = sentences(NEWS, 100, 1), sentences(LAWS, 400, 2)
    pool = [news[i // 5] if i % 5 == 0 else laws[i - i // 5 - 1] for i in range(500)]
    for name, lines in {"pool": pool, "in": sentences(NEWS, 60, 3), "dev": sentences(NEWS, 50, 4)}.items():
        write_lines(folder / f"{name}.en", lines)
        write_lines(folder / f"{name}.fr", [line.upper() for line in lines])
    return folder


def pairs(toy, output, settings=SETTINGS, scores="scores.tsv", in_domain="in", threads=1, **paths):
    arguments = {
        "pool_source": toy / "pool.en",
        "pool_target": toy / "pool.fr",
        "in_domain_source": toy / f"{in_domain}.en",
        "in_domain_target": toy / f"{in_domain}.fr",
        "dev_source": toy / "dev.en",
        "dev_target": toy / "dev.fr",
        "source_output": output / "out.en",
        "target_output": output / "out.fr",
        "scores": output / scores,
        "curve": output / "curve.csv",
        "plot": output / "curve.png",
    }
    select_pairs(**arguments | paths, settings=settings, seed=7, threads=threads)


def text(toy, output, settings=SETTINGS, **paths):
    arguments = {
        "pool": toy / "pool.fr",
        "in_domain": toy / "in.fr",
        "dev": toy / "dev.fr",
        "output": output / "out.fr",
        "scores": output / "scores.npy",
        "curve": output / "curve.csv",
        "plot": output / "curve.png",
    }
    select_text(**arguments | paths, settings=settings | {"method": settings.get("method_text", "moore_lewis")}, seed=7)


def read_curve(path):
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_hidden_in_domain_pairs_come_out_on_top(toy, tmp_path):
    pairs(toy, tmp_path)
    rows = [line.split("\t") for line in read_lines(tmp_path / "scores.tsv")]
    assert len(rows) == 500
    scores = np.array([float(score) for score, _ in rows])
    assert set(np.argsort(scores)[:100]) == set(range(0, 500, 5))
    kept = np.array([flag == "1" for _, flag in rows])
    assert scores[kept].max() <= scores[~kept].min()
    for side in ("en", "fr"):
        pool = read_lines(toy / f"pool.{side}")
        expected = read_lines(toy / f"in.{side}") + [line for line, keep in zip(pool, kept, strict=True) if keep]
        assert read_lines(tmp_path / f"out.{side}") == expected


def test_curve_holds_selected_and_random_and_the_choice(toy, tmp_path):
    pairs(toy, tmp_path)
    rows = read_curve(tmp_path / "curve.csv")
    assert list(rows[0]) == ["kept_fraction", "sentences", "words", "dev_perplexity", "method", "chosen"]
    selected = {row["kept_fraction"]: row for row in rows if row["method"] == "selected"}
    random = {row["kept_fraction"]: row for row in rows if row["method"] == "random"}
    assert set(selected) == set(random) and {"0.1", "0.2", "0.4", "0.8"} < set(selected)
    (chosen,) = [row for row in rows if row["chosen"] == "1"]
    assert chosen["method"] == "selected"
    assert float(chosen["dev_perplexity"]) == min(float(row["dev_perplexity"]) for row in selected.values())
    assert float(chosen["dev_perplexity"]) < float(random[chosen["kept_fraction"]]["dev_perplexity"])
    for fraction, row in selected.items():
        assert abs(int(row["words"]) - int(random[fraction]["words"])) <= 12  # one line at most
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_same_seed_same_files_with_any_number_of_threads(toy, tmp_path):
    for name, threads in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        pairs(toy, tmp_path / name, threads=threads)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_monolingual_selection_writes_only_the_kept_lines(toy, tmp_path):
    text(toy, tmp_path)
    table = np.load(tmp_path / "scores.npy", allow_pickle=False)
    assert table.shape == (500,) and set(np.argsort(table["score"])[:100]) == set(range(0, 500, 5))
    pool = read_lines(toy / "pool.fr")
    assert read_lines(tmp_path / "out.fr") == [line for line, kept in zip(pool, table["kept"], strict=True) if kept]


def test_method_none_keeps_everything_and_draws_no_curve(toy, tmp_path):
    off = SETTINGS | {"method": "none"}
    pairs(toy, tmp_path, off)
    assert read_lines(tmp_path / "out.fr") == read_lines(toy / "in.fr") + read_lines(toy / "pool.fr")
    assert read_curve(tmp_path / "curve.csv") == []
    assert read_lines(tmp_path / "scores.tsv") == ["nan\t1"] * 500
    assert (tmp_path / "curve.png").stat().st_size > 0
    pairs(toy, tmp_path, off, in_domain_source=None, in_domain_target=None)
    assert read_lines(tmp_path / "out.en") == read_lines(toy / "pool.en")


def test_in_domain_text_is_needed(toy, tmp_path):
    for side in ("en", "fr"):
        write_lines(tmp_path / f"empty.{side}", [])
    with pytest.raises(UserError, match=r"empty\.fr is empty"):
        pairs(toy, tmp_path, in_domain_source=tmp_path / "empty.en", in_domain_target=tmp_path / "empty.fr")
    with pytest.raises(UserError, match="in_domain names none"):
        pairs(toy, tmp_path, in_domain_source=None, in_domain_target=None)
    with pytest.raises(UserError, match="method moore_lewis needs in-domain text"):
        text(toy, tmp_path, in_domain=None)
    assert not (tmp_path / "out.fr").exists()


def test_other_faults_are_one_sentence(toy, tmp_path):
    write_lines(tmp_path / "empty", [])
    with pytest.raises(UserError, match="empty: no text"):
        text(toy, tmp_path, dev=tmp_path / "empty")
    with pytest.raises(UserError, match="empty: no text"):
        text(toy, tmp_path, pool=tmp_path / "empty")
    with pytest.raises(UserError, match="unknown method 'moore_lewis'"):
        pairs(toy, tmp_path, SETTINGS | {"method": "moore_lewis"})
    with pytest.raises(UserError, match="500 lines but"):
        pairs(toy, tmp_path, pool_target=toy / "in.fr")


def test_cross_entropy_pays_for_the_end_but_does_not_count_it():
    tables = [
        NgramTable(
            np.arange(4, dtype=np.int32)[:, None], np.log10([0.125, 1, 0.25, 0.5]).astype("f4"), np.zeros(4, "f4")
        )
    ]
    vocabulary = Vocabulary.from_sentences(["a"])
    model = NgramModel.from_tables(tables, vocabulary)
    np.testing.assert_allclose(
        sentence_cross_entropy(model, vocabulary.encode(["a a", "a b", ""])), [2, 3, 2], rtol=1e-6
    )


def test_words_outside_the_in_domain_vocabulary_count_against_a_line():
    in_domain = sentences(NEWS, 40, 5)
    pool = sentences(NEWS, 20, 6) + [line.replace("minister", "quark") for line in sentences(NEWS, 20, 6)]
    scores = cross_entropy_difference([pool], [in_domain], 2, np.random.default_rng(1), 1)
    changed = [i for i in range(20) if pool[i] != pool[i + 20]]
    assert changed and all(scores[i + 20] > scores[i] for i in changed)


def test_the_step_is_halved_around_the_best():
    assert _halfway([0.1, 0.2, 0.3], 0.2) == [0.15, 0.25]
    assert _halfway([0.1, 0.2, 0.3], 0.3) == [0.25, 0.35]
    assert _halfway([0.02, 0.04], 0.02) == [0.01, 0.03]
    assert _halfway([0.19, 0.2, 0.21], 0.2) == []
    assert _halfway([0.5, 1.0], 1.0) == [0.75]


def test_the_smallest_of_equally_good_shares_is_chosen():
    points = [Point(0.2, 2, 10, 50.0), Point(0.1, 1, 5, 50.0), Point(0.3, 3, 15, 60.0)]
    assert Curve({point.fraction: point for point in points}).chosen == 0.1


def test_perplexities_are_over_one_vocabulary(toy):
    """A model that saw almost nothing is near uniform over all words of pool and in-domain text."""
    pool, dev = ["a b c d e f g h"], ["x"]
    models = PoolModels([*pool, "x y z"], [], dev, 1)
    point = models.measure(0.5, np.array([0]))
    # p(unseen) is what the fallback discounts set free, 9 * 0.5 / 9, shared by 13 words; </s> was seen once of 9.
    seen_once = 0.5 / 9 + 0.5 / 13
    assert point.perplexity == pytest.approx((0.5 / 13 * seen_once) ** -0.5, rel=1e-5)


def test_random_samples_can_be_left_out(toy):
    models = PoolModels(read_lines(toy / "pool.fr"), read_lines(toy / "in.fr"), read_lines(toy / "dev.fr"), 2)
    curve = draw_curve(models, np.arange(500), [0.5], 0, 1, 1)
    assert curve.random == {} and 0.5 in curve.selected
