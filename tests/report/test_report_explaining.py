"""How systems explain their translations of single sentences: phrases, links, attention, a lattice."""

from pathlib import Path

import numpy as np
import pytest
from refusals import check_refused
from small_results import load, translator

from neural_smt.decoding.lattices.lattice import max_marginals
from neural_smt.io.files import write_json, write_lines
from neural_smt.report.explaining import draw_lattice, explain_sentences
from neural_smt.report.translations import Explanation

SYSTEM = Path("results/small/systems/baseline")
LINES = ["a b c", "", "c a b &amp; a c b a", "b"]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """The small experiment as the rule finds it: in the folder where Snakemake runs."""
    load(tmp_path)
    monkeypatch.chdir(tmp_path)
    write_lines(Path("text"), LINES)
    write_json(Path("chosen.json"), {"sentences": [0, 1, 2], "drawn": 2})
    return {"text": Path("text"), "chosen": Path("chosen.json"), "output": Path("o.json")}


def test_a_search_tells_its_phrases_and_draws_its_lattice(files: dict) -> None:
    explain_sentences(**files, system=SYSTEM, run=1)
    explanation = Explanation.load(Path("o.json"))
    assert [sentence.source for sentence in explanation.sentences] == [["a", "b", "c"], [], [*"cab", "&", *"acba"]]
    for sentence in explanation.sentences:
        covered = sorted(position for start, stop, _, _ in sentence.phrases for position in range(start, stop))
        assert covered == list(range(len(sentence.source)))
        ends = [end for _, _, _, end in sentence.phrases]
        assert [begin for _, _, begin, _ in sentence.phrases] == [0, *ends][: len(ends)]
        assert ends[-1:] == ([len(sentence.target)] if sentence.source else [])
        assert sentence.attention == []
    best = explanation.sentences[2]
    lattice = explanation.lattice
    assert lattice is not None and lattice.source == best.source
    assert lattice.covered[0] == 0 and max(lattice.covered) == len(best.source)
    path = sorted((arc for arc in lattice.arcs if arc.behind == 0), key=lambda arc: arc.head)
    words, place = [], 0
    for start, stop, begin, end in best.phrases:
        arc = next(arc for arc in path if arc.tail == place and arc.source == [start, stop])
        words, place = [*words, *arc.words], arc.head
        assert arc.words == best.target[begin:end]
    assert words == best.target


def test_a_lattice_is_pruned_to_what_can_be_read(tmp_path: Path) -> None:
    decoder = translator(tmp_path).decoder
    tokens = [*"cabacba"]
    (whole,) = decoder.lattices([tokens])
    drawn = draw_lattice(decoder, tokens, most=20)
    assert len(whole.tails) == drawn.arcs_in_all > 20 >= len(drawn.arcs)
    worst = np.sort(max_marginals(whole).max() - max_marginals(whole))[len(drawn.arcs) - 1]
    assert max(arc.behind for arc in drawn.arcs) == pytest.approx(worst, abs=1e-3)
    for arc in drawn.arcs:
        assert drawn.covered[arc.head] - drawn.covered[arc.tail] == arc.source[1] - arc.source[0]
    assert draw_lattice(decoder, []) is None


def test_a_network_tells_what_it_looked_at(files: dict) -> None:
    explain_sentences(**files, system=Path("results/small/systems/network"), run=1)
    explanation = Explanation.load(Path("o.json"))
    assert explanation.lattice is None
    assert [bool(sentence.attention) for sentence in explanation.sentences] == [False, False, True]
    drawn = explanation.sentences[2]
    weights = np.array(drawn.attention)
    assert weights.shape == (len(drawn.target) + 1, len(drawn.source) + 1)
    np.testing.assert_allclose(weights.sum(1), 1.0, atol=0.01)
    looked_at = {j: i for i, j in drawn.links}
    for j, row in enumerate(weights[:-1]):
        if np.sort(row)[-1] - np.sort(row)[-2] > 0.002:
            assert looked_at.get(j, len(drawn.source)) == row.argmax()
    explain_sentences(**files, system=Path("results/small/systems/replacing"), run=1)
    assert "<unk>" not in Explanation.load(Path("o.json")).sentences[0].target


@pytest.mark.parametrize(
    ("numbers", "drawn", "pieces"),
    [
        ([4], None, ["line 5", "text", "4"]),
        ([0], 2, ["line", "draw"]),
        (["x"], None, ["sentences.0", "'x'"]),
    ],
)
def test_sentences_must_be_there(files: dict, numbers: list, drawn: int | None, pieces: list) -> None:
    write_json(Path("chosen.json"), {"sentences": numbers, "drawn": drawn})
    check_refused(["chosen.json", *pieces], explain_sentences, **files, system=SYSTEM, run=1)
    assert not Path("o.json").exists()
