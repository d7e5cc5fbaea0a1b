"""The steps of the corpus stage, as rules and the command line call them.

Many of their jobs take less than a second, so each step loads what it alone needs (sacremoses, pandas, word lists).
"""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError, check_as_many, required
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.io.files import atomic, open_text, write_lines
from neural_smt.io.streams import count_lines, stream_lines, stream_parallel, stream_texts, write_pairs
from neural_smt.shards import Shard
from neural_smt.vocabulary import RESERVED, Vocabulary

log = logging.getLogger(__name__)

REASONS = ("empty", "too_long", "ratio")
"""Why a pair is dropped; the first that holds is the one counted."""


def fetch(*, side: dict[str, Any], mirror: str | None, output: Path) -> None:
    """Fetch one published text file, check its SHA-256, and keep it gzipped.

    ``side``: ``url`` (http, https, ftp) or ``path``, with optional ``sha256`` of the file as published, ``mirror_path``
    and ``unescape`` (whether to resolve character references). ``mirror`` (a folder or a base URL) is tried first, a
    relative ``path`` next, the URL last.
    Where a URL has no ``sha256``, that of the first download is kept in ``<output>.sha256`` and holds from then on.
    """
    from neural_smt.corpus import fetching

    keep = partial(fetching.keep_text, unescape=side.get("unescape", False))
    fetching.obtain(side, mirror, Path(output), keep)


def fetch_archive(*, side: dict[str, Any], mirror: str | None, output: Path) -> None:
    """Fetch one published archive (tar, also gzipped or compressed with bzip2 or xz, or zip) and keep it as it is.

    Declared and checked as the text of ``fetch``, and read to its end once, so that a damaged one is noticed here.
    """
    from neural_smt.corpus import fetching

    fetching.obtain(side, mirror, Path(output), fetching.keep_archive)


def extract_member(*, archive: Path, member: str, output: Path, unescape: bool = False) -> None:
    """Write one text of an archive to ``output`` (``.gz``); of SGML (``.sgm``) and XML the segments, one a line.

    ``member`` is its path inside the archive; unescape: resolve character references such as ``&amp;``. ``UserError``
    when it leaves its folder, is missing, or is a link, a folder or a device.
    """
    from neural_smt.corpus import archives

    with closing(archives.member_pieces(archive, member)) as pieces:
        archives.store_text(pieces, f"{archive}, {member}", Path(output), unescape)


def join_texts(*, texts: list[Path], output: Path) -> None:
    """Write texts one after the other to ``output`` (``.gz``): several test sets as one."""
    write_lines(output, stream_texts(texts))


def generate(*, settings: dict[str, Any], seed: int, output: Path, threads: int = 1) -> None:
    """Generate the synthetic corpus: raw text of both languages and the gold word alignment of every part.

    Writes ``{part}.en.gz``, ``{part}.fr.gz`` and ``{part}.align`` (Pharaoh, over the tokenised text) for the parts
    train, in_domain, dev, test, gold and monolingual into the folder ``output``.
    """
    from neural_smt.corpus import generation

    with atomic(Path(output), directory=True) as folder:
        corpus = generation.generate_corpus(settings, seed, threads)
        for name, blocks in groupby(corpus, key=itemgetter(0)):
            paths = [folder / f"{name}.{suffix}" for suffix in ("en.gz", "fr.gz", "align")]
            pairs = 0
            with ExitStack() as stack:
                streams = [stack.enter_context(open_text(path, "w")) for path in paths]
                for _, part in blocks:
                    for stream, lines in zip(streams, (part.source, part.target, part.alignment), strict=True):
                        stream.writelines(f"{line}\n" for line in lines)
                    pairs += len(part.source)
            log.info("%s: %d generated pairs", name, pairs)


def tokenise(
    *, text: Path, language: str, output: Path, tokenised: bool = False, shard: str | None = None, threads: int = 1
) -> None:
    """Normalise and tokenise a text, line for line.

    Unicode NFC, Moses' punctuation normaliser and tokeniser with escapes; with ``tokenised`` the tokens are kept
    and only NFC and consistent escapes applied. shard: the share of the lines that is written, as ``2-of-4``.
    """
    from neural_smt.corpus import tokenisation

    part = Shard.parse(shard)
    lines = stream_lines(text, part.range(count_lines(text)) if part.count > 1 else None)
    tokens = map(tokenisation.accept_tokens, lines)
    write_lines(output, tokens if tokenised else tokenisation.tokenise_lines(lines, language, threads))


