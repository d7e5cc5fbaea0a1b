"""Steps that score candidates of a system with a network, and choose among them: n-best lists and lattices."""

import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.decoding.features import Weights
from neural_smt.decoding.lattices.flat import best_paths
from neural_smt.decoding.nbest import ListedTranslation, read_blocks, write_entries
from neural_smt.decoding.oracles import oracle_rows, write_oracles
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices
from neural_smt.decoding.reranking.push_forward import LatticeScorer, Rescored, push_forward, rescore_lists
from neural_smt.decoding.scorers.interface import TargetNetwork, TargetText, load_network
from neural_smt.decoding.search import Decoder
from neural_smt.errors import UserError
from neural_smt.experiment.system_folder import System
from neural_smt.io.files import read_lines, write_json, write_lines
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks.recurrent.configuration import LinkSets
from neural_smt.representations.links import translation_links
from neural_smt.shards import Shard

log = logging.getLogger(__name__)


def add_scores(
    entries: Sequence[ListedTranslation], network: TargetNetwork, lines: Sequence[str] | None
) -> list[ListedTranslation]:
    """The entries with the network's feature (in place of an older one); totals stay as they are.

    lines: the tokenised sentences that they translate, of which those between the first and the last of the lists are
    read; None where the network reads none. As in the search, the empty translation of an empty sentence has a score of
    0.
    """
    first = min((entry.sentence for entry in entries), default=0)
    last = max((entry.sentence for entry in entries), default=-1)
    count = last + 1 - first
    sentences = None if lines is None else [line.split() for line in lines[first : last + 1]]
    scored = [bool(e.tokens) or bool(sentences and sentences[e.sentence - first]) for e in entries]
    listed = [entry for entry, wanted in zip(entries, scored, strict=True) if wanted]
    targets = Ragged.from_lists([network.ids(entry.tokens) for entry in listed], dtype=np.int32)
    owner = np.array([entry.sentence - first for entry in listed], dtype=np.int64)
    links, numbers = _links(listed, owner, count, network.aligned)
    of_word = np.repeat(owner, targets.lengths)
    text = TargetText(sentences, np.arange(first, last + 1), targets.values, of_word, links)
    found = iter(network.on(text).score(targets, owner, numbers)[0].tolist() if listed else ())
    return [
        replace(entry, features=entry.features | {network.feature: [next(found) if wanted else 0.0]})
        for entry, wanted in zip(entries, scored, strict=True)
    ]


def _links(
    entries: Sequence[ListedTranslation], owner: np.ndarray, sentences: int, aligned: bool
) -> tuple[LinkSets, np.ndarray]:
    """What every word, and after the last one the end, of translations is aligned to, and the number of its set.

    aligned: whether the network reads that; if not, nothing but the sentence of a word is told.
    """
    lengths = np.array([len(entry.tokens) for entry in entries], dtype=np.int64)
    if not aligned:
        none = Ragged(np.zeros(0, np.int32), np.zeros(sentences + 1, np.int64))
        return LinkSets(np.arange(sentences, dtype=np.int32), none), np.repeat(owner, lengths + 1).astype(np.int32)
    missing = next((entry.sentence for entry in entries if entry.tokens and entry.alignment is None), None)
    if missing is not None:
        raise UserError(
            f"the network reads word alignments, but the n-best list of sentence {missing} has none; list the "
            "translations with their alignments"
        )
    pairs = [np.array(entry.alignment or [], dtype=np.int32).reshape(-1, 2) for entry in entries]
    alignment = Ragged(np.concatenate([np.zeros((0, 2), np.int32), *pairs]), offsets_of([len(part) for part in pairs]))
    return translation_links(alignment, lengths, owner)


def rerank_entries(
    entries: Sequence[ListedTranslation], weights: Mapping[str, Sequence[float]]
) -> list[ListedTranslation]:
    """The entries of each sentence by their weighted features, best first, with these sums as totals.

    Entries must come sentence by sentence; equals keep their order. Features that are not listed (those that cannot be
    tuned, which are the same for all entries of a sentence) do not count. ``UserError`` where a listed one has no
    weight.
    """
    result = []
    for _, group in groupby(entries, key=lambda entry: entry.sentence):
        scored = [replace(entry, score=_weighted(entry, weights)) for entry in group]
        result += sorted(scored, key=lambda entry: -entry.score)
    return result


