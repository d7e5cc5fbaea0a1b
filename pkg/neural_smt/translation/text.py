"""Raw text in; out of it detokenised text, lists and explanations as lines for people, and JSON for machines.

Very long lines are translated in pieces, as the search needs room that grows with the square.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape
from typing import Any

import numpy as np

from neural_smt.corpus.tokenisation import accept_tokens, tokenise_lines
from neural_smt.decoding.features import UNKNOWN_WORD
from neural_smt.decoding.nbest import ListedTranslation, entry_line
from neural_smt.decoding.translations import Trace
from neural_smt.evaluation.steps import detokenise_lines
from neural_smt.translation.translators import Candidate, Origin, Translated, Translator
from neural_smt.vocabulary import spelled

LONGEST = 250
"""Words that are translated together; no line of a corpus that the experiments clean is longer."""

_STOPS = ((".", "!", "?"), (";", ":"), (",",))
"""Words after which a line is cut, the best ones first."""

LISTED = 3
"""Words and phrases that brought a word which are shown, the most probable first."""

COPIED = " (not translated)"
"""What follows a word that the system does not know."""

LEAST = 5e-7
"""Shares below this are none: sums of float32 and of float64 differ by as much."""


@dataclass(frozen=True)
class TextTranslator:
    """A system with the languages (ISO 639-1 codes) of its text; tokenised: lines are split into words already."""

    translator: Translator
    source: str
    target: str
    tokenised: bool = False

    def translate(self, lines: Sequence[str], nbest: int = 1, explained: bool = False) -> list[Translated]:
        """At most ``nbest`` translations of each line; a line without words has an empty one."""
        prepared = map(accept_tokens, lines) if self.tokenised else tokenise_lines(lines, self.source)
        pieces = [cut(line.split()) for line in prepared]
        found = iter(self.translator.translate([piece for line in pieces for piece in line], nbest, explained))
        whole = [join([next(found) for _ in line], nbest) for line in pieces]
        texts = iter(detokenise_lines([" ".join(c.tokens) for t in whole for c in t.candidates], self.target))
        return [
            Translated(t.source, [replace(c, text=next(texts)) for c in t.candidates], line)
            for line, t in zip(lines, whole, strict=True)
        ]


def cut(tokens: Sequence[str], longest: int = LONGEST) -> list[list[str]]:
    """A line as pieces of at most ``longest`` words, cut after the last stop in the second half where there is one."""
    pieces, rest = [], list(tokens)
    while len(rest) > longest:
        half = range(longest - 1, longest // 2 - 1, -1)
        places = (next((i for i in half if rest[i] in stops), None) for stops in _STOPS)
        end = next((i + 1 for i in places if i is not None), longest)
        pieces.append(rest[:end])
        rest = rest[end:]
    return [*pieces, rest]


def join(pieces: Sequence[Translated], nbest: int) -> Translated:
    """The translations of the pieces as one: the i-th of every piece together are the i-th of the line.

    A piece with fewer of them gives its last one again.
    """
    if len(pieces) == 1:
        return pieces[0]
    count = min(nbest, max(len(piece.candidates) for piece in pieces))
    chosen = [[p.candidates[min(i, len(p.candidates) - 1)] for p in pieces] for i in range(max(1, count))]
    lengths = [len(piece.source) for piece in pieces]
    return Translated([word for p in pieces for word in p.source], [_join(parts, lengths) for parts in chosen])


def _join(parts: Sequence[Candidate], lengths: Sequence[int]) -> Candidate:
    tokens: list[str] = []
    alignment, segmentation, origins = [], [], []
    source = 0
    for part, length in zip(parts, lengths, strict=True):
        target = len(tokens)
        tokens += part.tokens
        alignment += [(source + i, target + j) for i, j in part.trace.alignment]
        segmentation += [(source + i, source + j, target + k, target + m) for i, j, k, m in part.trace.segmentation]
        origins += [o if o.replaced is None else replace(o, replaced=source + o.replaced) for o in part.origins]
        source += length
    features = np.add.reduce([part.features for part in parts], axis=0, dtype=np.float64)
    trace = Trace(alignment, segmentation, np.concatenate([part.trace.features for part in parts]))
    return Candidate(tokens, features, sum(part.score for part in parts), trace, origins)


def sentence_lines(
    number: int,
    sentence: Translated,
    translator: Translator,
    *,
    nbest: int,
    alignment: bool,
    explain: bool,
    output: str,
) -> Iterator[str]:
    """What is written of the ``number``-th line of a text, counted from 0.

    output: ``json`` for a line of JSON, see ``as_data``; otherwise, with ``nbest``, a list in the format of Moses'
    n-best lists, as text, or the translation alone, with ``explain`` followed by how it came about, each line indented.
    alignment: whether the positions of linked words (source-target), counted from 0 in the tokenised sentences, follow.
    """
    best = sentence.best
    if output == "json":
        yield json.dumps(as_data(sentence, translator, explain), ensure_ascii=False, allow_nan=False)
    elif nbest:
        for candidate in sentence.candidates:
            scores = _by_feature(translator, candidate.features)
            aligned = sorted(candidate.trace.alignment) if alignment else None
            yield entry_line(ListedTranslation(number, [candidate.text], scores, candidate.score, aligned))
    else:
        links = " ".join(f"{i}-{j}" for i, j in sorted(best.trace.alignment))
        yield f"{best.text} ||| {links}" if alignment else best.text
        if explain:
            yield from (f"  {line}" for line in explanation_lines(as_data(sentence, translator, explained=True)))


def explanation_lines(sentence: Mapping[str, Any]) -> Iterator[str]:
    """How the best translation came about: its score by features, its phrases or where its words come from.

    sentence: see ``as_data``, explained.
    """
    source, best = sentence["words"], sentence["candidates"][0]
    target = best["words"]
    yield f"score {best['score']:.3f}: {_listed(best['shares'])}"
    copied = [COPIED if position in best["untranslated"] else "" for position in range(len(target))]
    for phrase in best["phrases"]:
        words = f"{' '.join(source[slice(*phrase['source'])])} -> {' '.join(target[slice(*phrase['target'])])}"
        yield _part_line(words + "".join(copied[slice(*phrase["target"])]), phrase["shares"])
    if best["whole_sentence"]:
        yield _part_line("whole sentence", best["whole_sentence"])
    looked_at = {j: source[i] for i, j in best["alignment"]}
    for position, origin in enumerate(best["origins"]):
        at = looked_at.get(position, "(the end)")
        yield f"{target[position]} <- {at}{copied[position]}: {'; '.join(_reasons(origin, source))}"


def _part_line(part: str, shares: dict[str, float]) -> str:
    return f"{part}: {sum(shares.values()):.3f} ({_listed(shares)})"


def _listed(shares: dict[str, float]) -> str:
    """The shares that are not 0, the largest first."""
    largest = sorted(((name, share) for name, share in shares.items() if share), key=lambda entry: -abs(entry[1]))
    return ", ".join(f"{name} {share:.3f}" for name, share in largest) or "nothing"


def _reasons(origin: Mapping[str, Any], source: list[str]) -> Iterator[str]:
    """Where a word comes from, as parts of a sentence."""
    if origin["replaced"] is not None:
        yield f"for '{source[origin['replaced']]}', in place of an unknown word"
    if origin["dictionary"]:
        yield "dictionary: " + ", ".join(f"{word} {p:.2f}" for word, p in origin["dictionary"][:LISTED])
    if origin["phrases"]:
        yield "phrases: " + ", ".join(f"{phrase} -> {words} {p:.2f}" for phrase, words, p in origin["phrases"][:LISTED])
    if origin["frequent"] is not None:
        yield f"frequent: number {origin['frequent']}" if origin["frequent"] else "in every set"


def as_data(sentence: Translated, translator: Translator, explained: bool) -> dict[str, Any]:
    """A sentence as nested dictionaries and lists: line, its words (without the escapes of Moses' files), and the
    candidates, best first.

    Each has text, words, score, scores (name -> value) and alignment (pairs of word positions); explained: also shares
    of the features in its score, its phrases (ranges of words, their shares) with what remains for the whole sentence,
    of attention networks where each word comes from (replaced: the source word that it stands for), and untranslated:
    positions of words that were copied because the system knows no translation.
    """
    return {
        "line": sentence.line,
        "words": spelled(sentence.source),
        "translation": sentence.best.text,
        "candidates": [
            _candidate(candidate, translator, sentence.source if explained else None)
            for candidate in sentence.candidates
        ],
    }


def _candidate(candidate: Candidate, translator: Translator, source: Sequence[str] | None) -> dict[str, Any]:
    """source: tokens of the sentence, if the candidate is explained."""
    made = candidate.trace
    data: dict[str, Any] = {
        "text": candidate.text,
        "words": spelled(candidate.tokens),
        "score": candidate.score,
        "scores": dict(zip(translator.names, candidate.features.tolist(), strict=True)),
        "alignment": [list(link) for link in sorted(made.alignment)],
    }
    if source is not None:
        unknown = [row for row, name in enumerate(translator.names) if name == UNKNOWN_WORD]
        spans = [span for span, row in zip(made.segmentation, made.features, strict=True) if row[unknown].any()]
        replaced = enumerate(origin.replaced for origin in candidate.origins)
        data["untranslated"] = [j for span in spans for j in range(*span[2:])]
        data["untranslated"] += [j for j, i in replaced if i is not None and candidate.tokens[j] == source[i]]
        data["shares"] = feature_shares(translator, candidate.features)
        data["phrases"] = [
            {"source": list(span[:2]), "target": list(span[2:]), "shares": feature_shares(translator, features)}
            for span, features in zip(made.segmentation, made.features, strict=True)
        ]
        data["whole_sentence"] = rest_shares(translator, candidate)
        data["origins"] = list(map(_origin, candidate.origins))
    return data


def _origin(origin: Origin) -> dict[str, Any]:
    """Where a word comes from, the most probable words and phrases first."""
    lists: tuple[list[Any], list[Any]] = origin.reasons.dictionary, origin.reasons.phrases
    dictionary, phrases = (sorted(entries, key=lambda entry: -entry[-1]) for entries in lists)
    return {
        "dictionary": [[unescape(word), p] for word, _, p in dictionary],
        "phrases": [[unescape(source), unescape(target), p] for source, _, target, p in phrases],
        "frequent": origin.reasons.frequent,
        "replaced": origin.replaced,
    }


def feature_shares(translator: Translator, features: np.ndarray) -> dict[str, float]:
    """Weighted scores (float64 ``[F]``) by feature, those of one with several (``TranslationModel0_2``) added up."""
    shares = {name: sum(parts) for name, parts in _by_feature(translator, translator.weights * features).items()}
    return {name: share if abs(share) >= LEAST else 0.0 for name, share in shares.items()}


def rest_shares(translator: Translator, candidate: Candidate) -> dict[str, float]:
    """What a translation made of phrases scores beside them, by feature: networks that score whole sentences."""
    if not candidate.trace.segmentation:
        return {}
    rest = candidate.features - candidate.trace.features.sum(axis=0, dtype=np.float64)
    shares = feature_shares(translator, rest)
    largest = max((abs(share) for share in feature_shares(translator, candidate.features).values()), default=0.0)
    return {name: share for name, share in shares.items() if abs(share) > 1e-4 * max(1.0, largest)}


def _by_feature(translator: Translator, scores: np.ndarray) -> dict[str, list[float]]:
    """Scores (float64 ``[F]``) by feature: ``TranslationModel0`` has those of the name ``TranslationModel0_2``."""
    found: dict[str, list[float]] = {}
    for name, score in zip(translator.names, scores.tolist(), strict=True):
        head, line, number = name.rpartition("_")
        found.setdefault(head if line and number.isdecimal() else name, []).append(score)
    return found
