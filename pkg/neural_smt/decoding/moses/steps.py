"""Translating with a model of Moses, and writing a system as one."""

import logging
import math
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from jinja2 import Environment, StrictUndefined

from neural_smt.decoding.features import REORDERING, UNKNOWN_WORD, Weights
from neural_smt.decoding.lattices.lattice import prune
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.moses.compiled import AUTO, load_model
from neural_smt.decoding.moses.ini import ALGORITHMS, TRANSLATION, MosesIni, read_moses_ini
from neural_smt.decoding.moses.outputs import Listing, Outputs
from neural_smt.decoding.oracles import oracle_rows, write_oracles
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.errors import UserError
from neural_smt.experiment.system_folder import System
from neural_smt.io.files import atomic, read_parallel
from neural_smt.io.streams import read_batches
from neural_smt.phrases.moses_format import write_moses
from neural_smt.phrases.table import LOG_FLOOR, PhraseTable

log = logging.getLogger(__name__)

BATCH = 256
"""Sentences searched at once when so many are waiting."""

LATTICE_BATCH = 32
"""The same when their lattices are kept until they are written."""

INI_NAME = "moses.ini"
"""Also the name of its template, which lies beside this module."""

PHRASE_TABLE_NAME = "phrase-table.gz"
REORDERING_TABLE_NAME = "reordering-table.wbe-msd-bidirectional-fe.gz"


def decode_moses(
    *,
    moses_ini: Path,
    input: Path | None = None,
    output: Path | None = None,
    nbest: list[str] | None = None,
    alignment: Path | None = None,
    lattice: Path | None = None,
    lattice_format: Literal["osg", "osgx", "slf"] = "osg",
    algorithm: Literal["stack", "cube"] | None = None,
    stack_size: int | None = None,
    beam_threshold: float | None = None,
    distortion_limit: int | None = None,
    table_limit: int | None = None,
    pop_limit: int | None = None,
    compiled: str = AUTO,
    compact: bool = False,
    threads: int | None = None,
) -> None:
    """Translate text with a model of Moses, one tokenised sentence a line.

    Reads the moses.ini with its text tables and ARPA models; where it would have an effect that this decoder does not
    have, it says so and stops. Translations are written in the order of the input, as soon as each batch is done.

    input, output: files (default and ``-``: standard input and output); nbest: FILE SIZE [distinct]; alignment: word
    alignments as Moses writes them; lattice: search graphs in the format of Moses (osg, or osgx with feature values),
    or a new folder of lattices in the format of HTK (slf). The options algorithm, stack_size, beam_threshold,
    distortion_limit (-1: none), table_limit, pop_limit and threads override the ini. compiled: folder of the model's
    compiled form, made at the first start; ``auto`` is beside the ini or in the user's cache, ``off`` does without.
    compact: a form of a quarter of the size, with scores rounded to 256 values each.
    """
    outputs = Outputs(output, Listing.parse(nbest), alignment, lattice, lattice_format)
    ini = read_moses_ini(moses_ini)
    changes = {"algorithm": algorithm, "stack_size": stack_size, "beam_threshold": beam_threshold}
    changes |= {"distortion_limit": distortion_limit, "table_limit": table_limit, "pop_limit": pop_limit}
    decoder = _decoder(ini, load_model(ini, compiled, compact), threads, **changes)
    done, seconds = 0, 0.0
    slices = decoder.feature_set.slices
    # Moses lists the features that can be tuned
    shown = {own: slices[name] for name, own in ini.names.items() if name != UNKNOWN_WORD}
    with outputs.open(shown) as write:
        for lines in read_batches(input, LATTICE_BATCH if lattice else BATCH):
            began = time.perf_counter()
            translations, lattices = outputs.decode(decoder, list(map(_tokens, lines)))
            seconds += time.perf_counter() - began
            write(done, translations, lattices)
            done += len(lines)
    log.info("translated %d sentences in %.1f s", done, seconds)


def _tokens(line: str) -> list[str]:
    """The words of a line, between spaces and tabs alone, as in Moses' tables: a no-break space is part of a word."""
    return [word for word in line.replace("\t", " ").split(" ") if word]


