"""Scoring n-best lists with attention networks: translations per second as trees of prefixes and in simpler ways.

Random weights and lists of 100 in which translations differ as those of a phrase-based system do: each is a way through
a chain of phrases that have a few translations each, the more of which differ from the first the later it comes. Trees:
what the step score_lists does. Batches: every translation by itself through the network's pass over whole sentences,
80 of like length together, with the words of their sentences in common. One by one: the same, each alone. With target
vocabularies of 2,300 words a sentence, 2,000 of them shared, and over all 30,000 words. Prefixes: distinct ones, of
all. Files: reading and writing the lists, as a share of the time of the trees. Writes
benchmarks/results/attention_scoring.json.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from lib import RESULTS, network_parser

import neural_smt  # noqa: F401  (before PyTorch: it sets up OpenMP)

import torch  # isort: skip
from lib.searches import SIZES, Case, random_sets  # isort: skip

from neural_smt.decoding.nbest import ListedTranslation, read_nbest, write_entries
from neural_smt.decoding.scorers.attention import AttentionTextScorer, with_words
from neural_smt.io.files import write_json
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork, membership, pack_batch
from neural_smt.networks.device import describe_device, precision_context, select_device
from neural_smt.vocabulary_selection.candidates import CandidateSets

WORDS, LIST, BATCH, FEW = 30_000, 100, 80, 12
CASES = (Case(WORDS, 2000, 300), Case(WORDS, 0, 0))
SENTENCES = {"small": 24, "paper": 3}


class Lists(NamedTuple):
    """source, targets: ids; owner: int64, the sentence of each translation; sets: None for all words."""

    source: Ragged
    targets: Ragged
    owner: np.ndarray
    sets: CandidateSets | None

    def take(self, rows: np.ndarray) -> "Lists":
        """Some of the translations."""
        return self._replace(targets=self.targets.take(rows), owner=self.owner[rows])


def random_lists(count: int, case: Case) -> Lists:
    """Lists of ``LIST`` translations for ``count`` sentences of 5 to 30 words."""
    random = np.random.default_rng(0)
    lengths = random.integers(5, 31, count)
    targets = [words for length in lengths for words in _list(random, int(length))]
    owner, ragged = np.repeat(np.arange(count), LIST), Ragged.from_lists(targets)
    sets = random_sets(case, count)
    source = Ragged.from_lists([random.integers(3, WORDS, length) for length in lengths])
    of_word = np.repeat(owner, ragged.lengths)
    return Lists(source, ragged, owner, None if sets is None else with_words(sets, ragged.values, of_word))


def _list(random: np.random.Generator, length: int) -> list[list[int]]:
    """Distinct translations of about ``length`` words, of phrases with four translations of 1 to 3 words each."""
    phrases = max(length // 2, 4)
    options = [[random.zipf(1.3, random.integers(1, 4)) % (WORDS - 3) + 3 for _ in range(4)] for _ in range(phrases)]
    ways: dict[tuple[int, ...], None] = {}
    while len(ways) < LIST:
        changed = random.random(phrases) < (1 + len(ways) / 40) / phrases
        ways[tuple(np.where(changed, random.integers(0, 4, phrases), 0))] = None
    return [[int(word) for phrase, way in zip(options, chosen, strict=True) for word in phrase[way]] for chosen in ways]


def in_batches(network: AttentionNetwork, lists: Lists, size: int) -> None:
    """Every translation by itself, ``size`` of like length together."""
    order = np.argsort(lists.targets.lengths, kind="stable")
    for start in range(0, len(order), size):
        part = lists.take(order[start : start + size])
        ids = allowed = None
        if part.sets is not None:
            own = part.sets.own.take(part.owner)
            ids = np.union1d(part.sets.common, own.values)
            allowed = membership(ids, own, part.sets.common)
        network(pack_batch(part.source.take(part.owner), part.targets, network.output.weight.device, ids, allowed))


def seconds_of_files(lists: Lists) -> float:
    """Of writing and reading the lists, with ten scores each."""
    entries = [
        ListedTranslation(int(sentence), [f"w{word}" for word in words], {"All": [0.123456] * 10}, -1.0)
        for sentence, words in zip(lists.owner, lists.targets, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path, began = Path(folder) / "nbest.gz", time.process_time()
        write_entries(path, entries)
        read_nbest(path)
        return time.process_time() - began


def measure(
    network: AttentionNetwork, sentences: int, case: Case, precision: str, seconds: float
) -> Iterator[dict[str, object]]:
    """A row for each way of scoring: translations per second, the best of several rounds.

    On a CPU these are seconds of CPU time, which other work disturbs less.
    """
    clock = time.perf_counter if network.output.weight.is_cuda else time.process_time
    lists = random_lists(sentences, case)
    few = lists.take(np.linspace(0, len(lists.owner) - 1, FEW).astype(int))
    trees = AttentionTextScorer(network, lists.source, lists.sets, precision)
    ways = {
        "trees": (lists, lambda: trees.score(lists.targets, lists.owner)),
        "batches": (lists, lambda: in_batches(network, lists, BATCH)),
        "one by one": (few, lambda: in_batches(network, few, 1)),
    }
    for way, (scored, work) in ways.items():
        rounds = []
        began = time.perf_counter()
        with torch.no_grad(), precision_context(network.output.weight.device, precision):
            while not rounds or time.perf_counter() - began < seconds:
                start = clock()
                work()
                rounds.append(clock() - start)
        words = None if case.own == 0 else case.shared + case.own
        row = {"way": way, "words": words, "translations_per_second": round(len(scored.owner) / min(rounds), 2)}
        if way == "trees":
            row["files"] = round(seconds_of_files(lists) / min(rounds), 4)
        yield row


def share_of_prefixes(lists: Lists) -> float:
    """Distinct prefixes of each list, of all."""
    pairs = list(zip(lists.owner.tolist(), lists.targets, strict=True))
    distinct = {(sentence, words[:end].tobytes()) for sentence, words in pairs for end in range(len(words) + 1)}
    return len(distinct) / int((lists.targets.lengths + 1).sum())


def main() -> None:
    """Measure the chosen sizes and print a table."""
    parser = network_parser(__doc__, SIZES)
    parser.set_defaults(seconds=1.0)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    device = describe_device(select_device(arguments.device))
    print(f"device: {device}, {arguments.precision}, {arguments.threads} threads")
    results = {}
    for size in arguments.sizes:
        prefixes = share_of_prefixes(random_lists(SENTENCES[size], CASES[-1]))
        print(f"{size}: {SENTENCES[size]} lists of {LIST}, {prefixes:.2f} of the prefixes are distinct")
        rows = []
        network = AttentionNetwork(AttentionConfig(WORDS, WORDS, **SIZES[size])).to(select_device(arguments.device))
        for case in CASES:
            for row in measure(network, SENTENCES[size], case, arguments.precision, arguments.seconds):
                shown = f"  files {row['files']:.1%}" if "files" in row else ""
                print(f"{row['way']:>12}{row['words'] or 'all':>7}{row['translations_per_second']:10.1f}/s{shown}")
                rows.append(row)
        results[size] = {"prefixes": round(prefixes, 4), "rows": rows}
    description = {"device": device, "precision": arguments.precision, "threads": arguments.threads}
    write_json(RESULTS / "attention_scoring.json", description | {"sizes": results})


if __name__ == "__main__":
    main()
