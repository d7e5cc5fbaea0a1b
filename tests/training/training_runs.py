"""Small trainings of every kind of network, runs that end in the middle, and what is compared of them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from candidates import whole_sets
from moses_tables import save_table

from neural_smt.io.files import read_yaml, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.shortlist import most_frequent
from neural_smt.training.loop import Trainer
from neural_smt.training.steps import train_network
from neural_smt.vocabulary import EOS, UNK, Vocabulary

CASES: dict[str, Any] = read_yaml(Path(__file__).with_name("cases.yaml"))
SETTINGS: dict[str, dict[str, Any]] = CASES["settings"]

Inputs = dict[str, Any]
Numbers = Sequence[Sequence[int]]


def sentences(name: str, numbers: Numbers) -> list[str]:
    """Sentences of the words <name><number>."""
    return [" ".join(f"{name}{number}" for number in sentence) for sentence in numbers]


def write_table(folder: Path, phrases: Numbers) -> Inputs:
    """A phrase table of word-by-word translations, source word s<i> to target word t<i>."""
    files, _ = save_table(folder, zip(sentences("s", phrases), sentences("t", phrases), strict=True))
    return files | {f"{side}_shortlist": files[f"{side}_vocabulary"] for side in ("source", "target")}


def write_ngrams(folder: Path) -> Inputs:
    """Two texts of sentences that count on from a random word; six of eighteen words are outside the shortlist."""
    random = np.random.default_rng(0)
    lines = sentences("w", [(start + np.arange(length)) % 18 for start, length in random.integers(2, 18, (200, 2))])
    write_lines(folder / "a.txt", lines[:150])
    write_lines(folder / "b.txt", lines[150:])
    vocabulary = Vocabulary.from_sentences(lines)
    vocabulary.save(folder / "vocabulary")
    most_frequent(vocabulary, 12).save(folder / "shortlist")
    names = {name: folder / name for name in ("vocabulary", "shortlist")}
    return {"texts": [folder / "a.txt", folder / "b.txt"], **names}


def write_text(folder: Path) -> Inputs:
    """Sentences that count on from a random word, with words in between that occur once."""
    random = np.random.default_rng(0)
    lines = [[f"w{(start + i) % 18}" for i in range(length)] for start, length in random.integers(2, 18, (200, 2))]
    for number in range(0, 200, 5):
        lines[number][-1] = f"once{number}"
    lines[1][0], lines[2][0] = "<s>", "</s>"  # mere words here
    write_lines(folder / "text", [" ".join(line) for line in lines])
    return {"texts": [folder / "text"]}


WORDS = 12
"""Of each side of the pairs of sentences."""


def write_pairs(
    folder: Path, words: int = WORDS, sizes: tuple[int, int] = (200, 20), longest: int = 6, frequent: int = 0
) -> tuple[Inputs, Inputs]:
    """Source word s<i> becomes target word t<i>, from right to left; and target vocabularies of the sentences, which
    hold the reference and one word more, some nothing, or the ``frequent`` words: then these are as frequent as Zipf
    says. sizes: sentences to train on, and held out.
    """
    random = np.random.default_rng(0)
    shares = 1 / np.arange(1, words + 1) if frequent else np.ones(words)
    lengths = random.integers(1, longest + 1, sum(sizes))
    pairs = [random.choice(words, length, p=shares / shares.sum()).tolist() for length in lengths]
    target = Vocabulary.from_sentences(sentences("t", [range(words)]))
    target.save(folder / "target_vocabulary")
    Vocabulary.from_sentences(sentences("s", [range(words)])).save(folder / "source_vocabulary")
    inputs, candidates = {}, {}
    for prefix, chosen in (("", pairs[: sizes[0]]), ("held_out_", pairs[sizes[0] :])):
        lines = sentences("t", [sentence[::-1] for sentence in chosen])
        common = [range(3, 3 + frequent) if frequent else [3 + number % words] for number in range(len(lines))]
        sets = [
            np.unique([UNK, EOS, *target.ids(line.split()), *common[number]]) if frequent or number % 9 else [UNK, EOS]
            for number, line in enumerate(lines)
        ]
        inputs |= {f"{prefix}{name}": folder / f"{prefix}{name}" for name in ("source", "target")}
        candidates[f"{prefix}candidates"] = folder / f"{prefix}candidates"
        write_lines(folder / f"{prefix}source", sentences("s", chosen))
        write_lines(folder / f"{prefix}target", lines)
        whole_sets(Ragged.from_lists(sets), len(target)).save(folder / f"{prefix}candidates")
    return inputs | {f"{side}_vocabulary": folder / f"{side}_vocabulary" for side in ("source", "target")}, candidates


def arguments(kind: str, inputs: Inputs, folder: Path, seed: int = 1, by_epoch: bool = False, **settings: Any) -> dict:
    """Those of training a network of a kind with ``SETTINGS``, but for some; by_epoch: keep the models of epochs."""
    files = {"output": "model", "curve": "curve.csv", "plot": "curve.png", "held_out": "held_out.json"}
    places = {name: folder / file for name, file in (files | {"state": "state"}).items()}
    epochs = {"by_epoch": True, "epochs": folder / "epochs"} if by_epoch else {}
    given = {"kind": kind, "inputs": inputs, "settings": SETTINGS[kind] | settings, "device": "cpu", "seed": seed}
    return given | places | epochs


def train(kind: str, inputs: Inputs, folder: Path, processes: int = 1, **options: Any) -> None:
    """Train a network with ``arguments``."""
    train_network(**arguments(kind, inputs, folder, **options), processes=processes)


class Killed(Exception):
    """Stands for the end of a process."""


def kill_at(monkeypatch: pytest.MonkeyPatch, update: int) -> None:
    """Let every trainer end before its update of this number, counted from 0."""
    original = Trainer.update

    def interrupted(self: Trainer) -> float:
        if self.progress.updates == update:
            raise Killed
        return original(self)

    monkeypatch.setattr(Trainer, "update", interrupted)


def train_killed_at(monkeypatch: pytest.MonkeyPatch, update: int, train: Callable[[], object]) -> None:
    """A training that ends before its update of this number, counted from 0."""
    with monkeypatch.context() as patch, pytest.raises(Killed):
        kill_at(patch, update)
        train()


def weights(folder: Path) -> bytes:
    """The weights that a run left, to the bit."""
    return (folder / "model" / "weights.safetensors").read_bytes()
