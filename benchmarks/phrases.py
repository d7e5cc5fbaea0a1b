"""Phrase extraction, scoring and reordering of Multi30k English-French, beside what Moses' own programs needed for it.

Needs the reference data (``data/multi30k`` in NEURAL_SMT_SHARED, by default ``../shared``). The text is tokenised
and aligned by fast_align first, once; what is measured starts and ends with files, as Moses' steps do. ``--copies N``
measures N copies of the text with vocabularies of their own instead: what larger data would cost, at worst.
Writes benchmarks/results/phrases.json.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from lib import REPETITIONS, RESULTS, peak_megabytes
from lib.multi30k import FOLDER, Captions, available, captions

from neural_smt.alignment.lexical import LexicalTable, lexical_table
from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.io.files import write_json
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.extraction import extract_pairs
from neural_smt.phrases.moses_format import write_moses
from neural_smt.phrases.scoring import score_pairs
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary

MOSES_SECONDS = 18.2
"""extract 3.5, sorts 1.8, score and consolidate 10.2, lexical reordering 2.7 (one after the other, uncompressed)."""

WORKED = ("read", "extract", "score", "save")
"""The phases that make up what Moses' programs do; lexical tables and text files for Moses are shown apart."""


def copied(text: Ragged, copies: int, vocabulary: Vocabulary) -> tuple[Ragged, Vocabulary]:
    """``copies`` copies of a text, each with words of its own."""
    size = len(vocabulary)
    values = (text.values + np.arange(copies, dtype=np.int32)[:, None] * np.int32(size)).reshape(-1)
    words = [f"{word}.{copy}" if copy else word for copy in range(copies) for word in vocabulary.words]
    return repeated(Ragged(values, text.offsets), copies), Vocabulary(words, np.tile(vocabulary.counts, copies))


def repeated(lists: Ragged, copies: int) -> Ragged:
    """The offsets of ``copies`` copies of lists whose values are all there (or are repeated here)."""
    total = lists.offsets[-1]
    offsets = (lists.offsets[1:] + np.arange(copies)[:, None] * total).reshape(-1)
    values = lists.values if len(lists.values) == copies * total else np.tile(lists.values, (copies, 1))
    return Ragged(values, np.concatenate([[0], offsets]))


class Stopwatch:
    """Wall seconds by phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, phase: str, work: Callable[..., Any], *arguments: Any) -> Any:
        began = time.perf_counter()
        result = work(*arguments)
        self.seconds[phase] = time.perf_counter() - began
        return result


def measure(text: Captions, threads: int, copies: int) -> dict:
    """One run from text to phrase table; seconds by phase, sizes, peak memory."""
    watch = Stopwatch()
    vocabularies = text.vocabularies

    def read() -> tuple[Ragged, Ragged, Ragged]:
        return *text.encode(), read_alignments(text.alignment)

    source, target, alignments = watch("read", read)
    if copies > 1:
        source, source_vocabulary = copied(source, copies, vocabularies[0])
        target, target_vocabulary = copied(target, copies, vocabularies[1])
        vocabularies, alignments = (source_vocabulary, target_vocabulary), repeated(alignments, copies)
    lexical: LexicalTable = watch("lexical", lexical_table, [(source, target, alignments)], *map(len, vocabularies))
    before = peak_megabytes()
    pairs = watch("extract", extract_pairs, source, target, alignments, 7, threads)
    extracted = peak_megabytes()
    table: PhraseTable = watch("score", score_pairs, pairs, lexical, *vocabularies, 7, 0.5, threads)
    scored = peak_megabytes()
    watch("save", table.save, FOLDER / "table")
    return {
        "threads": threads,
        "copies": copies,
        "links": len(alignments.values),
        "extracted": len(pairs),
        "entries": len(table),
        "sources": len(table.source),
        "seconds": {phase: round(seconds, 3) for phase, seconds in watch.seconds.items()},
        "total": round(sum(watch.seconds[phase] for phase in WORKED), 3),
        "peak_megabytes": {"before": before, "extracted": extracted, "scored": scored},
    }


def export(text: Captions) -> float:
    """Seconds to write the saved table as Moses' text files, uncompressed."""
    watch = Stopwatch()
    table = PhraseTable.load(FOLDER / "table")
    watch("export", write_moses, table, text.vocabularies, FOLDER / "phrase-table", FOLDER / "reordering-table")
    print(f"writing both tables as text for Moses: {watch.seconds['export']:.2f} s")
    return round(watch.seconds["export"], 3)


def show(run: dict) -> None:
    phases = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in run["seconds"].items())
    print(f"{run['extracted']:,} pairs extracted, {run['entries']:,} entries of {run['sources']:,} source phrases")
    print(f"{run['threads']} thread(s): {phases} s; peak memory {run['peak_megabytes']['scored']} MB")
    if run["copies"] == 1:
        share = run["total"] / MOSES_SECONDS
        print(f"{' + '.join(WORKED)}: {run['total']:.2f} s; Moses {MOSES_SECONDS} s; ratio {share:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--copies", type=int, default=1, help="measure this many copies of the text, on one thread")
    copies = parser.parse_args().copies
    if not available():
        return
    text = captions()
    if copies > 1:
        show(measure(text, 1, copies))
        return
    measure(text, 1, 1)  # compiles the kernels
    runs = []
    for threads in (1, 2):
        repetitions = [measure(text, threads, 1) for _ in range(REPETITIONS)]
        runs.append(min(repetitions, key=lambda run: run["total"]))
        show(runs[-1])
    exported = export(text)
    write_json(
        RESULTS / "phrases.json",
        {"moses_seconds": MOSES_SECONDS, "repetitions": REPETITIONS, "runs": runs, "export_seconds": exported},
    )


if __name__ == "__main__":
    main()
