"""Translation options: which phrase pairs may translate which spans, and what they score on their own.

The lookup does not depend on weights, so it is done once for a set of sentences (``PreparedSentences``) and kept while
tuning changes the weights; weighting then ranks the rows of every source phrase and keeps the best (``table_limit``).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neural_smt.decoding.features import REORDERING, FeatureSet, Rules
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.primitives import LOG_10, TAIL, WINDOW, Options
from neural_smt.errors import UserError
from neural_smt.io.best import best_of_each
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.jit import kernel
from neural_smt.language_model.primitives import Automaton, score_word
from neural_smt.networks.distinct import number_rows
from neural_smt.phrases.interning import intern_phrases
from neural_smt.phrases.table import Found, floored_log

if TYPE_CHECKING:
    from neural_smt.decoding.search import Decoder

UNKNOWN_ROW = -1
"""The phrase table row of an option that copies an unknown word."""


@dataclass(frozen=True)
class PreparedSentences:
    """Sentences with all their phrase pairs looked up. N sentences, P distinct source phrases, R rows.

    tokens: the sentences; first: int64 ``[N + 1]``, where each sentence's tokens start; spans: int32
    ``[tokens, longest phrase]``, the phrase of the span from a token with (column + 1) words, or -1;
    phrase_offsets: int64 ``[P + 1]``, the rows of each phrase; phrase_lengths: int32 ``[P]``, in source words;
    rows: int64 ``[R]``, phrase table rows or ``UNKNOWN_ROW``; targets: int32 ``Ragged`` of R phrases, with ids
    beyond the target vocabulary for ``unknown_words``; target_numbers: int32 ``[R]``, equal for equal targets;
    stateless: float32 ``[R, stateless scores]``; reordering: float32 ``[R, 6]``, natural log; forward_class: int32
    ``[R]``, equal for equal last three of them; language: float64 ``[R, models]``, natural log of each target alone;
    spelling: the word of each target id.
    """

    tokens: list[list[str]]
    first: np.ndarray
    spans: np.ndarray
    phrase_offsets: np.ndarray
    phrase_lengths: np.ndarray
    rows: np.ndarray
    targets: Ragged
    target_numbers: np.ndarray
    stateless: np.ndarray
    reordering: np.ndarray
    forward_class: np.ndarray
    language: np.ndarray
    unknown_words: list[str]
    spelling: list[str]


@dataclass(frozen=True)
class WeightedSentences:
    """Prepared sentences under one weight vector: the options that search may use, O of them.

    rows: int64 ``[O]``, the row of ``prepared`` behind each option; vector: float64 ``[F]``, in the order of
    ``features``; models: the language models, for kernels; feature_column: the score that a stateful feature adds.
    """

    prepared: PreparedSentences
    options: Options
    rows: np.ndarray
    features: FeatureSet
    vector: np.ndarray
    models: tuple[Automaton, ...]
    feature_column: int | None


@kernel
def _score_alone(models: tuple[Automaton, ...], values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Natural log of each phrase with no context, by each model (float64 ``[n, models]``)."""
    scores = np.zeros((len(offsets) - 1, len(models)))
    for phrase in range(len(offsets) - 1):
        for m in range(len(models)):
            state = np.int64(0)
            for position in range(offsets[phrase], offsets[phrase + 1]):
                log10_prob, state = score_word(models[m], state, values[position])
                scores[phrase, m] += log10_prob * LOG_10
    return scores


