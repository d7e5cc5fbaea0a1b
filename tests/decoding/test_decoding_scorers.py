"""Every kind of network on lattices and on lists, beside all translations scored one by one, recurrent models by their
equations.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from attention_world import random_network
from candidates import whole_sets
from recurrent_world import KINDS, MODEL, SENTENCES, World, random_world, read_positions
from refusals import check_refused
from tiny_models import SOURCE, TARGET

from neural_smt.decoding.nbest import ListedTranslation
from neural_smt.decoding.reranking.push_forward import LatticeScorer, push_forward, rescore_lists, score_paths
from neural_smt.decoding.reranking_steps import add_scores
from neural_smt.decoding.scorers.attention import AttentionScoring
from neural_smt.decoding.scorers.cslm import CslmScoring
from neural_smt.decoding.scorers.interface import TargetNetwork
from neural_smt.decoding.scorers.ngrams import NgramFeature
from neural_smt.decoding.scorers.recurrent import RecurrentScoring
from neural_smt.io.ragged import Ragged
from neural_smt.networks.folder import Trained
from neural_smt.vocabulary import EOS, UNK

LINES = [" ".join(tokens) for tokens in SENTENCES]


def attention(limited: bool) -> AttentionScoring:
    """An attention network of the tiny words; limited: its softmax is over few words and those of the candidates."""
    network = random_network(len(SOURCE), len(TARGET)).double()
    own = Ragged.from_lists([[UNK, EOS]] * len(SENTENCES))
    sets = whole_sets(own, len(TARGET)) if limited else None
    return AttentionScoring(Trained(network, SOURCE, TARGET), sets)


def trigrams() -> CslmScoring:
    """A model of three words whose scores differ for all n-grams."""

    def score(contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        return -((contexts @ [17, 5] + 7 * words) % 23) / 5.0

    return CslmScoring(NgramFeature("Cslm0", 2, score), TARGET)


def make_network(name: str) -> tuple[World, TargetNetwork]:
    """A network and lattices: of a kind that reads no inputs, or a recurrent model with inputs of the kind ``name``."""
    world = random_world(3, name if name in KINDS else "none")
    made = {"attention": lambda: attention(False), "few words": lambda: attention(True), "n-grams": trigrams}
    if name in made:
        return world, made[name]()
    return world, RecurrentScoring(Path("folder"), world.model.scorer.scorer, MODEL, read_positions(world, name))


def listed(world, sentence: int, path: list[int]) -> ListedTranslation:
    """A path as an entry of a list, with the alignment of its words."""
    lattices = world.lattices
    words = lattices.flat.words
    places = [place for arc in path for place in range(words.offsets[arc], words.offsets[arc + 1])]
    positions = lattices.sets.positions
    pairs = [(int(i), j) for j, place in enumerate(places) for i in positions[int(lattices.links[place])]]
    return ListedTranslation(sentence, lattices.spell(words.values[places]), {}, 0.0, pairs)


def all_paths(world):
    """The paths of every sentence that has words, sentence by sentence."""
    return [(number, path) for number in range(len(SENTENCES)) for path in world.paths(number) if SENTENCES[number]]


@pytest.mark.parametrize("name", ["attention", "few words", "n-grams", *KINDS])
def test_lattices_are_rescored_as_all_their_translations_in_lists(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neural_smt.decoding.reranking.push_forward.BLOCK", 1)  # the empty sentence is alone, too
    world, network = make_network(name)
    scorer = LatticeScorer.of(network, world.lattices, SENTENCES)
    paths = all_paths(world)
    entries = add_scores([listed(world, *found) for found in paths], network, LINES)
    scores = np.array([entry.features[network.feature][0] for entry in entries])
    if name in KINDS:
        np.testing.assert_allclose(scores, [world.score(path, number)[1] for number, path in paths], atol=1e-5)
    owner = np.array([number for number, _ in paths])
    first = np.searchsorted(owner, np.arange(len(SENTENCES) + 1))
    together, states = score_paths(scorer, Ragged.from_lists([path for _, path in paths]), owner)
    np.testing.assert_allclose(together, scores, atol=1e-6 if name in KINDS else 1e-5)
    assert states > 0
    arcs = world.lattices.flat.scores(world.vector)
    totals = 0.7 * scores + [arcs[path].sum() for _, path in paths]
    for threads in (1, 2):
        found = push_forward(scorer, world.all_weights, beam=1000, threads=threads)
        lists = rescore_lists(scorer, world.all_weights, 10_000, threads=threads)
        for number in range(len(SENTENCES)):
            rows = slice(*first[number : number + 2])
            best = totals[rows].max(initial=-np.inf) if SENTENCES[number] else 0.0
            np.testing.assert_allclose([found.scores[number], lists.scores[number]], best, atol=1e-4)
            np.testing.assert_allclose(found.network[number], lists.network[number], atol=1e-4)


def test_states_of_an_n_gram_model_recombine_by_its_last_words() -> None:
    world, network = random_world(3, "none"), trigrams()
    scorer = LatticeScorer.of(network, world.lattices, None)
    whole = push_forward(scorer, world.all_weights, beam=1000)
    monkey = replace(scorer, scorer=scorer.scorer)
    monkey.scorer.history = None
    told_apart = push_forward(monkey, world.all_weights, beam=1000)
    np.testing.assert_allclose(whole.scores, told_apart.scores, atol=1e-6)
    assert whole.evaluations < told_apart.evaluations


def test_lists_of_a_model_that_reads_alignments_need_them() -> None:
    world, network = make_network("links")
    entries = [replace(listed(world, *found), alignment=None) for found in all_paths(world)]
    check_refused(["n-best list", "sentence 0"], add_scores, entries, network, LINES)
