"""The step measure_epochs: BLEU of every epoch's model, measured once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attention_world import random_network, save_sets, save_translator

from neural_smt.bleu import bleu, corpus_statistics
from neural_smt.decoding import attention_steps
from neural_smt.decoding.attention.search import Translator
from neural_smt.decoding.attention_steps import measure_epochs, translate_attention
from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, read_json, read_lines, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.folder import Trained
from neural_smt.vocabulary import EOS, UNK, Vocabulary
from neural_smt.vocabulary_selection.candidates import CandidateSets

WORDS = Vocabulary.from_sentences([" ".join(f"w{word}" for word in range(8))])


def save_random(folder: Path, seed: int, updates: int, noise: float = 0.0) -> None:
    network = random_network(len(WORDS), len(WORDS), seed, noise=noise)
    Trained(network, WORDS, WORDS).save(folder, {"updates": updates})


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    """Three epochs of 50 updates; the reference is what the second model writes, but for its last sentences, and the
    third model is much like it.
    """
    for epoch, seed, noise in ((1, 1, 0.0), (2, 2, 0.0), (3, 2, 0.2)):
        save_random(tmp_path / "epochs" / str(epoch), seed, 50 * epoch, noise)
    random = np.random.default_rng(0)
    lines = [" ".join(f"w{word}" for word in random.integers(0, 9, random.integers(3, 9))) for _ in range(12)]
    write_lines(tmp_path / "text", lines)
    write_lines(tmp_path / "curve", ["updates,validation_perplexity", "50,9.5000", "75,9.1000", "150,8.2500"])
    translate(tmp_path, 2)
    write_lines(tmp_path / "reference", [*read_lines(tmp_path / "written")[:9], *lines[9:]])
    names = ("epochs", "curve", "text", "reference", "output", "state")
    return {**{name: tmp_path / name for name in names}, "settings": {"beam": 3}}


def translate(folder: Path, epoch: int, **further: Any) -> list[list[str]]:
    """What the step that translates writes with the model of an epoch."""
    files = {"text": folder / "text", "output": folder / "written", "statistics": folder / "statistics"}
    system = save_translator(folder / "system", folder / "epochs" / str(epoch), beam=3)
    translate_attention(**files, system=system, **further)
    return [line.split() for line in read_lines(folder / "written")]


def count_searches(monkeypatch: pytest.MonkeyPatch, most: int = 100) -> list[int]:
    """Has an entry for every text that is translated from now on; most: so many are, then the program is killed."""
    searches: list[int] = []
    original = Translator.search

    def counted(self: Translator, lines: list[str], *rest: Any) -> Any:
        if len(searches) == most:
            raise KeyboardInterrupt
        searches.append(len(lines))
        return original(self, lines, *rest)

    monkeypatch.setattr(Translator, "search", counted)
    return searches


def measure(world: dict[str, Any], **further: Any) -> list[float]:
    """Run the step; the BLEU of every epoch."""
    measure_epochs(**world, **further)
    return [float(row["bleu"]) for row in read_csv(world["output"])]


def test_each_epoch_has_the_bleu_of_its_translations(world: dict[str, Any], tmp_path: Path) -> None:
    found = measure(world)
    answers = [line.split() for line in read_lines(world["reference"])]
    expected = [100 * bleu(corpus_statistics(translate(tmp_path, epoch), answers)) for epoch in (1, 2, 3)]
    assert found == pytest.approx(expected, abs=1e-4)
    assert expected[1] > expected[2] > expected[0]
    rows = read_csv(world["output"])
    found = [(row["epoch"], row["updates"], row["perplexity"]) for row in rows]
    assert found == [("1", "50", "9.5000"), ("2", "100", ""), ("3", "150", "8.2500")]
    assert all(float(row["seconds"]) > 0 for row in rows)


def test_each_sentence_keeps_to_its_own_words(world: dict[str, Any], tmp_path: Path) -> None:
    lines = read_lines(world["text"])
    for name, origin in (("sets", {}), ("others", {"source": "another"})):
        ids = [[UNK, EOS, *range(3, 4 + number % 6)] for number in range(len(lines))]
        save_sets(tmp_path / name, ids, lines, WORDS, **origin)
    freely, limited = measure(world), measure(world, candidates=tmp_path / "sets")
    answers = [line.split() for line in read_lines(world["reference"])]
    written = translate(tmp_path, 2, candidates=tmp_path / "sets")
    assert limited[1] == pytest.approx(100 * bleu(corpus_statistics(written, answers)), abs=1e-4)
    assert limited != freely
    with pytest.raises(UserError, match="another source text"):
        measure_epochs(**world, candidates=tmp_path / "others")


def test_unknown_words_are_not_replaced(world: dict[str, Any]) -> None:
    plain = measure(world)
    world["settings"] |= {"heuristic": 2}  # would need a dictionary
    assert measure(world) == plain


def test_what_is_measured_is_not_translated_again(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    measure_epochs(**world)
    whole = world["output"].read_bytes()
    searches = count_searches(monkeypatch)
    world["output"].unlink()
    measure_epochs(**world)
    assert (world["output"].read_bytes(), searches) == (whole, [])
    save_random(world["epochs"] / "3", 7, 150)
    save_random(world["epochs"] / "4", 2, 200)
    found = measure(world)
    assert searches == [12, 12]  # the third has other weights, the fourth those of the second but more updates
    assert found[3] == found[1]
    assert len(read_json(world["state"])) == 4


def test_a_killed_measurement_goes_on(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        count_searches(patch, most=2)
        measure_epochs(**world)
    assert not world["output"].exists()
    again = count_searches(monkeypatch)
    measure_epochs(**world)
    assert again == [12]
    assert len(read_csv(world["output"])) == 3


@pytest.mark.parametrize("change", ["settings", "text", "reference", "candidates", "program"])
def test_whatever_decides_on_it_is_measured_again(
    world: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    measure_epochs(**world)
    searches = count_searches(monkeypatch)
    if change == "settings":
        world["settings"] = {"beam": 2}
    elif change == "candidates":
        ids = Ragged.from_lists([np.arange(len(WORDS))] * 12)
        CandidateSets.from_ids(ids, len(WORDS)).save(tmp_path / "sets")
        world["candidates"] = tmp_path / "sets"
    elif change == "program":
        monkeypatch.setattr(attention_steps, "code_digest", lambda module: "another")
    else:
        write_lines(world[change], [*read_lines(world[change])[:-1], "w1 w2 w3"])
    measure_epochs(**world)
    assert searches == [12, 12, 12]
    assert len(read_json(world["state"])) == 3  # nothing piles up


def test_inputs_that_do_not_go_together_are_refused(world: dict[str, Any], tmp_path: Path) -> None:
    write_lines(tmp_path / "short", ["w1"])
    Trained(random_network(len(WORDS), len(WORDS)), WORDS, WORDS).save(tmp_path / "old" / "1")
    for change, message in (
        ({"reference": tmp_path / "short"}, r"has 12 lines but .* has 1"),
        ({"epochs": tmp_path}, "holds no models of epochs"),
        ({"settings": {"width": 3}}, r"decoding\.attention: unknown key 'width'"),
        ({"epochs": tmp_path / "old"}, "does not say after how many updates"),
    ):
        with pytest.raises(UserError, match=message):
            measure_epochs(**world | change)
    assert not world["output"].exists()
