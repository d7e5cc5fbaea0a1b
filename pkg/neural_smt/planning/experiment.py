"""What units of work are counted from: an experiment's settings, its sizes, and how long what iterates goes on."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from neural_smt.declared_networks import ALL_WORDS, joint_inputs, networks_of_kind, sentence_vocabularies
from neural_smt.planning.jobs import Job
from neural_smt.planning.sizes import Sizes, Text
from neural_smt.systems import feature_groups, resolve_data

HAZARDS = {"tuning": 0.15, "choosing": 0.15, "epochs": 0.12}
"""Chance that what iterates ends with an iteration before the last that it may: MERT with searches, MERT among
candidates that are there, and epochs of a recurrent model.
"""


def expected_iterations(most: int, hazard: float) -> float:
    """Mean number of iterations of what ends after each with the chance ``hazard`` and after ``most`` in any case."""
    return sum((1 - hazard) ** before for before in range(most))


RENEWAL = 0.75
"""Of the candidates that an iteration adds, as many as this share are new again in the next one."""


def read_lists(iterations: int) -> float:
    """Lists that so many iterations read together: each its own new candidates and all those before."""
    return sum((1 - RENEWAL**number) / (1 - RENEWAL) for number in range(1, iterations + 1))


def expected_lists(most: int, hazard: float) -> float:
    """Mean of the same over what ends after each iteration with the chance ``hazard``."""
    return sum((1 - RENEWAL ** (before + 1)) / (1 - RENEWAL) * (1 - hazard) ** before for before in range(most))


@dataclass(frozen=True)
class Experiment:
    """A complete configuration with its sizes.

    iterations: measured ones of single runs, by outputs' folder (``tuning/baseline/run1``, ``training/recurrent``);
    hazards: for all others, see ``HAZARDS``.
    """

    config: Mapping[str, Any]
    sizes: Sizes
    hazards: Mapping[str, float]
    iterations: Mapping[str, int]

    @cached_property
    def systems(self) -> Mapping[str, Any]:
        """The systems, by name."""
        return self.config["systems"]

    @cached_property
    def encoder_decoders(self) -> dict[str, dict[str, Any]]:
        """Settings of the encoder-decoders, by name."""
        return networks_of_kind(self.config, "encoder_decoder")

    @cached_property
    def recurrent(self) -> dict[str, dict[str, Any]]:
        """Settings of the recurrent models, by name."""
        return networks_of_kind(self.config, "recurrent")

    @cached_property
    def attention(self) -> dict[str, dict[str, Any]]:
        """Settings of the attention networks, by name."""
        return networks_of_kind(self.config, "attention")

    @cached_property
    def sets(self) -> list[str]:
        """The dev set and the test sets."""
        return [self.config["corpus"]["dev"], *self.config["corpus"]["test"]]

    def known(self, language: str) -> float:
        """Words of a language that encoder-decoders and the CSLM know: their shortlist, or all there are."""
        return min(self.config["shortlist"]["size"], self.sizes.types[language])

    def data(self, job: Job) -> str:
        """The choice of data that a job works on."""
        if "system" in job.wildcards:
            return resolve_data(self.systems, job.wildcards["system"])
        place = job.wildcards.get("data", "").split("/data/")
        return place[1] if len(place) > 1 else job.wildcards.get("variant", "selected")

    def features(self, job: Job) -> list[str]:
        """Feature groups of a job's system."""
        return feature_groups(self.config, job.wildcards["system"])

    def text(self, name: str) -> Text:
        """A set, or the training text."""
        return self.sizes.data["selected"] if name == "train" else self.sizes.sources[name]

    def inputs(self, network: str) -> float:
        """What a joint model reads beside its words: dimensions of its vectors; 0 for one of target words alone."""
        declared = joint_inputs(self.config).get(network)
        if not declared:
            return 0
        width = 50 if declared["kind"] == "word_rnn" else declared["dimensions"]
        if declared["kind"] in ("sentence_lsa", "projected_lsa"):
            return width
        return width * sum(map(int, declared["window"].replace("p", " ").replace("n", " ").replace("c", " ").split()))

    def vocabulary(self, network: str, training: bool) -> float:
        """Target words that an attention network chooses among: those of a batch while it trains, of a sentence else.

        A batch's sentences share their frequent words and add some for each word that they have.
        """
        settings = self.attention[network]
        words = min(settings["target_words"], self.sizes.types[self.sizes.target])
        if settings["tau"] and training:
            return min(settings["tau"], words)
        if settings["vocabulary"] == ALL_WORDS:
            return words
        sets = sentence_vocabularies(self.config)[settings["vocabulary"]]
        selected = self.sizes.data["selected"]
        length = selected.words[self.sizes.source] / selected.lines
        own = length * (sets["dictionary"] + 0.3 * sets["phrases"])
        return min(sets["frequent"] + own * (settings["batch"] if training else 1) ** 0.7, words)

    def iterations_of(self, key: str, most: int, hazard: str) -> float:
        """Iterations of what is called so: measured, or expected."""
        return self.iterations.get(key) or expected_iterations(most, self.hazards[hazard])

    def lists_of(self, key: str, most: int, hazard: str) -> float:
        """Lists of candidates that they read together, see ``read_lists``."""
        if key in self.iterations:
            return read_lists(self.iterations[key])
        return expected_lists(most, self.hazards[hazard])
