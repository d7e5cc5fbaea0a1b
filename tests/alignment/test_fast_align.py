"""fast_align: EM written out plainly, its prior summed by brute force, and the tool's own links."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import digamma

from neural_smt.alignment import fast_align as aligner
from neural_smt.alignment.diagonal_primitives import expected_feature, feature, normaliser, optimised_tension
from neural_smt.alignment.fast_align import FastAlign, _digamma, fast_align, train_fast_align
from neural_smt.corpus.tokenisation import tokenise_lines
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import Vocabulary

SETTINGS = section_settings("alignment.fast_align", {})


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 5), (5, 1), (7, 7), (10, 12), (12, 10)])
def testnormaliser_is_the_sum_over_positions(m: int, n: int) -> None:
    for j in range(1, m + 1):
        brute = sum(math.exp(4.0 * feature(j, i, m, n)) for i in range(1, n + 1))
        assert normaliser(j, m, n, 4.0) == pytest.approx(brute, rel=1e-12)


@pytest.mark.parametrize("n", [1, 4, 9])
def test_expected_feature_of_square_grids(n: int) -> None:
    for j in range(1, n + 1):
        features = np.array([feature(j, i, n, n) for i in range(1, n + 1)])
        weights = np.exp(3.0 * features)
        assert expected_feature(j, n, n, 3.0) == pytest.approx(float(features @ weights / weights.sum()), rel=1e-9)


@pytest.mark.parametrize(("value", "tolerance"), [(0.5, 1e-9), (1.0, 1e-9), (100.0, 1e-12)])
def test_digamma(value: float, tolerance: float) -> None:
    assert _digamma(value) == pytest.approx(digamma(value), abs=tolerance)


def plain_em(source: list[list[int]], target: list[list[int]], settings: Settings) -> tuple[list[set], dict]:
    """Links and p(target | source) of the model by dictionaries: word pairs as keys, NULL as word None."""
    tension, p0, probability = settings.tension, settings.p0, {}
    sizes = [(len(s), len(t)) for s, t in zip(source, target, strict=True) if s and t]
    distinct, counts = np.unique(np.array(sizes), axis=0, return_counts=True)
    tokens = sum(m for _, m in sizes)

    def joint(s: list[int], t: list[int], j: int) -> list[float]:
        z = sum(math.exp(tension * feature(j + 1, i + 1, len(t), len(s))) for i in range(len(s)))
        prior = [math.exp(tension * feature(j + 1, i + 1, len(t), len(s))) * (1 - p0) / z for i in range(len(s))]
        return [probability.get((e, t[j]), 1e-9) * p for e, p in zip([None, *s], [p0, *prior], strict=True)]

    for iteration in range(1, settings.iterations):
        expected: dict = {}
        diagonal = 0.0
        for s, t in zip(source, target, strict=True):
            for j in range(len(t) if s else 0):
                weights = joint(s, t, j)
                for i, (e, weight) in enumerate(zip([None, *s], weights, strict=True)):
                    posterior = weight / sum(weights)
                    expected[e, t[j]] = expected.get((e, t[j]), 0.0) + posterior
                    diagonal += posterior * feature(j, i, len(t), len(s)) if i else 0.0
        if iteration > 1:
            tension = optimised_tension(tension, diagonal / tokens, distinct, counts, tokens)
        totals: dict = {}
        for (e, _), count in expected.items():
            totals[e] = totals.get(e, 0.0) + count + settings.alpha
        for (e, f), count in expected.items():
            probability[e, f] = math.exp(_digamma(count + settings.alpha) - _digamma(totals[e]))
    links = []
    for s, t in zip(source, target, strict=True):
        best = [int(np.argmax(joint(s, t, j))) - 1 for j in range(len(t) if s else 0)]
        links.append({(i, j) for j, i in enumerate(best) if i >= 0})
    return links, probability


def test_plain_em_finds_the_same_links_and_translations() -> None:
    generator = np.random.default_rng(5)
    source = [generator.integers(0, 9, generator.integers(0, 8)).tolist() for _ in range(60)]
    # The translation of word w is w, now and then with a word put in or left out; all of NULL's words occur.
    target = [[w for w in s if generator.random() > 0.1] + generator.integers(9, 11, 1).tolist() for s in source]
    for iterations in (1, 2, 5):
        settings = SETTINGS.replace(iterations=iterations)
        model = train_fast_align([(Ragged.from_lists(source), Ragged.from_lists(target))], 9, 11, settings)
        (found,), (links, probability) = model.links(), plain_em(source, target, settings)
        assert found.values.dtype == np.int16
        assert [{tuple(link) for link in pair.tolist()} for pair in found] == links
        if iterations > 1:
            sources, targets, values = model.translations(0)
            table = dict(zip(zip(sources.tolist(), targets.tolist(), strict=True), values.tolist(), strict=True))
            of_words = {pair: value for pair, value in probability.items() if pair[0] is not None}
            assert table == pytest.approx(of_words, rel=1e-9)
            one = [part.tolist() for part in model.translations(1)]
            assert (one[0], one[1]) == (list(range(9)), list(range(9)))
            assert one[2] == [max(value for (s, _), value in table.items() if s == word) for word in range(9)]


def test_a_text_in_pieces_has_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some words are in one piece alone, one piece has no pair to align, and few rows are added up at a time."""
    monkeypatch.setattr(aligner, "ROWS", 40)
    generator = np.random.default_rng(6)
    source = [generator.integers(k // 30, 9 + k // 30, generator.integers(1, 8)).tolist() for k in range(90)]
    target = [[w for w in s if generator.random() > 0.1] + generator.integers(12, 14, 1).tolist() for s in source]
    source, target = [*source[:60], [], *source[60:]], [*target[:60], [1], *target[60:]]

    def train(cuts: list[int], folder: Path | None, threads: int) -> FastAlign:
        pieces = [(Ragged.from_lists(source[a:b]), Ragged.from_lists(target[a:b])) for a, b in itertools.pairwise(cuts)]
        return train_fast_align(pieces, 11, 14, SETTINGS, folder, threads)

    whole, pieces = train([0, 91], None, 1), train([0, 30, 60, 61, 91], tmp_path, 2)
    links = Ragged.concatenate(list(pieces.links()))
    (expected,) = whole.links()
    assert links.values.tolist() == expected.values.tolist()
    assert links.offsets.tolist() == expected.offsets.tolist()
    assert pieces.tension == pytest.approx(whole.tension, rel=1e-12)
    for count in (0, 2):
        for found, given in zip(pieces.translations(count), whole.translations(count), strict=True):
            assert found.tolist() == pytest.approx(given.tolist(), rel=1e-12)


def test_text_without_a_pair_to_align() -> None:
    empty = Ragged.from_lists([[], [1]])
    result = fast_align(empty, Ragged.from_lists([[1], []]), 2, 2, SETTINGS)
    assert result.lengths.tolist() == [0, 0]
    assert result.values.shape == (0, 2)


@pytest.mark.slow
@pytest.mark.parametrize("backward", [False, True])
def test_the_tool_finds_the_same_links(shared: Path, backward: bool) -> None:
    """Multi30k, tokenised as the tool's input was; the tool's links of its first 2,000 pairs are at hand."""
    sides = []
    for language in ("en", "fr"):
        raw = read_lines(shared / "data" / "multi30k" / f"train.{language}.gz")
        lines = list(tokenise_lines(raw, language))
        vocabulary = Vocabulary.from_sentences(lines)
        sides.append((vocabulary.encode(lines), len(vocabulary)))
    (source, source_size), (target, target_size) = reversed(sides) if backward else sides
    found = fast_align(source, target, source_size, target_size, SETTINGS)
    name = "reverse" if backward else "forward"
    expected = read_lines(shared / "oracle" / "symmetrization" / f"{name}.align.gz")
    for number, links in enumerate(expected):
        pair = found[number][:, ::-1] if backward else found[number]
        assert {f"{i}-{j}" for i, j in pair.tolist()} == set(links.split()), f"line {number + 1}"