@kernel
def _find_tails(models: tuple[Automaton, ...], values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """``TAIL`` ``[words, models]`` of phrases."""
    tails = np.empty((len(values), len(models)), TAIL)
    for phrase in range(len(offsets) - 1):
        for m in range(len(models)):
            state, rest = np.int64(0), 0.0
            for position in range(offsets[phrase], offsets[phrase + 1]):
                log10_prob, state = score_word(models[m], state, values[position])
                tails[position, m].state = state
                tails[position, m].log10_prob = log10_prob
            for position in range(offsets[phrase + 1] - 1, offsets[phrase] - 1, -1):
                after, rest = rest, rest + tails[position, m].log10_prob
                tails[position, m].log10_prob = after
    return tails


def prepare(model: TranslationModel, sentences: list[list[str]]) -> PreparedSentences:
    """Look up every span of every sentence.

    A word without a phrase pair of its own is copied: a word of the target vocabulary keeps its id there, any other
    one gets an id beyond the vocabulary. Source phrases of more than ``WINDOW`` words are not used. Raises
    ``UserError`` where a score of a phrase pair is not a finite number.
    """
    index = model.source_vocabulary.index
    first = offsets_of([len(tokens) for tokens in sentences])
    flat = [token for tokens in sentences for token in tokens]
    words = np.fromiter((index.get(token, -1) for token in flat), dtype=np.int32, count=len(flat))
    longest = min(max(1, model.phrase_table.max_length), WINDOW)
    found = model.phrase_table.look_up(words, first, longest, model.columns)
    spans, offsets = found.spans, found.offsets
    missing = np.flatnonzero(spans[:, 0] < 0)
    copies = list(dict.fromkeys(flat[position] for position in missing))
    copy_number = {word: len(found.lengths) + i for i, word in enumerate(copies)}
    spans[missing, 0] = [copy_number[flat[position]] for position in missing]
    unknown_words = [word for word in copies if word not in model.target_vocabulary]
    target_id = {word: len(model.target_vocabulary) + i for i, word in enumerate(unknown_words)}
    copied = [target_id.get(word, model.target_vocabulary.index.get(word, -1)) for word in copies]

    known = model.target_vocabulary.words
    copying = Ragged(np.array(copied, dtype=np.int32), np.arange(len(copies) + 1))
    targets = Ragged.concatenate([found.targets, copying])
    return PreparedSentences(
        tokens=sentences,
        first=first,
        spans=spans,
        phrase_offsets=np.concatenate([offsets, offsets[-1] + np.arange(1, len(copies) + 1)]),
        phrase_lengths=np.concatenate([found.lengths, np.ones(len(copies), np.int32)]),
        targets=targets,
        target_numbers=intern_phrases(targets)[1],
        unknown_words=unknown_words,
        spelling=[*known, *unknown_words] if unknown_words else known,
        **_read_rules(model, found, targets, len(copies)),
    )


def _read_rules(model: TranslationModel, found: Found, targets: Ragged, copies: int) -> dict[str, np.ndarray]:
    """The feature values of entries, followed by those of copied unknown words."""
    rows = found.rows
    rules = Rules(
        scores=np.concatenate([found.scores, np.ones((copies, found.scores.shape[1]), dtype=np.float32)]),
        target_lengths=targets.lengths,
        unknown=np.arange(len(targets)) >= len(rows),
        columns={
            name: np.concatenate([column, np.zeros(copies, dtype=np.float32)]) for name, column in found.columns.items()
        },
    )
    reordering = np.zeros((len(targets), 6), dtype=np.float32)
    if REORDERING in model.feature_set:
        reordering[: len(rows)] = floored_log(found.reordering)
    stateless = model.feature_set.read(rules)
    names = [model.feature_set.names[score] for score in model.feature_set.stateless]
    _check_finite(model, rows, stateless, names)
    _check_finite(model, rows, reordering, [f"{REORDERING}_{i}" for i in range(6)])
    return {
        "rows": np.concatenate([rows, np.full(copies, UNKNOWN_ROW)]),
        "stateless": stateless,
        "reordering": reordering,
        "forward_class": number_rows((reordering[:, 3:] + 0.0).view(np.int32))[0].astype(np.int32),
        "language": _score_alone(tuple(m.arrays for m in model.language_models), targets.values, targets.offsets),
    }


def _check_finite(model: TranslationModel, rows: np.ndarray, scores: np.ndarray, names: list[str]) -> None:
    """Raise ``UserError`` where ``scores`` (float32 ``[R, len(names)]``) of table rows are not finite."""
    if np.isfinite(scores).all():
        return
    row, score = np.argwhere(~np.isfinite(scores))[0]
    phrase = model.phrase_table.source_of(int(rows[row]))
    words = " ".join(model.source_vocabulary.words[word] for word in phrase.tolist())
    raise UserError(
        f"the phrase table holds a translation of '{words}' whose score {names[score]} is not a finite number; "
        "make the table or the column again"
    )


def weigh(prepared: PreparedSentences, decoder: "Decoder", language: np.ndarray) -> WeightedSentences:
    """Rank the options of every source phrase under the weights and keep the best ``table_limit`` (0: all).

    language: float64 ``[models]``, the weights that options and future costs are estimated with, where language models
    are the fallback of a feature too. As in Moses, the rank is the weighted score of the rule on its own, the language
    models included.
    """
    features, vector = decoder.feature_set, decoder.vector
    score = prepared.stateless @ vector[features.stateless]
    estimate = score + prepared.language @ language
    chosen, offsets = best_of_each(estimate, prepared.phrase_offsets, decoder.settings.table_limit)
    targets = prepared.targets.take(chosen)
    models = tuple(m.arrays for m in decoder.model.language_models)
    reordering = prepared.reordering[chosen]
    weights = vector[features.slices[REORDERING]] if REORDERING in features else np.zeros(6)
    options = Options(
        offsets=offsets,
        source_length=np.repeat(prepared.phrase_lengths, np.diff(offsets)),
        score=score[chosen],
        estimate=estimate[chosen],
        backward=np.ascontiguousarray(reordering[:, :3] * weights[:3]),
        forward=np.ascontiguousarray(reordering[:, 3:] * weights[3:]),
        forward_class=prepared.forward_class[chosen],
        target_number=prepared.target_numbers[chosen],
        word_offsets=targets.offsets,
        words=targets.values,
        tails=_find_tails(models, targets.values, targets.offsets),
    )
    return WeightedSentences(prepared, options, chosen, features, vector, models, decoder.column)
