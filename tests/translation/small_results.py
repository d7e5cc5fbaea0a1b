"""Results of an experiment small enough to write by hand: what translating with its systems reads; and its server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tiny_models import SOURCE, TARGET, random_model

from neural_smt.alignment.lexical import lexical_table
from neural_smt.decoding.features import Weights
from neural_smt.decoding.model import TranslationModel
from neural_smt.experiment.system_folder import FILE, write_description
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork
from neural_smt.networks.folder import Trained
from neural_smt.translation.experiment import Experiment
from neural_smt.translation.server import Limits, Server, Service, open_server
from neural_smt.translation.translators import Translator, load_translator
from neural_smt.vocabulary import EOS

CONFIG = """
experiment: small
languages: {source: en, target: fr}
corpus:
  sources:
    text: {en: {path: text.en}, fr: {path: text.fr}}
  train: [text]
  dev: text
  test: [text]
tuning: {runs: 2}
vocabulary_selection: {dictionary: 1, phrases: 1, frequent: 1}
networks:
  reading: {base: recurrent, input: {kind: sentence_lsa, side: target}}
  whole: {base: attention, vocabulary: all}
systems:
  baseline: {label: The baseline, features: [phrase, language_model, reordering]}
  untuned: {base: baseline, features: [unknown_penalty]}
  network: {features: [], translate: {}}
  replacing: {features: [], translate: {network: whole, replace_unknown: true}}
  oracle: {base: baseline, features: [], rescore: [reading]}
evaluation: {baseline: baseline}
"""
"""Five systems of the words a, b, c and x, y, z, q."""


def write_experiment(folder: Path) -> Path:
    """Configuration and results of the systems that are tuned; the configuration file."""
    config = folder / "small.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    results = folder / "results" / "small"
    model, weights = random_model(5)
    model.phrase_table.save(results / "phrases" / "table")
    model.language_models[0].save(results / "language_model" / "model")
    SOURCE.save(results / "corpus" / "vocabulary.en.tsv")
    TARGET.save(results / "corpus" / "vocabulary.fr.tsv")
    for run in (1, 2):
        weights.save(results / "tuning" / "baseline" / f"run{run}" / "weights.json")
    write_dictionary(results / "alignment" / "lexical")
    for name in ("attention", "whole"):
        Trained(network(), SOURCE, TARGET).save(results / "training" / name / "model")
    experiment = Experiment.load(str(config), folder=folder)
    for name in ("baseline", "network", "replacing"):
        description = experiment.layout.description(name)
        write_description(description=description, output=folder / experiment.layout.system(name) / FILE)
    write_description(description=experiment.config["decoding"]["test"], output=folder / experiment.layout.search)
    return config


def translator(folder: Path, system: str = "baseline", **options: Any) -> Translator:
    """A system of the experiment."""
    return load_translator(load(folder).open(system), **options)


ABOUT = {"experiment": "small", "system": "baseline", "label": "The baseline", "run": 1, "source": "en", "target": "fr"}
"""What the page says of a system."""


@contextmanager
def serving(text: Any, system: str = "baseline") -> Iterator[Server]:
    """A server of a text translator, in a thread."""
    about = ABOUT | {"system": system, "label": f"The {system}"}
    with open_server(Service(text, about, Limits(burst=1000)), 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def write_dictionary(folder: Path) -> None:
    """a is x, b is y, c is z."""
    words = Ragged.from_lists([[3], [4], [5]])
    links = Ragged(np.zeros((3, 2), dtype=np.int16), np.arange(4))
    lexical_table(words, words, links, len(SOURCE), len(TARGET)).save(folder)


def network() -> AttentionNetwork:
    """Random weights under which translations soon end, and unknown words are common."""
    made = AttentionNetwork(
        AttentionConfig(len(SOURCE), len(TARGET), hidden=6, embedding=5, attention=7, maxout=4, rank=3)
    )
    generator = np.random.default_rng(8)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += torch.from_numpy(generator.normal(0.0, 0.8, parameter.shape)).float()
        made.output.bias[EOS] += 1.0
        made.output.bias[0] += 1.5
    return made


def model_and_weights() -> tuple[TranslationModel, Weights]:
    """Those of the baseline, in memory."""
    return random_model(5)


def load(folder: Path) -> Experiment:
    """The experiment as a person names it."""
    return Experiment.load(str(write_experiment(folder)), folder=folder)