def oracle_moses(
    *,
    moses_ini: Path,
    source: Path,
    reference: Path,
    output: Path,
    nbest_sizes: Sequence[int] = (100, 1000),
    density: float = math.inf,
    compiled: str = AUTO,
    threads: int | None = None,
) -> None:
    """Measure the best translations that n-best lists and lattices of a model of Moses hold.

    source, reference: tokenised text, one sentence a line. Writes a CSV table: BLEU (of tokens, 0 to 100) of the
    entries or derivations closest to the reference, chosen sentence by sentence and for the corpus, for each of
    ``nbest_sizes`` and for the lattices, pruned to ``density`` arcs per word of the best translation.
    """
    sources, references = (list(map(_tokens, lines)) for lines in read_parallel(source, reference))
    if not sources:
        raise UserError(f"{source}: empty; give at least one sentence")
    if min(nbest_sizes, default=1) < 1 or not density > 0:
        raise UserError("--nbest-sizes must be at least 1 and --density above 0; correct the option")
    ini = read_moses_ini(moses_ini)
    decoder = _decoder(ini, load_model(ini, compiled), threads)
    began = time.perf_counter()
    lattices = decoder.lattices(sources)
    whole = smaller = AlignedLattices.of(lattices, decoder)
    if not math.isinf(density):
        smaller = AlignedLattices.of([lattice and prune(lattice, density=density) for lattice in lattices], decoder)
    rows = oracle_rows(smaller, references, nbest_sizes, whole, time.perf_counter() - began)
    write_oracles(output, rows)


def _decoder(ini: MosesIni, model: TranslationModel, threads: int | None, **changes: str | float | None) -> Decoder:
    """The decoder of an ini and its model; threads, changes: of its settings, None for those that stay."""
    threads = threads if threads is not None else ini.threads or 1
    if threads < 1:
        raise UserError(f"--threads must be at least 1, not {threads}; correct it")
    chosen = ini.settings.as_dict() | {name: value for name, value in changes.items() if value is not None}
    return Decoder(model, SearchSettings(**chosen), ini.weights, threads)


def export_moses(*, system: Path, weights: Path, arpas: list[Path], output: Path) -> None:
    """Write a tuned system as a folder that Moses loads: phrase and reordering table, ARPA models and moses.ini.

    system: a searched one, see ``system_folder``; weights: its tuned ones; arpas: its language models as text, in the
    same order. Score columns follow the scores of the phrase table, as probabilities, and so do their weights; no
    probability counts less than e^-100 in Moses, so a column's lower scores are raised to that. Paths in the ini are
    relative to the folder, so start Moses there (``decode --moses-ini`` finds them from anywhere).
    """
    made_of = System.load(system)
    if network := made_of.content.get("network"):
        raise UserError(f"Moses cannot load the feature {network['kind']} of this system; export one without it")
    model = TranslationModel.load(made_of)
    table = model.phrase_table
    if not isinstance(table, PhraseTable):
        raise UserError(f"{made_of.file}: its phrase table is compact; export the experiment's own system")
    if len(arpas) != len(model.language_models):
        raise UserError(f"{len(model.language_models)} language models but {len(arpas)} ARPA files; give one for each")
    settings = SearchSettings(**made_of.search)
    vector = Weights.load(weights).vector(model.feature_set)
    _check_words(model, table)
    for name, column in model.columns.items():
        low = int(np.count_nonzero(column < LOG_FLOOR))
        if low:
            log.warning("%d scores of %s are below %g, which Moses does not go below", low, name, LOG_FLOOR)
    positions = {name: list(range(part.start, part.stop)) for name, part in model.feature_set.slices.items()}
    for name in model.columns:
        positions[TRANSLATION] += positions.pop(name)
    names = [f"lm{number}.arpa{'.gz' if path.suffix == '.gz' else ''}" for number, path in enumerate(arpas)]
    ini = Environment(undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True).from_string(
        Path(__file__).with_name(INI_NAME).read_text(encoding="utf-8")
    )
    with atomic(output, directory=True) as temporary:
        reordering = temporary / REORDERING_TABLE_NAME if REORDERING in model.feature_set else None
        vocabularies = model.source_vocabulary, model.target_vocabulary
        write_moses(table, vocabularies, temporary / PHRASE_TABLE_NAME, reordering, model.columns)
        for name, path in zip(names, arpas, strict=True):
            try:
                shutil.copyfile(path, temporary / name)
            except OSError as error:
                raise UserError(f"{error.filename}: cannot be copied ({error.strerror})") from None
        text = ini.render(
            algorithm=next(number for number, name in ALGORITHMS.items() if name == settings.algorithm),
            search=settings,
            phrase_table=PHRASE_TABLE_NAME,
            reordering_table=reordering and reordering.name,
            language_models=[(name, lm.order) for name, lm in zip(names, model.language_models, strict=True)],
            weights={name: vector[own].tolist() for name, own in positions.items()},
        )
        (temporary / INI_NAME).write_text(text, encoding="utf-8")


def _check_words(model: TranslationModel, table: PhraseTable) -> None:
    """``UserError`` for a word of the phrase table that would fall apart in Moses' files."""
    for vocabulary, phrases in ((model.source_vocabulary, table.source), (model.target_vocabulary, table.target)):
        for number in np.unique(phrases.values).tolist():
            word = vocabulary.words[number]
            if "|" in word:
                raise UserError(
                    f"the phrase table has the word {word!r}, but Moses takes | for a separator; "
                    "write &#124; for it in the tokenised text"
                )
