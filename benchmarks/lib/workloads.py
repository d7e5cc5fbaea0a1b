"""What ``make bench-gpu`` has a GPU do: updates of a network, scores of phrase pairs, a search for translations."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from lib import ROOT
from lib.pairs import random_pairs
from lib.products import Product, Recorder, RecordingScorer
from lib.searches import Case, random_search
from lib.trainers import (
    ngram_trainer,
    phrase_trainer,
    predicted_words,
    random_sentence_pairs,
    sentence_trainer,
    translation_trainer,
    zipfian,
)
from neural_smt.experiment.configuration import complete, read_configuration
from neural_smt.experiment.settings import Settings, network_settings, section_settings
from neural_smt.io.files import read_yaml
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork
from neural_smt.networks.cslm import CslmConfig, CslmNetwork
from neural_smt.networks.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from neural_smt.networks.recurrent.configuration import RecurrentConfig
from neural_smt.networks.recurrent.network import RecurrentNetwork
from neural_smt.planning.forecasts import Experiment, Quantities
from neural_smt.planning.jobs import Job
from neural_smt.planning.sizes import Sizes, Text
from neural_smt.rescoring.scorer import PairScorer
from neural_smt.training.joint_texts import JointText
from neural_smt.training.loop import Trainer
from neural_smt.training.recurrent import BUFFER
from neural_smt.training.word_classes import cheapest, predicted_counts

FACTORS = (1, 4, 16)
"""Minibatches that are measured, in those of the papers."""

UPDATES, CHUNKS = 10, 4
"""Of a round: updates on n-grams, which all have one length; pairs to score, in minibatches of sources."""


class Work(NamedTuple):
    """run: a round of so many ``minibatches``; recorded: does it too, and tells the matrix products of each part; text:
    its examples, and words of both sides; tokens: those of the target side with their ends.
    """

    run: Callable[[], object]
    recorded: Callable[[], list[list[Product]]]
    minibatches: int
    text: Text
    tokens: int


def _recorded(work: Callable[[], object]) -> list[Product]:
    with Recorder() as recorder:
        work()
    return recorder.products


class Workload:
    """An entry of a table such as ``benchmarks/gpu.yaml``; its network and text are made once."""

    def __init__(self, table: Path, name: str):
        entry = read_yaml(table)[name]
        self.task, self.words, self.longest = entry["task"], entry["words"], entry.get("longest", 0)
        self.predicted = Case(self.words, entry.get("shared", 0), entry.get("own", 0))
        self.rule, self.precision = entry.get("rule", ""), entry.get("precision", "bf16")
        self.config = complete(read_configuration([ROOT / "experiments" / f"{entry['experiment']}.yaml"]))
        self.network_name = entry["network"]
        self.values = self.config["networks"][self.network_name] | entry.get("settings", {})
        self.kind = self.values["kind"]
        sections = {"score": self.config["rescoring"], "search": self.config["decoding"]["attention"]}
        self.batch = entry.get("batch") or sections.get(self.task, self.values)["batch"]

    @cached_property
    def network(self) -> Any:
        """The network on the CPU, as it is before anything is learnt."""
        words = {"source_words": self.words, "target_words": self.words}
        if self.kind == "encoder_decoder":
            return EncoderDecoder(EncoderDecoderConfig.of(self.values, **words))
        if self.kind == "cslm":
            return CslmNetwork(CslmConfig.of(self.values, words=self.words))
        if self.kind == "attention":
            return AttentionNetwork(AttentionConfig.of(self.values, **words))
        classes = cheapest(predicted_counts(self.text.sentences, self.words))
        sizes = {name: self.values[name] for name in ("hidden", "direct_order")}
        config = RecurrentConfig(self.words, len(classes), direct_size=1 << self.values["direct_bits"], **sizes)
        return RecurrentNetwork(config, classes)

    @cached_property
    def text(self) -> JointText:
        """That of a recurrent model, sentences of 5 words and more, if they are as long."""
        random = np.random.default_rng(0)
        lengths = random.integers(min(5, self.longest), self.longest + 1, max(FACTORS) * self.batch * BUFFER)
        return JointText(zipfian(random, self.words, lengths, 0.95))

    def work(self, factor: int, precision: str, place: torch.device, graphs: bool = False) -> Work:
        """What a device does with so many times the minibatch; graphs: with updates that are captured."""
        network, given = deepcopy(self.network).to(place), {"batch": factor * self.batch, "precision": precision}
        if self.task == "train":
            return self._updates(network, given, graphs)
        return {"score": self._scores, "search": self._search}[self.task](network, given)

    def _updates(self, network: Any, given: dict[str, Any], graphs: bool) -> Work:
        as_they_come, updates = self._trainer(network, network_settings(self.kind, self.values | given))
        # of the same minibatches, filled up for both
        trainer = replace(as_they_come, graphs=True) if graphs else as_they_come

        def run() -> None:
            for _ in range(updates):
                trainer.update()

        def recorded() -> list[list[Product]]:
            return [_recorded(as_they_come.update) for _ in range(updates)]

        examples, tokens = given["batch"] * updates, predicted_words(trainer, updates)
        # n-grams have no ends
        words = max(tokens - examples, examples)
        return Work(run, recorded, updates, Text(examples, words, words), tokens)

    def _trainer(self, network: Any, settings: Settings) -> tuple[Trainer, int]:
        """And the updates of a round, in which all lengths occur."""
        if self.kind == "encoder_decoder":
            return phrase_trainer(network, settings, settings.buffer), settings.buffer
        if self.kind == "cslm":
            return ngram_trainer(network, settings), UPDATES
        if self.kind == "recurrent":
            return sentence_trainer(network, settings, self.text.take(np.arange(settings.batch * BUFFER))), BUFFER
        count, limited = settings.batch * settings.buffer, settings.vocabulary != "all"
        pairs = random_sentence_pairs(self.words, self.words, count, limited, self.longest)
        return translation_trainer(network, settings, pairs), settings.buffer

    def _scores(self, network: EncoderDecoder, given: dict[str, Any]) -> Work:
        batch, precision = given.values()
        pairs = random_pairs(network.config, CHUNKS * batch)
        scorer, recording = PairScorer(network, precision), RecordingScorer(network, precision)
        _, done = recording.score(pairs.source, pairs.target, batch)

        def run() -> object:
            return scorer.score(pairs.source, pairs.target, batch)

        text = Text(done.pairs, len(pairs.source.values), len(pairs.target.values))
        return Work(run, lambda: recording.chunks, -(-done.sources // batch), text, done.words)

    def _search(self, network: AttentionNetwork, given: dict[str, Any]) -> Work:
        limits = {"max_length_ratio": 1, "max_length_extra": 0}
        settings = section_settings("decoding.attention", self.config["decoding"]["attention"] | limits | given)
        source, _, run = random_search(network, self.predicted, settings.batch, settings, self.longest)
        words = len(source.values)
        return Work(run, lambda: [_recorded(run)], 1, Text(len(source), words, words), words + len(source))

    def quantities(self, factor: int, work: Work) -> Quantities:
        """What a plan counts of a round."""
        batch, decoding, text = factor * self.batch, self.config["decoding"], work.text
        network = self.values | {"batch": batch, "updates": work.minibatches, "epochs": 1, "words": 0, "sources": []}
        config = self.config | {
            "networks": self.config["networks"] | {self.network_name: network},
            "decoding": decoding | {"attention": decoding["attention"] | {"batch": batch}},
        }
        types, corpus = dict.fromkeys(self.config["languages"].values(), self.words), self.config["corpus"]
        sources = dict.fromkeys([corpus["dev"], *corpus["test"]], text)
        sizes = Sizes(sources, data={"selected": text}, rows={"selected": text.lines}, types=types)
        wildcards = {"network": self.network_name, "set": corpus["dev"], "table": "extracted"}
        return Quantities(Job(self.rule, wildcards), Experiment(config, sizes))