def _weighted(entry: ListedTranslation, weights: Mapping[str, Sequence[float]]) -> float:
    total = 0.0
    for name, values in entry.features.items():
        if len(weights.get(name, ())) != len(values):
            raise UserError(
                f"the n-best list has {len(values)} scores of {name}, but there are {len(weights.get(name, ()))} "
                "weights for it; give the weights that were tuned for these lists"
            )
        total += float(np.dot(values, weights[name]))
    return total


def score_lists(
    *,
    system: Path,
    nbest: Path,
    output: Path,
    text: Path | None = None,
    candidates: Path | None = None,
    weights: Path | None = None,
    shard: str | None = None,
    device: str = "cpu",
) -> None:
    """Score n-best lists (in the format of Moses) with networks: the same lists with one more feature of each. A system
    without a network keeps them as they are, to be tuned on.

    system: the folder of one that reranks lists (``results/EXPERIMENT/systems/NAME``); nbest: the lists, sentence by
    sentence, of which the system may keep the first entries alone; text: the tokenised sentences that they translate
    (or, for an oracle, the references), where the network reads them; candidates: their target vocabularies, for an
    attention network. The feature is the natural log of the translation's probability, its end included; the empty
    translation of an empty sentence has 0. With candidates, the softmax of a sentence is over its target vocabulary and
    all words of its list, so that its translations can be compared. Totals stay as they are; with weights the lists are
    also reranked (see ``rerank``). shard: the part of the lists that is read and written, as ``2-of-4`` (see
    ``join_scores``).
    """
    part, described = Shard.parse(shard), System.load(system)
    lines = None if text is None else read_lines(text)
    vector = Weights.load(weights).values if weights else None
    reading = {"lines": lines, "text": text, "candidates": candidates, "device": device}
    networks = [load_network(one, **reading) for one in described.of_each_network()]
    count, began = 0, time.perf_counter()

    def scored() -> Iterator[ListedTranslation]:
        nonlocal count
        for entries in read_blocks(nbest, part, described["nbest"]):
            count += len(entries)
            size = np.inf if lines is None else len(lines)
            beyond = next((entry.sentence for entry in entries if entry.sentence >= size), None)
            if beyond is not None:
                raise UserError(
                    f"{nbest}: a list of sentence {beyond}, but {text} has {size}; give the text of the lists"
                )
            for network in networks:
                entries = add_scores(entries, network, lines)
            yield from entries if vector is None else rerank_entries(entries, vector)

    write_entries(output, scored())
    seconds = time.perf_counter() - began
    log.info("scored %d translations in %.1f s, %.0f a second", count, seconds, count / max(seconds, 1e-9))
    for network in networks:
        if network.describe():
            log.info("%s", network.describe())


def rerank(*, nbest: Path, weights: Path, output: Path, statistics: Path) -> None:
    """Write the best translations of scored n-best lists under the weights, and statistics: sentences, entries and mean
    score.
    """
    vector, count = Weights.load(weights).values, 0
    best: dict[int, ListedTranslation] = {}
    for entries in read_blocks(nbest):
        count += len(entries)
        best |= {entry.sentence: entry for entry in reversed(rerank_entries(entries, vector))}
    lines = (" ".join(best[number].tokens) if number in best else "" for number in range(max(best, default=-1) + 1))
    write_lines(output, lines)
    mean = float(np.mean([entry.score for entry in best.values()])) if best else 0.0
    write_json(statistics, {"sentences": len(best), "entries": count, "mean_score": mean})


def decode_lattices(
    *, system: Path, weights: Path, text: Path, density: float, output: Path, statistics: Path, threads: int = 1
) -> None:
    """Decode a tokenised text into lattices whose words are aligned to the source.

    system, weights: as for ``decode``, without a recurrent model in the search, which scores the best way into each
    node alone (a CSLM scores them all); density: arcs per target word that lattices are pruned to, 0 for all. Writes a
    folder (``AlignedLattices``) and statistics: sentences, seconds of search and of laying out lattices, mean model
    score, arcs.
    """
    if density < 0:
        raise UserError(f"the density {density} is negative; use 0 for all arcs")
    decoder = Decoder.load(System.load(system), weights, threads)
    sentences = [line.split() for line in read_lines(text)]
    began = time.perf_counter()
    lattices = decoder.lattices(sentences, density or math.inf)
    searched = time.perf_counter()
    aligned = AlignedLattices.of(lattices, decoder)
    seconds = time.perf_counter() - began
    aligned.save(output)
    scores = np.array([0.0 if x is None else x.prefix_scores[x.arc_offsets[-2]] for x in lattices])
    content = _statistics(aligned, seconds, scores, threads) | {"seconds_of_search": round(searched - began, 3)}
    content["arcs_per_sentence"] = content["arcs"] / max(1, len(sentences))
    write_json(statistics, content)
    log.info("%d lattices of %d arcs in %.1f s", len(sentences), content["arcs"], seconds)


