"""Shared encoding and prefixes against scoring one pair after the other."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from network_cases import CASES, CPU, enlarge
from rescoring_world import load_words, save_table

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.networks.distinct import SortedSequences
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.folder import Trained
from neural_smt.networks.packing import pack_pairs
from neural_smt.phrases.table import PhraseTable, load_column, save_column
from neural_smt.rescoring.scorer import PairScorer
from neural_smt.rescoring.steps import count_unknown_words, score_phrase_table
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import EOS

CHOICES = ("code", "paper", "summary", "reset", "first_step", "tanh", "tanh paper")


def small_network(direction: str = "forward") -> EncoderDecoder:
    """A network of two words a side besides the reserved ones."""
    network = CASES["code"].make(source_words=5, target_words=5, direction=direction)
    enlarge(network, 0.4)
    return network


def random_phrases(count: int, seed: int) -> Ragged:
    """Few different words, so that prefixes and whole phrases recur."""
    random = np.random.default_rng(seed)
    return Ragged.from_lists(
        [np.append(random.choice([0, 3, 4, 5, 6]), random.integers(3, 9, random.integers(0, 4))) for _ in range(count)]
    )


def test_levels_of_a_trie() -> None:
    sequences = SortedSequences.of(Ragged.from_lists([[5, 6], [5], [4, 6], [5, 6], [5, 6, 7]]))
    assert sequences.row_of.tolist() == [2, 1, 0, 2, 3]
    first, second, third, fourth = sequences.levels(0, 4)
    assert first.symbols.tolist() == [4, 5]
    assert second.symbols.tolist() == [6, EOS, 6]
    assert second.parents.tolist() == [0, 1, 1]
    assert (second.ends.tolist(), second.rows.tolist()) == ([1], [1])
    assert third.symbols.tolist() == [EOS, EOS, 7]
    assert third.parents.tolist() == [0, 2, 2]
    assert (third.ends.tolist(), third.rows.tolist()) == ([0, 1], [0, 2])
    assert fourth.symbols.tolist() == [EOS]
    assert fourth.parents.tolist() == [2]


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_scores_equal_those_of_the_network(name: str, batch: int) -> None:
    network = CASES[name].random().float()
    source, target = random_phrases(60, seed=1), random_phrases(300, seed=2)
    source_of = np.random.default_rng(4).integers(0, 60, 300)
    scores, work = PairScorer(network).score(source.take(source_of), target, batch)
    with torch.no_grad():
        expected = [
            network(pack_pairs(source.take([s]), target.take([t]), CPU)).item() for t, s in enumerate(source_of)
        ]
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    assert (work.pairs, work.words) == (300, int(target.lengths.sum()) + 300)
    assert work.sources <= 60
    assert work.prefixes < work.words


def test_every_source_and_prefix_is_computed_once() -> None:
    source = Ragged.from_lists([[3, 4], [5], [3, 4]])
    target = Ragged.from_lists([[3], [3, 4], [3, 5], [3], [6]])
    _, work = PairScorer(CASES["code"].make()).score(source.take([0, 0, 2, 1, 1]), target, 10)
    # Sources 0 and 2 are the same: prefixes (), 3, 3 4, 3 5 of one and (), 3, 6 of the other.
    # The encoder takes 5 steps instead of 13 (both phrases and their ends), the decoder 5 instead of 7.
    expected = {"pairs": 5, "words": 12, "sources": 2, "prefixes": 7, "steps": 20, "states": 10}
    assert work._asdict() == expected


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    """A table of 4 pairs, a model whose shortlist leaves out the rarest words."""
    lines = [
        "a b ||| x ||| 1 1 1 1 ||| 0-0 1-0 ||| 1 1 1 ||| |||",
        "a b ||| x y ||| 1 1 1 1 ||| 0-0 1-1 ||| 1 1 1 ||| |||",
        "a ||| x ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||",
        "c ||| z x ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||",
    ]
    files = save_table(tmp_path, lines)
    _, shortlists = load_words(tmp_path, 2)
    Trained(small_network(), *shortlists).save(tmp_path / "model")
    return files | {"model": tmp_path / "model"}


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_column_is_aligned_with_the_table(inputs: dict[str, Path], tmp_path: Path, direction: str) -> None:
    """A backward network gives the source given the target."""
    order = slice(None) if direction == "forward" else slice(None, None, -1)
    vocabularies, shortlists = load_words(tmp_path, 2)
    network = small_network(direction)
    Trained(network, *shortlists[order]).save(inputs["model"])
    output, statistics = tmp_path / "column.safetensors", tmp_path / "statistics.json"
    score_phrase_table(**inputs, output=output, statistics=statistics, device="cpu", settings={"batch": 2})
    table = PhraseTable.load(inputs["phrase_table"])
    column = load_column(output, table)
    assert column.dtype == np.float32
    maps = [shortlist_ids(*both) for both in zip(vocabularies, shortlists, strict=True)]
    for row, number in enumerate(table.entry_source):
        pair = [Ragged.from_lists([maps[0][table.source[number]]]), Ragged.from_lists([maps[1][table.target[row]]])]
        with torch.no_grad():
            assert column[row] == pytest.approx(network(pack_pairs(*pair[order], CPU)).item(), abs=1e-4)
    report = json.loads(statistics.read_text())
    assert report["pairs"] == 4
    assert report["seconds"] > 0
    assert report["pairs_per_second"] > 0


def test_words_unknown_to_the_networks_are_counted(inputs: dict[str, Path], tmp_path: Path) -> None:
    """The target words are x, y and z, by their counts; the shortlist has the first two."""
    vocabularies, shortlists = load_words(tmp_path, 2)
    shortlists[1].save(tmp_path / "shortlist")
    paths = {name: path for name, path in inputs.items() if name != "model"}
    count_unknown_words(**paths, target_shortlist=tmp_path / "shortlist", output=tmp_path / "column")
    table = PhraseTable.load(inputs["phrase_table"])
    texts = [vocabularies[1].text(phrase) for phrase in table.target]
    known = shortlists[1].words[3:]
    expected = {"x": 0, "x y": 0, "z x": -1} if "y" in known else {"x": 0, "x y": -1, "z x": 0}
    assert load_column(tmp_path / "column", table).tolist() == [expected[text] for text in texts]


def test_a_column_belongs_to_its_table(inputs: dict[str, Path], tmp_path: Path) -> None:
    table = PhraseTable.load(inputs["phrase_table"])
    path = tmp_path / "column"
    save_column(path, np.arange(4), table)
    np.testing.assert_array_equal(load_column(path, PhraseTable.load(inputs["phrase_table"])), [0, 1, 2, 3])
    other = replace(table, target=table.target.take(np.array([1, 0, 2, 3])))
    assert other.digest != table.digest
    with pytest.raises(UserError, match="the scores of another phrase table"):
        load_column(path, other)
    save_column(path, np.array([0, 1, np.nan, 3]), table)
    with pytest.raises(UserError, match="not a finite number"):
        load_column(path, table)
    path.write_bytes(b"no column")
    with pytest.raises(UserError, match="not a score column"):
        load_column(path, table)
    with pytest.raises(UserError, match="no such file"):
        load_column(tmp_path / "nowhere", table)


def test_a_table_of_other_vocabularies_is_refused(inputs: dict[str, Path], tmp_path: Path) -> None:
    swapped = inputs | {"target_vocabulary": inputs["source_vocabulary"]}
    with pytest.raises(UserError, match="another target vocabulary"):
        score_phrase_table(
            **swapped, output=tmp_path / "c.safetensors", statistics=tmp_path / "s.json", device="cpu", settings={}
        )
    assert not (tmp_path / "c.safetensors").exists()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-3), ("bf16", 0.5)])
def test_cuda_scores(inputs: dict[str, Path], tmp_path: Path, precision: str, tolerance: float) -> None:
    columns = []
    for device, settings in (("cpu", {}), ("cuda", {"precision": precision})):
        score_phrase_table(
            **inputs, output=tmp_path / device, statistics=tmp_path / "s.json", device=device, settings=settings
        )
        columns.append(load_column(tmp_path / device, PhraseTable.load(inputs["phrase_table"])))
    np.testing.assert_allclose(columns[1], columns[0], atol=tolerance)