def clean(
    *,
    names: list[str],
    sources: list[Path],
    source_output: Path,
    table: Path,
    settings: dict[str, Any],
    targets: Sequence[Path] = (),
    target_output: Path | None = None,
) -> None:
    """Join tokenised corpora, dropping pairs that are empty, too long or of very unequal length (``corpus.cleaning``).

    ``sources``, ``targets``: the files of each corpus, one after the other, where shards tokenised it as many of each;
    without ``targets`` these are sentences of one language. ``table``: CSV, one row per corpus: source, pairs, kept,
    empty, too_long, ratio. ``UserError`` when the two sides of a corpus differ in line count or nothing of it is left.
    """
    from neural_smt.io.tables import write_rows

    sides = {"sources": sources} | ({"targets": targets} if targets else {})
    check_as_many(**sides)
    count = len(sources) // max(len(names), 1)
    if len(sources) != count * len(names):
        check_as_many(names=names, **sides)
    files = list(zip(*sides.values(), strict=True))
    limits = section_settings("corpus.cleaning", settings)
    rows: list[list[Any]] = []
    kept = chain.from_iterable(
        _clean(name, files[number * count : (number + 1) * count], limits, rows) for number, name in enumerate(names)
    )
    if targets:
        write_pairs(source_output, required(target_output), kept)
    else:
        write_lines(source_output, (line for (line,) in kept))
    write_rows(table, ["source", "pairs", "kept", *REASONS], rows)


def _clean(
    name: str, files: list[tuple[Path, ...]], limits: Settings, rows: list[list[Any]]
) -> Iterator[tuple[str, ...]]:
    """Yield what is kept of a corpus; its row of the table comes after the last pair."""
    counts: Counter[str] = Counter()
    for sides in files:
        for pair in stream_parallel(*sides) if len(sides) == 2 else zip(stream_lines(sides[0])):
            lengths = [len(side.split()) for side in pair]
            if min(lengths) == 0:
                reason = "empty"
            elif max(lengths) > limits.max_length:
                reason = "too_long"
            else:
                reason = "ratio" if max(lengths) > limits.max_ratio * min(lengths) else "kept"
            counts[reason] += 1
            if reason == "kept":
                yield pair
    rows.append([name, counts.total(), counts["kept"], *(counts[reason] for reason in REASONS)])
    if not counts["kept"]:
        raise UserError(
            f"{name}: none of the {counts.total()} lines of {files[0][0]} is left after cleaning; "
            "check the file and the limits max_length and max_ratio"
        )
    log.info("%s: %d of %d lines kept", name, counts["kept"], counts.total())


def build_vocabulary(*, texts: list[Path], output: Path) -> None:
    """Number the words of tokenised texts by falling count: one vocabulary per language."""
    vocabulary = Vocabulary.from_sentences(stream_texts(texts))
    if len(vocabulary) == len(RESERVED):
        raise UserError(
            f"{', '.join(map(str, texts))}: no words to make a vocabulary of; give a text that is not empty"
        )
    vocabulary.save(output)
    log.info("%s: %d words", output, len(vocabulary))


def split(
    *,
    source: Path,
    target: Path,
    source_language: str,
    target_language: str,
    output: Path,
    dev: Sequence[Path] = (),
    test: Sequence[Path] = (),
    dev_size: int | None = None,
    test_size: int | None = None,
    seed: int = 1,
) -> None:
    """Split parallel text into training, development and test text that have nothing in common.

    Writes ``train.<language>.gz``, ``dev.<language>``, ``test.<language>`` and ``split.csv`` (text, pairs) into the new
    folder ``output``. No pair of dev or test, nor a side of more than three words, is in another of the three (by its
    words alone, whatever their case and punctuation). dev, test: source and target side of sets that are there
    already, which are taken as they are; their pairs leave the training text. dev_size, test_size: pairs to be drawn
    with ``seed`` (1,000 each, or a twentieth of a small corpus). ``UserError`` for faulty or too little text.
    """
    from neural_smt.corpus import splitting

    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise UserError(f"{output}: is there already; name a new folder")
    survey = splitting.survey_corpus(source, target)
    parts = splitting.split_corpus(survey, {"dev": dev, "test": test}, dev_size, test_size, seed)
    with atomic(output, directory=True) as folder:
        parts.write(folder, (source_language, target_language))
