"""Phrase extraction, scoring and reordering of Multi30k English-French, beside what Moses' own programs needed for it.

Needs the reference data (``data/multi30k`` in NEURAL_SMT_SHARED, by default ``../shared``). The text is tokenised
and aligned by fast_align first, once; what is measured starts and ends with files, as Moses' steps do. ``--copies N``
measures N copies of the text with vocabularies of their own instead: what larger data would cost, at worst.
Writes benchmarks/results/phrases.json.
"""

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
sys.path.insert(0, str(ROOT / "pkg"))

import numpy as np  # noqa: E402

from neural_smt.alignment.fast_align import FastAlignSettings, fast_align  # noqa: E402
from neural_smt.alignment.lexical import LexicalTable, lexical_table  # noqa: E402
from neural_smt.alignment.pharaoh import read_alignments, write_alignments  # noqa: E402
from neural_smt.alignment.symmetrisation import symmetrise_alignments  # noqa: E402
from neural_smt.corpus.tokenisation import tokenise_lines  # noqa: E402
from neural_smt.files import read_lines, read_parallel, write_json, write_lines  # noqa: E402
from neural_smt.phrases.extraction import extract_pairs  # noqa: E402
from neural_smt.phrases.moses_format import write_moses  # noqa: E402
from neural_smt.phrases.scoring import score_pairs  # noqa: E402
from neural_smt.phrases.table import PhraseTable  # noqa: E402
from neural_smt.ragged import Ragged  # noqa: E402
from neural_smt.vocabulary import Vocabulary  # noqa: E402

MOSES_SECONDS = 18.2
"""extract 3.5, sorts 1.8, score and consolidate 10.2, lexical reordering 2.7 (one after the other, uncompressed)."""

WORKED = ("read", "extract", "score", "save")
"""The phases that make up what Moses' programs do; lexical tables and text files for Moses are shown apart."""

REPETITIONS = 3
"""The fastest repetition counts: the others were disturbed."""


def prepare(shared: Path, folder: Path) -> tuple[Path, Path, Path]:
    """Tokenised text and its grow-diag-final-and alignment, made when they are not there yet."""
    paths = folder / "train.en", folder / "train.fr", folder / "train.align"
    if all(path.exists() for path in paths):
        return paths
    print("tokenising and aligning (once) ...", flush=True)
    for language, path in zip(("en", "fr"), paths[:2], strict=True):
        write_lines(
            path, tokenise_lines(read_lines(shared / f"data/multi30k/train.{language}.gz"), language, threads=2)
        )
    lines = read_parallel(*paths[:2])
    vocabularies = [Vocabulary.from_sentences(side) for side in lines]
    source, target = (vocabulary.encode(side) for vocabulary, side in zip(vocabularies, lines, strict=True))
    sizes = [len(vocabulary) for vocabulary in vocabularies]
    forward = fast_align(source, target, *sizes, FastAlignSettings())
    reverse = fast_align(target, source, *reversed(sizes), FastAlignSettings())
    reverse = Ragged(np.ascontiguousarray(reverse.values[:, ::-1]), reverse.offsets)
    write_alignments(paths[2], symmetrise_alignments(forward, reverse, "grow-diag-final-and"))
    return paths


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


def measure(paths: tuple[Path, Path, Path], vocabularies: list[Vocabulary], threads: int, copies: int) -> dict:
    """One run from text to phrase table; seconds by phase, sizes, peak memory."""
    watch = Stopwatch()

    def read() -> tuple[Ragged, Ragged, Ragged]:
        lines = read_parallel(*paths[:2])
        texts = [vocabulary.encode(side) for vocabulary, side in zip(vocabularies, lines, strict=True)]
        return *texts, read_alignments(paths[2])

    source, target, alignments = watch("read", read)
    if copies > 1:
        source, source_vocabulary = copied(source, copies, vocabularies[0])
        target, target_vocabulary = copied(target, copies, vocabularies[1])
        vocabularies, alignments = [source_vocabulary, target_vocabulary], repeated(alignments, copies)
    lexical: LexicalTable = watch("lexical", lexical_table, source, target, alignments, *map(len, vocabularies))
    before = peak_megabytes()
    pairs = watch("extract", extract_pairs, source, target, alignments, 7, threads)
    extracted = peak_megabytes()
    table: PhraseTable = watch("score", score_pairs, pairs, lexical, *vocabularies, 7, 0.5, threads)
    scored = peak_megabytes()
    watch("save", table.save, RESULTS / "multi30k" / "table")
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


def export(folder: Path, vocabularies: list[Vocabulary]) -> float:
    """Seconds to write the saved table as Moses' text files, uncompressed."""
    watch = Stopwatch()
    table = PhraseTable.load(folder / "table")
    watch("export", write_moses, table, tuple(vocabularies), folder / "phrase-table", folder / "reordering-table")
    print(f"writing both tables as text for Moses: {watch.seconds['export']:.2f} s")
    return round(watch.seconds["export"], 3)


def peak_megabytes() -> int:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


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
    shared = Path(os.environ.get("NEURAL_SMT_SHARED", ROOT.parent / "shared"))
    if not (shared / "data" / "multi30k").is_dir():
        print(f"skipped: no data/multi30k at {shared}; set NEURAL_SMT_SHARED")
        return
    paths = prepare(shared, RESULTS / "multi30k")
    vocabularies = [Vocabulary.from_sentences(side) for side in read_parallel(*paths[:2])]
    if copies > 1:
        show(measure(paths, vocabularies, 1, copies))
        return
    measure(paths, vocabularies, 1, 1)  # compiles the kernels
    runs = []
    for threads in (1, 2):
        repetitions = [measure(paths, vocabularies, threads, 1) for _ in range(REPETITIONS)]
        runs.append(min(repetitions, key=lambda run: run["total"]))
        show(runs[-1])
    exported = export(RESULTS / "multi30k", vocabularies)
    write_json(
        RESULTS / "phrases.json",
        {"moses_seconds": MOSES_SECONDS, "repetitions": REPETITIONS, "runs": runs, "export_seconds": exported},
    )


if __name__ == "__main__":
    main()
