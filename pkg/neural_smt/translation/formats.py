"""Translations as lines for people and as JSON for machines."""

import json
from collections.abc import Iterator
from html import unescape
from typing import Any

import numpy as np

from neural_smt.decoding.nbest import ListedTranslation, entry_line
from neural_smt.translation.text import Sentence, spelled
from neural_smt.translation.translators import Candidate, Origin, Translator

SEPARATOR = " ||| "

LISTED = 3
"""Words and phrases that brought a word which are shown, the most probable first."""

LEAST = 5e-7
"""Shares below this are none: sums of float32 and of float64 differ by as much."""


def plain_lines(sentence: Sentence, translator: Translator, alignment: bool, explained: bool) -> Iterator[str]:
    """The translation, with ``alignment`` the positions of linked words (source-target), counted from 0 in the
    tokenised sentences, after it; explained: followed by how it came about, each line indented.
    """
    best = sentence.translated.best
    yield SEPARATOR.join([sentence.text, *([_links(best)] if alignment else [])])
    if explained:
        yield from (f"  {line}" for line in explanation_lines(sentence, translator))


def listed_lines(number: int, sentence: Sentence, translator: Translator, alignment: bool) -> Iterator[str]:
    """A list of translations in the format of Moses' n-best lists, as text: number of the line from 0, translation,
    scores, total.
    """
    for text, candidate in sentence.listed:
        scores = _by_feature(translator, candidate.features)
        links = sorted(candidate.alignment) if alignment else None
        yield entry_line(ListedTranslation(number, [text], scores, candidate.score, links))


def _links(candidate: Candidate) -> str:
    return " ".join(f"{i}-{j}" for i, j in sorted(candidate.alignment))


def explanation_lines(sentence: Sentence, translator: Translator) -> Iterator[str]:
    """How the best translation came about: its score by features, its phrases or where its words come from."""
    best = sentence.translated.best
    source, target = sentence.source, spelled(best.tokens)
    yield f"score {best.score:.3f}: {_listed(feature_shares(translator, best.features))}"
    for phrase in best.phrases:
        words = " ".join(source[slice(*phrase.source)]), " ".join(target[slice(*phrase.target)])
        shares = feature_shares(translator, phrase.features)
        yield f"{words[0]} -> {words[1]}: {sum(shares.values()):.3f} ({_listed(shares)})"
    if best.phrases and (rest := rest_shares(translator, best)):
        yield f"whole sentence: {sum(rest.values()):.3f} ({_listed(rest)})"
    looked_at = {j: i for i, j in best.alignment}
    for position, origin in enumerate(best.origins):
        at = source[looked_at[position]] if position in looked_at else "(the end)"
        yield f"{target[position]} <- {at}: {'; '.join(_reasons(origin, source))}"


def _listed(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {share:.3f}" for name, share in largest_first(shares)) or "nothing"


def _reasons(origin: Origin, source: list[str]) -> Iterator[str]:
    """Where a word comes from, as parts of a sentence."""
    if origin.replaced is not None:
        yield f"for '{source[origin.replaced]}', in place of an unknown word"
    if origin.dictionary:
        yield "dictionary: " + ", ".join(f"{unescape(word)} {p:.2f}" for word, p in origin.dictionary[:LISTED])
    if origin.phrases:
        yield "phrases: " + ", ".join(f"{unescape(s)} -> {unescape(t)} {p:.2f}" for s, t, p in origin.phrases[:LISTED])
    if origin.frequent is not None:
        yield f"frequent: number {origin.frequent}" if origin.frequent else "in every set"


def json_line(sentence: Sentence, translator: Translator, explained: bool) -> str:
    """A line of JSON, see ``as_data``."""
    return json.dumps(as_data(sentence, translator, explained), ensure_ascii=False, allow_nan=False)


def as_data(sentence: Sentence, translator: Translator, explained: bool) -> dict[str, Any]:
    """A sentence as nested dictionaries and lists: line, its words, and the candidates, best first.

    Each has text, words, score, scores (name -> value) and alignment (pairs of word positions); explained: also shares
    of the features in its score, its phrases (ranges of words, their shares) with what remains for the whole sentence,
    and of attention networks where each word comes from (replaced: the source word that it stands for).
    """
    return {
        "line": sentence.line,
        "words": sentence.source,
        "translation": sentence.text,
        "candidates": [_candidate(text, c, translator, explained) for text, c in sentence.listed],
    }


def _candidate(text: str, candidate: Candidate, translator: Translator, explained: bool) -> dict[str, Any]:
    data: dict[str, Any] = {
        "text": text,
        "words": spelled(candidate.tokens),
        "score": candidate.score,
        "scores": dict(zip(translator.names, candidate.features.tolist(), strict=True)),
        "alignment": [list(link) for link in sorted(candidate.alignment)],
    }
    if explained:
        data["shares"] = feature_shares(translator, candidate.features)
        data["phrases"] = [
            {"source": list(p.source), "target": list(p.target), "shares": feature_shares(translator, p.features)}
            for p in candidate.phrases
        ]
        data["whole_sentence"] = rest_shares(translator, candidate) if candidate.phrases else {}
        data["origins"] = [
            {
                "dictionary": [[unescape(word), p] for word, p in origin.dictionary],
                "phrases": [[unescape(source), unescape(target), p] for source, target, p in origin.phrases],
                "frequent": origin.frequent,
                "replaced": origin.replaced,
            }
            for origin in candidate.origins
        ]
    return data


def feature_shares(translator: Translator, features: np.ndarray) -> dict[str, float]:
    """Weighted scores (float64 ``[F]``) by feature, those of one with several (``TranslationModel0_2``) added up."""
    shares = {name: sum(parts) for name, parts in _by_feature(translator, translator.weights * features).items()}
    return {name: share if abs(share) >= LEAST else 0.0 for name, share in shares.items()}


def rest_shares(translator: Translator, candidate: Candidate) -> dict[str, float]:
    """What a translation scores beside its phrases, by feature: networks that score whole sentences."""
    rest = candidate.features - np.sum([phrase.features for phrase in candidate.phrases], axis=0)
    shares = feature_shares(translator, rest)
    largest = max((abs(share) for share in feature_shares(translator, candidate.features).values()), default=0.0)
    return {name: share for name, share in shares.items() if abs(share) > 1e-4 * max(1.0, largest)}


def largest_first(shares: dict[str, float]) -> list[tuple[str, float]]:
    """The shares that are not 0, in the order of their size."""
    return sorted(((n, s) for n, s in shares.items() if s), key=lambda entry: -abs(entry[1]))


def _by_feature(translator: Translator, scores: np.ndarray) -> dict[str, list[float]]:
    """Scores (float64 ``[F]``) by feature: ``TranslationModel0`` has those of the name ``TranslationModel0_2``."""
    found: dict[str, list[float]] = {}
    for name, score in zip(translator.names, scores.tolist(), strict=True):
        head, line, number = name.rpartition("_")
        found.setdefault(head if line and number.isdecimal() else name, []).append(score)
    return found
