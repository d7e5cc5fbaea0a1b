"""Phrase-based systems: the search of a tuned system, with any columns and any network in it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neural_smt.decoding.batches import estimated
from neural_smt.decoding.loading import load_hook
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.search import Decoder, SearchSettings, Translation
from neural_smt.decoding.translations import NBestEntry, Trace
from neural_smt.decoding.weights import Weights
from neural_smt.settings import read_settings
from neural_smt.systems import feature_groups
from neural_smt.translation.experiment import Experiment
from neural_smt.translation.results import Candidate, Phrase, Translated


def load_decoder(experiment: Experiment, system: str, run: int, device: str, threads: int) -> Decoder:
    """The decoder that translates the test sets with a searched system; see the rule ``decode``."""
    layout, decoding = experiment.layout, experiment.config["decoding"]
    features = feature_groups(layout.config, system)
    columns = layout.columns(system)
    optional = layout.cslm(system), layout.searched_model(system), layout.searched_representation(system)
    # last what is made last: its command makes all the others
    weights, *files = experiment.need(
        [
            layout.weights(system, run),
            layout.phrase_table(system),
            layout.language_model(system),
            layout.vocabulary(layout.source),
            layout.vocabulary(layout.target),
            *optional,
            *columns.values(),
        ]
    )
    table, language_model, source, target, cslm, recurrent, representation, *column_files = files
    model = TranslationModel.load(
        phrase_table=table,
        language_models=[language_model],
        columns=dict(zip(columns, column_files, strict=True)),
        source_vocabulary=source,
        target_vocabulary=target,
        features=features,
    )
    hook = load_hook(features, model, cslm, decoding["cslm"] if cslm else {}, device, recurrent, representation)
    settings = read_settings(SearchSettings, decoding["test"], "decoding")
    return Decoder(model, settings, Weights.load(weights), threads, hook)


@dataclass(frozen=True)
class SearchTranslator:
    """A system that is searched."""

    decoder: Decoder

    batch = 64

    @property
    def names(self) -> list[str]:
        """One name per score."""
        return self.decoder.feature_set.names

    @property
    def weights(self) -> np.ndarray:
        """float64 ``[F]``."""
        return self.decoder.vector

    def translate(self, sentences: Sequence[list[str]], nbest: int = 1, explained: bool = False) -> list[Translated]:
        """See ``Translator``."""
        found = self.decoder.decode(list(sentences), nbest, traced=True)
        whole = whole_scores(self.decoder)
        return [
            Translated(source, [candidate(entry, whole) for entry in listed(translation)])
            for source, translation in zip(sentences, found, strict=True)
        ]


def whole_scores(decoder: Decoder) -> list[int]:
    """The scores that only whole translations have exactly: that of a hook whose search only estimates."""
    if decoder.hook is None or not estimated(decoder.hook):
        return []
    return [decoder.feature_set.slices[decoder.hook.name].start]


def listed(translation: Translation) -> Sequence[NBestEntry]:
    """The entries of the list of a translation: one at least."""
    return translation.nbest or [NBestEntry(translation.tokens, translation.features, translation.score)]


def candidate(entry: NBestEntry, whole: list[int]) -> Candidate:
    """An entry of an n-best list, with its phrases, which have nothing of the scores ``whole``."""
    trace = entry.trace or Trace([], [], np.zeros((0, len(entry.features)), np.float32))
    rows = trace.features.astype(np.float64)
    rows[:, whole] = 0.0
    phrases = [Phrase(tuple(s[:2]), tuple(s[2:]), row) for s, row in zip(trace.segmentation, rows, strict=True)]
    return Candidate(entry.tokens, entry.score, entry.features.astype(np.float64), trace.alignment, phrases)
