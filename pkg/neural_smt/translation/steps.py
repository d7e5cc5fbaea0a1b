"""The verbs ``translate``, ``serve``, ``pack`` and ``inspect``."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from neural_smt.decoding.model import write_compact
from neural_smt.errors import UserError, required
from neural_smt.experiment.system_folder import System, pack_system
from neural_smt.io.streams import STANDARD, open_output, read_batches, stream_lines, write_batch
from neural_smt.io.tables import write_rows
from neural_smt.translation.experiment import open_system
from neural_smt.translation.server import HOST, Server, Service
from neural_smt.translation.text import TextTranslator, sentence_lines
from neural_smt.translation.translators import check_inputs, load_translator
from neural_smt.vocabulary_selection.steps import HEADER, explain, reason_rows, text_lines

log = logging.getLogger(__name__)


def translate(
    *,
    experiment: str,
    files: Sequence[Path] = (),
    system: str | None = None,
    run: int | None = None,
    nbest: int = 0,
    alignment: bool = False,
    explain: bool = False,
    output: Literal["text", "json"] = "text",
    settings: Sequence[Path] = (),
    directory: Path = Path(),
    tokenised: bool = False,
    device: Literal["auto", "cpu", "cuda"] | None = None,
    threads: int = 1,
) -> None:
    """Translate text with a tuned system of an experiment whose results are there, or with the folder of a system.

    experiment: its configuration file, its name, or the folder of a system; files: raw text, one sentence a line
    (standard input without any, or for -; .gz is unpacked). Translations come in the order of the text, and while it
    still comes. system: the row of the table that translates, which an experiment needs; run: which of its tunings, the
    first if not given. nbest: so many translations of each line, in the format of Moses' lists; alignment: the
    positions of linked words after each; explain: the phrases used with each feature's share of the score, or, of an
    attention network, the source word that each word looked at and what brought it into the vocabulary of the sentence;
    output: text, or JSON, a line for each line. settings: further configuration files, as Snakemake took them after the
    experiment; directory: where Snakemake ran; tokenised: the words of the text are split already; device: that of the
    configuration if not given (for the folder of a system a GPU where there is one); threads: of the search.
    """
    if nbest and explain and output == "text":
        raise UserError("--nbest and --explain: lists are explained as JSON; add --output json or leave one out")
    chosen = open_system(experiment, system, run, settings, directory)
    text = load_text_translator(chosen, tokenised, device, threads)
    shown: dict[str, Any] = {"nbest": nbest, "alignment": alignment, "explain": explain, "output": output}
    done, seconds = 0, 0.0
    with ExitStack() as stack:
        stream = open_output(None, stack)
        for lines in chain.from_iterable(read_batches(path, text.translator.batch) for path in files or [STANDARD]):
            began = time.perf_counter()
            found = text.translate(lines, max(1, nbest), explain)
            seconds += time.perf_counter() - began
            numbered = enumerate(found, start=done)
            write_batch(stream, (line for n, s in numbered for line in sentence_lines(n, s, text.translator, **shown)))
            done += len(lines)
    log.info("translated %d lines in %.1f s", done, seconds)


def load_text_translator(system: System, tokenised: bool, device: str | None, threads: int) -> TextTranslator:
    """A system for text; arguments as of ``translate``."""
    chain = [system, system.base] if "base" in system.content else [system]
    if device == "cuda" and not any(one.content.get("network") for one in chain):
        log.warning("--device cuda: system '%s' has no network, and translates on the CPU", system["name"])
    translator = load_translator(system, system["run"], device or system.content.get("device", "auto"), threads)
    log.info("%s, system %s, run %d: ready", system["experiment"], system["name"], system["run"])
    return TextTranslator(translator, system["languages"]["source"], system["languages"]["target"], tokenised)


def serve(
    *,
    experiment: str,
    system: str | None = None,
    run: int | None = None,
    port: int = 8000,
    settings: Sequence[Path] = (),
    directory: Path = Path(),
    device: Literal["auto", "cpu", "cuda"] | None = None,
    threads: int = 1,
) -> None:
    """Serve a tuned system as a web page on this machine (127.0.0.1), until interrupted.

    The page draws the alignment of phrases, or what each word looked at, and what the score is made of. Behind it:
    POST /api/translate with JSON, {"text": ..., "nbest": ...}; GET /api/system. port: 0 takes a free one. Other
    arguments as of translate. Nothing but this machine can reach it; requests have limits of length, rate and number.
    """
    if not 0 <= port < 1 << 16:
        raise UserError(f"--port {port}: take a number from 0 to 65535")
    chosen = open_system(experiment, system, run, settings, directory)
    text = load_text_translator(chosen, False, device, threads)
    about = {key: chosen[key] for key in ("experiment", "label", "run")} | {"system": chosen["name"]}
    about |= {"source": text.source, "target": text.target}
    text.translate(["."])  # compiled code is loaded before anybody waits
    server = Server(Service(text, about), port)
    print(f"http://{HOST}:{server.port}/", flush=True)
    asyncio.run(server.serve())


def pack(
    *,
    experiment: str,
    folder: Path,
    system: str | None = None,
    run: int | None = None,
    settings: Sequence[Path] = (),
    directory: Path = Path(),
    compact: bool = False,
) -> None:
    """Copy a tuned system with all that it is made of into a folder that translates on another machine.

    ``neural-smt translate FOLDER`` and ``serve FOLDER`` need neither the experiment nor a checkout, only the installed
    package. folder: must not exist yet; run: whose weights are taken; compact: whether the phrase table and its columns
    become a table of a quarter of their size, with scores rounded to 256 values each. Other arguments as of translate.
    """
    chosen = open_system(experiment, system, run, settings, directory)
    check_inputs(chosen)
    pack_system(chosen, folder, write_compact if compact else None)
    log.info("%s: system %s with the weights of run %d", folder, chosen["name"], chosen["run"])


def inspect(
    *,
    experiment: str,
    source: Path,
    line: int,
    system: str | None = None,
    run: int | None = None,
    settings: Sequence[Path] = (),
    directory: Path = Path(),
    reference: Path | None = None,
    everything: bool = False,
    output: Path | None = None,
) -> None:
    """Show which target words a sentence may be translated with, and what brought each: source word, phrase, rank.

    source: tokenised text; line: number of the sentence, from 1; system: one with a network that takes vocabularies of
    sentences; reference: the translations, for V^R; everything: also words of V^T that nothing else brought; output: a
    CSV file (on the terminal without it). Other arguments as of translate.
    """
    chosen = open_system(experiment, system, run, settings, directory)
    if not (chosen.content.get("network") or {}).get("candidates"):
        raise UserError(f"system '{chosen['name']}' takes all words of the target language; name another with --system")
    from neural_smt.translation.attention import SetMaker  # loads PyTorch

    maker = required(SetMaker.load(chosen["network"]))
    texts = text_lines(source, reference)
    if not 1 <= line <= len(texts[0]):
        raise UserError(f"{source}: no line {line}; name one of 1 to {len(texts[0])}")
    sentence, *translation = (next(stream_lines(text.path, range(line - 1, line))) for text in texts if text)
    reasons = explain(maker.sources, maker.settings, sentence, *translation)
    frequent = {number for number, why in reasons.items() if not (why.dictionary or why.phrases or why.reference)}
    shown = {number: why for number, why in reasons.items() if everything or number not in frequent}
    rows = reason_rows(maker.sources, shown)
    if output is not None:
        write_rows(output, HEADER, rows)
        return
    print("\n".join("\t".join(cells) for cells in (HEADER, *rows)))
    print(f"{len(reasons)} words; {len(reasons) - len(shown)} of V^T alone are not shown")
