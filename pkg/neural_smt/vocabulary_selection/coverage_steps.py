"""How much of the reference the sets hold and how large they are (Tables 1 and 2 of Mi et al. 2016)."""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.io.files import read_yaml, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import parallel_lines
from neural_smt.io.tables import formatted, markdown, write_frame
from neural_smt.vocabulary import UNK, Encoder, encode_rows
from neural_smt.vocabulary_selection.building import Sources, collect_pieces, load_sources
from neural_smt.vocabulary_selection.candidates import PIECE, SIZES, CandidateSets

log = logging.getLogger(__name__)

TRAINING = "V^P + V^D + V^T + V^R"
"""The sets that a network is trained with."""

COLUMNS = (
    *("text", "parts", "top", "reference_words", "known", "covered", "coverage"),
    *("sentences", "complete_sentences", "sentence_size", "batch_size"),
)

PAPER = pd.DataFrame(
    read_yaml(Path(__file__).with_name("mi2016.yaml")),
    columns=["text", "parts", "top", "percentage", "sentence_size", "batch_size"],
)
"""The paper's figures, coverage in %; missing where it has none."""


def measure_candidates(
    *,
    texts: dict[str, list[str]],
    source_vocabulary: Path,
    target_vocabulary: Path,
    network_vocabulary: Path,
    lexical: Path,
    phrase_table: Path,
    settings: dict[str, Any],
    dictionary_sizes: list[int],
    batch: int,
    measured: int,
    training: str,
    seed: int,
    csv_output: Path,
    markdown_output: Path,
) -> None:
    """Measure how much of the reference the sets hold and how large they are (Tables 1 and 2 of Mi et al. 2016).

    texts: name -> its source and target file; training: the text whose sets are also measured with V^R;
    dictionary_sizes: sizes n of V^D, besides that of ``settings`` (sizes of ``vocabulary_selection``); batch: sentences
    whose sets are merged; measured: most sentences of a text, drawn at random. A word of the reference that the network
    does not know is not covered.
    """
    chosen = section_settings(SIZES, settings)
    sources = load_sources(source_vocabulary, target_vocabulary, network_vocabulary, lexical, phrase_table)
    sizes = sorted({*dictionary_sizes, chosen.dictionary})
    if min(batch, measured, *dictionary_sizes) < 1:
        asked = f"coverage of {dictionary_sizes} words of V^D, batches of {batch}, {measured} sentences"
        raise UserError(f"{asked}; give 1 or more of each")
    rows = []
    for name, (source, target) in texts.items():
        ids = draw_pairs(Path(source), Path(target), (sources.encode, sources.network.encode_words), measured, seed)
        for parts, top, coverage in measure_combinations(
            sources, chosen, sizes, *ids, batch, training=name == training
        ):
            rows.append({"text": name, "parts": parts, "top": "" if top is None else top, **coverage._asdict()})
            covered = 100 * coverage.covered / max(coverage.reference_words, 1)
            log.info("%s, %s (%s): %.2f %% of the reference", name, parts, top or "-", covered)
    write_coverage(csv_output, markdown_output, pd.DataFrame(rows), chosen.dictionary, batch)


def draw_pairs(
    source: Path, target: Path, encoders: tuple[Encoder, Encoder], count: int, seed: int
) -> tuple[Ragged, Ragged]:
    """The ids of at most ``count`` pairs of lines of two files, drawn at random and in random order."""
    sides = parallel_lines(source, target)
    rows = np.random.default_rng(seed).permutation(len(sides[0]))[:count]
    return encode_rows(encoders[0], sides[0], rows), encode_rows(encoders[1], sides[1], rows)


class Coverage(NamedTuple):
    """What sets hold of the reference, and their sizes, UNK and EOS counted.

    reference_words: running words of the reference; known: of these, words that the network knows; covered: of these,
    words in their sentence's set; complete_sentences: those with all their words covered; sentence_size, batch_size:
    mean number of ids of a sentence, and of the union of a batch.
    """

    reference_words: int
    known: int
    covered: int
    sentences: int
    complete_sentences: int
    sentence_size: float
    batch_size: float


def measure_pieces(pieces: Iterable[tuple[CandidateSets, Ragged]], batch: int) -> Coverage:
    """Compare sets with references (int32 network ids), piece by piece, in the order of the batches of ``batch``
    sentences; unknown words are not covered.

    Each piece but the last is of whole batches.
    """
    counts, unions = np.zeros(6, dtype=np.int64), []
    for sets, references in pieces:
        known, covered = references.values != UNK, sets.covered(references)
        complete = np.count_nonzero(covered == references.lengths)
        counts += [len(known), np.count_nonzero(known), covered.sum(), len(sets), complete, sets.sizes.sum()]
        rows = np.arange(len(sets))
        unions += [len(sets.union(rows[start : start + batch])) for start in range(0, len(rows), batch)]
    *counted, ids = counts.tolist()
    sentences = counted[3]
    return Coverage._make([*counted, ids / sentences if sentences else 0.0, float(np.mean(unions)) if unions else 0.0])


