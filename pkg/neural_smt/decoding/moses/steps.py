"""Translating with a model of Moses, and writing a system as one."""

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal

from neural_smt.decoding.features import UNKNOWN_WORD
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.moses.compiled import AUTO, load_model
from neural_smt.decoding.moses.export import write_moses_folder
from neural_smt.decoding.moses.ini import MosesIni, read_moses_ini
from neural_smt.decoding.moses.streams import open_output, read_batches
from neural_smt.decoding.nbest import nbest_lines
from neural_smt.decoding.search import Decoder, SearchSettings, Translation
from neural_smt.decoding.weights import Weights
from neural_smt.errors import UserError
from neural_smt.settings import read_settings

log = logging.getLogger(__name__)

BATCH = 256
"""Sentences searched at once when so many are waiting."""


def decode_moses(
    *,
    moses_ini: Path,
    input: Path | None = None,
    output: Path | None = None,
    nbest: list[str] | None = None,
    alignment: Path | None = None,
    algorithm: Literal["stack", "cube"] | None = None,
    stack_size: int | None = None,
    beam_threshold: float | None = None,
    distortion_limit: int | None = None,
    table_limit: int | None = None,
    pop_limit: int | None = None,
    compiled: str = AUTO,
    threads: int | None = None,
) -> None:
    """Translate text with a model of Moses, one tokenised sentence a line.

    Reads the moses.ini with its text tables and ARPA models; where it would have an effect that this decoder does not
    have, it says so and stops. Translations come in the order of the input and while the input still comes.

    input, output: files (default and ``-``: standard input and output); nbest: FILE SIZE [distinct]; alignment: word
    alignments as Moses writes them. algorithm, stack_size, beam_threshold, distortion_limit (-1: none), table_limit,
    pop_limit and threads override the ini. compiled: folder of the model's compiled form, made at the first start;
    ``auto`` is beside the ini or in the user's cache, ``off`` does without.
    """
    listing = _parse_listing(nbest)
    _check_outputs([output, listing and listing.path, alignment])
    ini = read_moses_ini(moses_ini)
    model = load_model(ini, compiled)
    chosen = {
        "algorithm": algorithm,
        "stack_size": stack_size,
        "beam_threshold": beam_threshold,
        "distortion_limit": distortion_limit,
        "table_limit": table_limit,
        "pop_limit": pop_limit,
    }
    settings = replace(ini.settings, **{name: value for name, value in chosen.items() if value is not None})
    decoder = Decoder(model, settings, ini.weights, _threads(threads, ini))
    with ExitStack() as stack:
        outputs = Outputs(
            translations=stack.enter_context(open_output(output)),
            nbest=stack.enter_context(open_output(listing.path)) if listing else None,
            alignment=stack.enter_context(open_output(alignment)) if alignment else None,
        )
        _run(decoder, read_batches(input, BATCH), outputs, listing, _shown(ini, decoder))


def export_moses(
    *,
    phrase_table: Path,
    language_models: list[Path],
    arpas: list[Path],
    source_vocabulary: Path,
    target_vocabulary: Path,
    columns: dict[str, str],
    features: list[str],
    weights: Path,
    settings: dict,
    output: Path,
) -> None:
    """Write a tuned system as a folder that Moses loads: phrase and reordering table, ARPA models and moses.ini.

    arpas: the language models as text, in the order of language_models; columns: group -> score column, which follow
    the scores of the phrase table; features: feature groups of the system; settings: see ``SearchSettings``. Paths in
    the ini are relative to the folder, so start Moses there (``decode --moses-ini`` finds them from anywhere).
    """
    if len(arpas) != len(language_models):
        raise UserError(f"{len(language_models)} language models but {len(arpas)} ARPA files; give one for each")
    model = TranslationModel.load(
        phrase_table=phrase_table,
        language_models=language_models,
        columns={group: Path(path) for group, path in columns.items()},
        source_vocabulary=source_vocabulary,
        target_vocabulary=target_vocabulary,
        features=features,
    )
    write_moses_folder(output, model, arpas, Weights.load(weights), read_settings(SearchSettings, settings, "decoding"))


@dataclass(frozen=True)
class Listing:
    """What n-best lists are wanted."""

    path: Path
    size: int
    distinct: bool


@dataclass(frozen=True)
class Outputs:
    """Open streams; None for what is not wanted."""

    translations: IO[str]
    nbest: IO[str] | None
    alignment: IO[str] | None


def _parse_listing(nbest: list[str] | None) -> Listing | None:
    if nbest is None:
        return None
    if not (2 <= len(nbest) <= 3 and nbest[1].isdecimal() and int(nbest[1]) > 0 and nbest[2:] in ([], ["distinct"])):
        raise UserError(f"--nbest takes FILE SIZE [distinct], not '{' '.join(nbest)}'; correct the option")
    return Listing(Path(nbest[0]), int(nbest[1]), len(nbest) == 3)


def _check_outputs(paths: list[Path | None]) -> None:
    """``UserError`` when two outputs would go to one file, or two to standard output."""
    names = [str(path or "-") for path in [paths[0], *filter(None, paths[1:])]]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two outputs go to {'standard output' if name == '-' else name}; name another file")


def _threads(given: int | None, ini: MosesIni) -> int:
    threads = given if given is not None else ini.threads or 1
    if threads < 1:
        raise UserError(f"--threads must be at least 1, not {threads}")
    return threads


def _shown(ini: MosesIni, decoder: Decoder) -> dict[str, slice]:
    """The features of n-best lists under their names in the ini; Moses lists those that can be tuned."""
    slices = decoder.feature_set.slices
    return {own: slices[name] for name, own in ini.names.items() if name != UNKNOWN_WORD}


def _run(
    decoder: Decoder, batches: Iterator[list[str]], outputs: Outputs, listing: Listing | None, shown: dict[str, slice]
) -> None:
    done, seconds = 0, 0.0
    for lines in batches:
        began = time.perf_counter()
        sentences = [line.split() for line in lines]
        translations = decoder.decode(sentences, listing.size if listing else 0, listing is None or listing.distinct)
        seconds += time.perf_counter() - began
        _write(outputs.translations, (" ".join(t.tokens) for t in translations))
        if outputs.nbest:
            _write(outputs.nbest, nbest_lines(translations, shown, done))
        if outputs.alignment:
            _write(outputs.alignment, map(_alignment, translations))
        done += len(lines)
    log.info("translated %d sentences in %.1f s", done, seconds)


def _write(stream: IO[str], lines: Iterator[str]) -> None:
    stream.write("".join(f"{line}\n" for line in lines))
    stream.flush()


def _alignment(translation: Translation) -> str:
    """Links as Moses writes them: phrase by phrase of the translation, a blank after each."""
    phrase_of = [i for i, (_, _, start, stop) in enumerate(translation.segmentation) for _ in range(start, stop)]
    links = sorted(translation.alignment, key=lambda link: (phrase_of[link[1]], link))
    return "".join(f"{i}-{j} " for i, j in links)
