"""Lattices: their arrays, and what sums along their derivations."""

import numpy as np
from tiny_models import all_derivations, random_model

from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.decoding.search import Decoder, SearchSettings

SENTENCES = [["a", "b", "c", "a"], [], ["c", "unknown", "b", "a"], ["b"]]
EVERYTHING = SearchSettings(stack_size=100_000, beam_threshold=0.0, table_limit=0)


def test_flat_lattices_hold_every_derivation_and_go_through_files(tmp_path):
    model, weights = random_model(4)
    decoder = Decoder(model, EVERYTHING, weights)
    flat = FlatLattices.of(decoder.lattices(SENTENCES), decoder.feature_set.size)
    flat.save(tmp_path / "lattices")
    flat = FlatLattices.load(tmp_path / "lattices")
    assert len(flat) == 4 and flat.node_offsets[1] == flat.node_offsets[2]
    scores = decoder.vector @ flat.features
    for number, sentence in enumerate(SENTENCES):
        first, last = flat.node_offsets[number : number + 2]
        ways = {int(first): [((), 0.0)]} if sentence else {}
        for node in range(int(first) + 1, int(last)):
            arcs = range(int(flat.arc_offsets[node]), int(flat.arc_offsets[node + 1]))
            ways[node] = [
                (words + tuple(flat.words[arc].tolist()), score + scores[arc])
                for arc in arcs
                for words, score in ways[int(flat.tails[arc])]
            ]
        if sentence:
            expected = all_derivations(model, sentence, decoder.feature_set, decoder.vector)
            found = sorted((score for _, score in ways[int(last) - 1]), reverse=True)
            np.testing.assert_allclose(found, [e.score for e in expected], rtol=1e-4, atol=1e-4)