def combinations(settings: Settings, dictionary_sizes: list[int]) -> Iterator[tuple[str, int | None, Settings]]:
    """The columns of Table 1 of the paper: name of the parts, top n of V^D or None where there is no V^D, settings.

    dictionary_sizes: sizes n of V^D; the sizes of the other parts are those of ``settings``.
    """
    yield "V^P", None, settings.replace(dictionary=0, frequent=0)
    left_out = {"V^D": {"phrases": 0, "frequent": 0}, "V^P + V^D": {"frequent": 0}, "V^P + V^D + V^T": {}}
    for name, changes in left_out.items():
        for top in dictionary_sizes:
            yield name, top, settings.replace(dictionary=top, **changes)


def measure_combinations(
    sources: Sources,
    settings: Settings,
    dictionary_sizes: list[int],
    lines: Ragged,
    references: Ragged,
    batch: int,
    training: bool,
) -> Iterator[tuple[str, int | None, Coverage]]:
    """Coverage and sizes of a text with every combination, and for ``training`` of the sets with V^R besides.

    lines, references: source ids, as ``Sources.encode`` gives, and network ids of each pair of sentences, in the order
    of their batches of ``batch``, of which the last may be smaller. Sets are forgotten once they are counted.
    """
    size = max(PIECE // batch, 1) * batch
    starts = range(0, max(len(lines), 1), size)
    pieces = [(lines.part(start, start + size), references.part(start, start + size)) for start in starts]

    def measured(chosen: Settings, trained: bool = False) -> Coverage:
        texts = ((piece, own if trained else None) for piece, own in pieces)
        built = collect_pieces(sources, chosen, texts, {})
        return measure_pieces(zip(built, (own for _, own in pieces), strict=True), batch)

    for name, top, chosen in combinations(settings, dictionary_sizes):
        yield name, top, measured(chosen)
    if training:
        yield TRAINING, settings.dictionary, measured(settings, trained=True)


def write_coverage(csv_output: Path, markdown_output: Path, frame: pd.DataFrame, top: int, batch: int) -> None:
    """Write Tables 1 and 2 of the paper as CSV and Markdown, there with the paper's figures below ours.

    frame: columns text, parts, top (n of V^D, empty without it) and those of ``Coverage``; top: that of the sets whose
    sizes are shown; batch: sentences of a batch.
    """
    # of nothing, nothing is covered
    frame = frame.assign(
        coverage=(frame.covered / frame.reference_words).fillna(0.0),
        known_percentage=100 * (frame.known / frame.reference_words).fillna(0.0),
        complete=100 * (frame.complete_sentences / frame.sentences).fillna(0.0),
    )
    write_frame(csv_output, formatted(frame[list(COLUMNS)], {"coverage": ".6f", **dict.fromkeys(COLUMNS[-2:], ".2f")}))
    lines = [
        "# Target vocabularies of sentences",
        "",
        "Running words of the reference (%) that the network knows, and that the sets hold by the top n of V^D:",
        "",
        markdown(_coverage_table(frame)),
        "",
        f"Mean size of the sets with the top {top} of V^D, UNK and EOS counted:",
        "",
        markdown(_size_table(frame, top, batch)),
    ]
    write_lines(markdown_output, lines)


def _coverage_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Table 1: a row a text, a column a combination."""
    ours = frame[frame.parts != TRAINING].assign(top=pd.to_numeric(frame.top), percentage=100 * frame.coverage)
    both = pd.concat([ours, PAPER[PAPER.parts != TRAINING]])
    both["label"] = both.parts + both.top.map(" ({:.0f})".format, na_action="ignore").fillna("")
    cells = both.pivot(index="text", columns="label", values="percentage")
    cells = cells.reindex(index=both.text.unique(), columns=both.label[: len(ours)].unique())
    cells.insert(0, "known", frame.drop_duplicates("text").set_index("text").known_percentage)
    return formatted(cells, dict.fromkeys(cells.columns, ".1f")).reset_index(names="")


def _size_table(frame: pd.DataFrame, top: int, batch: int) -> pd.DataFrame:
    """Table 2: sizes with V^D of the top n, and with V^R where a network trains on the text."""
    shown = frame[frame.parts.isin(["V^P + V^D + V^T", TRAINING]) & (frame.top == top)]
    both = pd.concat([shown.assign(text=shown.text + ", " + shown.parts), PAPER[PAPER.sentence_size.notna()]])
    formats = {"text": "", "sentence_size": ".0f", "batch_size": ".0f", "complete": ".1f"}
    headings = ["", "sentence", f"batch of {batch}", "complete references (%)"]
    return formatted(both[list(formats)], formats).set_axis(headings, axis=1)
