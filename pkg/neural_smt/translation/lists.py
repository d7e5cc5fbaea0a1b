"""Systems that reorder the n-best lists of their base, with the CSLM or with an attention network."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

import numpy as np

from neural_smt.declared_networks import kind_of
from neural_smt.decoding.nbest import ListedTranslation
from neural_smt.decoding.rescoring import add_feature, reorder
from neural_smt.decoding.search import Decoder
from neural_smt.decoding.translations import NBestEntry
from neural_smt.decoding.weights import Weights
from neural_smt.language_model.model import NgramModel
from neural_smt.systems import rescoring_network
from neural_smt.translation.attention import SetMaker
from neural_smt.translation.experiment import Experiment
from neural_smt.translation.results import Candidate, Phrase, Translated
from neural_smt.translation.search import candidate, listed, load_decoder, whole_scores

Scorer = Callable[[list[ListedTranslation], list[str]], list[ListedTranslation]]
"""Gives the entries of lists the network's feature; takes the tokenised sentences besides."""


@dataclass(frozen=True)
class ListTranslator:
    """decoder: of the base; size: entries of its lists, of which the first ``kept`` are scored (0: all); score: the
    network; feature: its name; values: the tuned weights.
    """

    decoder: Decoder
    size: int
    kept: int
    score: Scorer
    feature: str
    values: Mapping[str, Sequence[float]]

    batch = 16

    @classmethod
    def load(cls, experiment: Experiment, system: str, run: int, device: str, threads: int) -> "ListTranslator":
        """See the rules ``rescore``, ``score_lists`` and ``reorder``."""
        layout, chosen = experiment.layout, experiment.config["systems"][system]
        (weights,) = experiment.need([layout.weights(system, run)])
        network = rescoring_network(chosen)
        decoder = load_decoder(experiment, chosen["base"], run, device, threads)
        if kind_of(experiment.config, network) == "cslm":
            kept, feature, score = 0, "Cslm0", _cslm_scorer(experiment, network, decoder, device)
        else:
            kept, feature, score = (
                chosen["rescoring"]["nbest"],
                "Attention0",
                _attention_scorer(experiment, network, device),
            )
        size = experiment.config["decoding"]["rescored_nbest"]
        return cls(decoder, size, kept, score, feature, Weights.load(weights).values)

    @property
    def names(self) -> list[str]:
        """One name per score, the network's last."""
        return [*self.decoder.feature_set.names, self.feature]

    @property
    def weights(self) -> np.ndarray:
        """float64 ``[F]``; 0 for scores that are the same for all entries of a list, and do not count."""
        parts = [self.values[f.name] if f.tunable else (0.0,) * f.size for f in self.decoder.feature_set]
        return np.concatenate([*parts, self.values[self.feature]])

    def translate(self, sentences: Sequence[list[str]], nbest: int = 1, explained: bool = False) -> list[Translated]:
        """See ``Translator``."""
        found = [listed(t) for t in self.decoder.decode(list(sentences), self.size, traced=True)]
        entries = [entry for n, part in enumerate(found) for entry in self._entries(n, part)]
        scored = [_as_written(entry) for entry in self.score(entries, [" ".join(tokens) for tokens in sentences])]
        ordered = groupby(reorder(scored, self.values), key=lambda entry: entry.sentence)
        whole = whole_scores(self.decoder)
        result = []
        for source, part, (_, best) in zip(sentences, found, ordered, strict=True):
            known = {tuple(entry.tokens): entry for entry in part}
            chosen = [(entry, known[tuple(entry.tokens)]) for entry in islice(best, max(1, nbest))]
            result.append(Translated(source, [self._candidate(entry, base, whole) for entry, base in chosen]))
        return result

    def _entries(self, number: int, part: Sequence[NBestEntry]) -> list[ListedTranslation]:
        """The entries of a sentence as lists in files hold them."""
        shown = {f.name: self.decoder.feature_set.slices[f.name] for f in self.decoder.feature_set if f.tunable}
        return [
            _as_written(
                ListedTranslation(
                    number, e.tokens, {name: e.features[p].tolist() for name, p in shown.items()}, e.score
                )
            )
            for e in islice(part, self.kept or None)
        ]

    def _candidate(self, entry: ListedTranslation, base: NBestEntry, whole: list[int]) -> Candidate:
        made = candidate(base, whole)
        phrases = [Phrase(p.source, p.target, np.append(p.features, 0.0)) for p in made.phrases]
        features = np.append(made.features, entry.features[self.feature])
        return Candidate(entry.tokens, entry.score, features, made.alignment, phrases)


def _as_written(entry: ListedTranslation) -> ListedTranslation:
    """An entry with the six digits that lists in files have: so the same is chosen as in the workflow."""
    features = {name: [float(f"{value:.6g}") for value in values] for name, values in entry.features.items()}
    return ListedTranslation(entry.sentence, entry.tokens, features, float(f"{entry.score:.6g}"))


def _cslm_scorer(experiment: Experiment, network: str, decoder: Decoder, device: str) -> Scorer:
    from neural_smt.decoding.cslm import CslmHook  # loads PyTorch

    layout, vocabulary = experiment.layout, decoder.model.target_vocabulary
    folder, language_model = experiment.need([layout.network(network), f"{layout.folder}/language_model/model"])
    settings = experiment.config["decoding"]["cslm"]
    hook = CslmHook.load(folder, NgramModel.load(language_model, vocabulary), vocabulary, settings, device)
    return lambda entries, lines: add_feature(entries, hook, vocabulary)


def _attention_scorer(experiment: Experiment, network: str, device: str) -> Scorer:
    from neural_smt.decoding.attention.lists import add_scores  # loads PyTorch
    from neural_smt.networks.attention.folder import load_attention
    from neural_smt.networks.device import select_device

    (folder,) = experiment.need([experiment.layout.network(network)])
    maker = SetMaker.load(experiment, network, experiment.config["networks"][network]["vocabulary"])
    loaded = load_attention(folder, select_device(device))
    precision = experiment.config["decoding"]["attention"]["precision"]

    def score(entries: list[ListedTranslation], lines: list[str]) -> list[ListedTranslation]:
        return add_scores(entries, loaded, lines, maker.sets(lines) if maker else None, precision)

    return score