def _statistics(lattices: AlignedLattices, seconds: float, scores: np.ndarray, threads: int) -> dict[str, Any]:
    """What both steps on lattices report; scores: float64 ``[S]``, of the best translations."""
    return {
        "sentences": len(lattices),
        "seconds": round(seconds, 3),
        "seconds_per_sentence": seconds / max(1, len(lattices)),
        "mean_score": float(scores.mean()) if len(lattices) else 0.0,
        "arcs": len(lattices.flat.tails),
        "threads": threads,
    }


def rescore_lattices(
    *,
    system: Path,
    lattices: Path,
    weights: Path,
    output: Path,
    statistics: Path,
    text: Path | None = None,
    candidates: Path | None = None,
    device: str = "cpu",
    threads: int = 1,
) -> None:
    """Translate by the best paths of lattices, or of n-best lists drawn from them, with a network.

    system: one that reranks lattices, see ``system_folder``; without a network the weights alone choose, in the
    lattices; lattices: a folder of ``decode_lattices``; weights: of the lattices' features and, with a network, of its
    own; text, candidates: as for ``score_lists``. Writes the translations, and statistics: sentences, seconds, mean
    model score, mean ln p of the translations by the network, network states computed, arcs.
    """
    described = System.load(system)
    aligned = AlignedLattices.load(lattices)
    network = load_lattice_scorer(described, aligned, text, candidates, device)
    features, tuned = aligned.features, Weights.load(weights)
    if network:
        features = aligned.with_feature(network.feature)
        if network.feature not in tuned.values:
            raise UserError(f"{weights}: holds no weight of {network.feature}; tune with the network first")
    vector = tuned.vector(features)
    began = time.perf_counter()
    if network is None:
        found = Rescored(*best_paths(aligned.flat, vector), np.zeros(len(aligned)), 0)
    elif described["candidates"] == "lattice":
        found = push_forward(network, vector, described["beam"], threads)
    else:
        found = rescore_lists(network, vector, described["nbest"], threads=threads)
    seconds = time.perf_counter() - began
    write_lines(output, (" ".join(aligned.spell(words)) for words in aligned.flat.translations(found.arcs)))
    content = _statistics(aligned, seconds, found.scores, threads) | {"evaluations": int(found.evaluations)}
    if network and len(aligned):
        content[f"mean_{network.feature.rstrip('0').lower()}"] = float(found.network.mean())
    write_json(statistics, content)
    log.info("rescored %d sentences in %.2f s, mean score %.3f", len(aligned), seconds, content["mean_score"])


def load_lattice_scorer(
    system: System, lattices: AlignedLattices, text: Path | None, candidates: Path | None, device: str
) -> LatticeScorer | None:
    """The network of a system, ready for lattices; None without a network.

    text, candidates: as for ``score_lists``. Raises ``UserError`` when network, text and lattices do not belong
    together.
    """
    if system["network"] is None:
        return None
    lines = None if text is None else read_lines(text)
    if lines is not None and len(lines) != len(lattices):
        raise UserError(f"{text} has {len(lines)} lines, but there are lattices of {len(lattices)} sentences")
    network = load_network(system, lines=lines, text=text, candidates=candidates, device=device)
    return LatticeScorer.of(network, lattices, None if lines is None else [line.split() for line in lines])


def measure_oracles(
    *, lattices: Path, reference: Path, sizes: list[int], table: Path, lists: Path | None = None
) -> None:
    """Write a table (CSV) of the oracle BLEU of lattices and of n-best lists of some sizes.

    lattices: a folder of ``decode_lattices``; lists: another one, less pruned, that the lists are drawn from;
    reference: tokenised text. Rows as in the table of the verb ``oracle``.
    """
    references = [line.split() for line in read_lines(reference)]
    aligned = [AlignedLattices.load(folder) for folder in (lattices, lists or lattices)]
    for folder, read in zip((lattices, lists), aligned, strict=True):
        if len(references) != len(read):
            raise UserError(f"{reference} has {len(references)} lines, but {folder} is of {len(read)} sentences")
    rows = oracle_rows(aligned[0], references, sizes, aligned[1])
    write_oracles(table, rows)
    for row in rows:
        log.info("%s, %s oracle: BLEU %.2f", row.candidates, row.oracle, row.bleu)
