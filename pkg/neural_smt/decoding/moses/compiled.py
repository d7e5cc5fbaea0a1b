"""The model that a ``moses.ini`` names: read from its text files, and kept in a compiled form that starts at once.

The compiled form is a folder of arrays that are mapped into memory. It is used as long as the text files are those it
was made from, and made anew otherwise. A compact one takes a quarter of the room, with scores rounded. Any number of
processes may do so at once: each writes a folder of its own and then gives it its name, and a reader notices when the
folder changed while it was being read.
"""

import hashlib
import logging
import uuid
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from neural_smt.decoding.features import build_feature_set
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.moses.ini import MosesIni
from neural_smt.errors import UserError
from neural_smt.io.files import atomic, digest_file, read_json, write_json
from neural_smt.jit import user_cache
from neural_smt.language_model.arpa import arpa_model, read_arpa
from neural_smt.language_model.model import NgramModel
from neural_smt.phrases.compact import CompactTable, Table, open_table
from neural_smt.phrases.moses_format import read_moses_text
from neural_smt.phrases.table import SIDES, PhraseTable
from neural_smt.vocabulary import Vocabulary
from neural_smt.workflow.code_digest import code_digest

log = logging.getLogger(__name__)

META = "compiled_model.json"
KIND = "compiled Moses model"
MAKERS = (read_moses_text, PhraseTable, CompactTable, arpa_model, NgramModel)
"""What, with this module, decides what the folder holds."""

AUTO, OFF = "auto", "off"


Source = dict[str, Any]
"""A file as it was when read: path (absolute), size (bytes), changed (its time of change, ns), and sha256 (hex)."""


def _look_at(path: Path) -> Source:
    """The file as it is now, without a digest of its contents."""
    try:
        found = Path(path).stat()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); correct the path") from None
    return {"path": str(Path(path).resolve()), "size": found.st_size, "changed": found.st_mtime_ns}


def _read_digest(source: Source) -> Source:
    """This source with the digest of its contents; ``UserError`` when they have changed since it was looked at."""
    digest = digest_file(source["path"])
    if _look_at(source["path"]) != source:
        raise UserError(f"{source['path']}: changed while it was being read; start again when it is complete")
    return source | {"sha256": digest}


def load_model(ini: MosesIni, compiled: str = AUTO, compact: bool = False) -> TranslationModel:
    """The model of a ``moses.ini``, through its compiled form.

    compiled: the folder of that form, ``off`` for none, or ``auto``: ``<ini>.compiled`` beside the ini or, where that
    cannot be written, a folder of the user's cache (XDG_CACHE_HOME); compact: whether scores are codes of 8 bits, those
    of the n-grams too, and phrases differences (``<ini>.compact``).
    """
    if compiled == OFF:
        model = read_text_model(ini, compact)
    else:
        places = default_folders(ini.path, compact) if compiled == AUTO else [Path(compiled)]
        model = _load_first(places, ini, compact) or _build(places, ini, compact)
    longest = min(ini.max_phrase_length, model.phrase_table.max_length)
    return replace(model, phrase_table=replace(model.phrase_table, max_length=longest))


def default_folders(ini: Path, compact: bool = False) -> list[Path]:
    """Where the compiled form of an ini may lie, the best place first."""
    ini = Path(ini).resolve()
    name = f"{ini.name}.{'compact' if compact else 'compiled'}"
    folders = [ini.parent / name]
    with suppress(RuntimeError):  # there may be no home
        folders.append(user_cache() / "moses" / f"{hashlib.sha256(str(ini).encode()).hexdigest()[:16]}.{name}")
    return folders


def _sources(ini: MosesIni) -> list[Source]:
    return [_look_at(path) for path in (ini.phrase_table, ini.reordering_table, *ini.language_models) if path]


def _expected(compact: bool) -> dict[str, Any]:
    """What the folder must have been made with, besides the sources."""
    code = Path(__file__).read_bytes() + code_digest(*(maker.__module__ for maker in MAKERS)).encode()
    return {"kind": KIND, "compact": compact, "code": hashlib.sha256(code).hexdigest()}


def _load_first(places: list[Path], ini: MosesIni, compact: bool) -> TranslationModel | None:
    """The model from the first place that holds a good compiled form; None when none does."""
    sources = _sources(ini)
    for folder in places:
        try:
            if not (folder / META).is_file():
                continue
            meta = read_json(folder / META)
            recorded = _renewed(meta["sources"], sources)
            if any(meta.get(key) != value for key, value in _expected(compact).items()) or not recorded:
                continue
            if _files(folder) != meta["files"]:
                log.info("%s is damaged; it is made again", folder)
                continue
            model = _load(folder, ini)
            if read_json(folder / META)["build"] != meta["build"]:
                continue
        except (OSError, KeyError, TypeError, ValueError, AttributeError, UserError) as error:
            log.info("%s cannot be used (%s); it is made again", folder, error)
            continue
        if recorded != meta["sources"]:
            with suppress(OSError):
                write_json(folder / META, meta | {"sources": recorded})
        return model
    return None


def _renewed(recorded: list[Source], present: list[Source]) -> list[Source]:
    """What is recorded, with the present times of change; nothing where the files hold something else.

    Only where just the time of change differs are they read.
    """
    if [(old["path"], old["size"]) for old in recorded] != [(new["path"], new["size"]) for new in present]:
        return []
    pairs = zip(recorded, present, strict=True)
    renewed = [old if old["changed"] == new["changed"] else _read_digest(new) for old, new in pairs]
    return renewed if [one["sha256"] for one in renewed] == [old["sha256"] for old in recorded] else []


def _files(folder: Path) -> dict[str, int]:
    """Size of every file of the folder but the one that describes it, and hidden ones."""
    paths = [path for path in sorted(folder.rglob("[!.]*")) if path.is_file() and path.name != META]
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}


def _load(folder: Path, ini: MosesIni) -> TranslationModel:
    source, target = (Vocabulary.load(folder / f"{side}.tsv") for side in SIDES)
    table = open_table(folder / "phrase_table", (source, target))
    models = tuple(
        NgramModel.load(folder / f"language_model{number}", target) for number in range(len(ini.language_models))
    )
    for model in models:
        vars(model)["finite"] = True  # all of it was looked at when it was read from text; a start stays instant
    return _assemble(ini, table, models, source, target)


def _build(places: list[Path], ini: MosesIni, compact: bool) -> TranslationModel:
    """Read the text files and keep the compiled form in the first place that can be written."""
    sources = _sources(ini)
    log.info("reading the text files of %s", ini.path)
    model = read_text_model(ini, compact)
    sources = [_read_digest(source) for source in sources]
    for folder in places:
        try:
            empty = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
            if not empty and not (folder / META).is_file():
                raise UserError(f"{folder}: holds something else than a compiled model; name another folder")
            _save(folder, model, _expected(compact) | {"sources": sources})
        except OSError as error:
            log.info("%s cannot be written (%s)", folder, error.strerror)
        else:
            log.info("kept the compiled model in %s", folder)
            break
    return _load_first(places, ini, compact) or model


def _save(folder: Path, model: TranslationModel, made_of: dict[str, Any]) -> None:
    with atomic(folder, directory=True) as temporary:
        model.source_vocabulary.save(temporary / "source.tsv")
        model.target_vocabulary.save(temporary / "target.tsv")
        model.phrase_table.save(temporary / "phrase_table")
        for number, language_model in enumerate(model.language_models):
            language_model.save(temporary / f"language_model{number}")
        write_json(temporary / META, made_of | {"build": uuid.uuid4().hex, "files": _files(temporary)})


def read_text_model(ini: MosesIni, compact: bool = False) -> TranslationModel:
    """Read the tables and language models that ``moses.ini`` names into memory; compact: see ``load_model``.

    The target vocabulary holds the words of the phrase table and, after them, those of the language models: a word
    that is only copied can still be known to a language model.
    """
    text = read_moses_text(ini.phrase_table, ini.reordering_table)
    source, target = text.vocabularies
    words = dict.fromkeys(target.words)
    arpas = [(path, *read_arpa(path)) for path in ini.language_models]
    for _, _, own in arpas:
        words |= dict.fromkeys(own.words)
    target = Vocabulary(list(words), [0] * len(words))
    table = text.table(source, target)
    models = tuple(arpa_model(*arpa, target, compact) for arpa in arpas)
    chosen = CompactTable.of(table, {}, (len(source), len(target))) if compact else table
    return _assemble(ini, chosen, models, source, target)


def _assemble(
    ini: MosesIni, table: Table, models: tuple[NgramModel, ...], source: Vocabulary, target: Vocabulary
) -> TranslationModel:
    """The parts as a model with the features of the ini; ``UserError`` when the table has other scores than it says."""
    size = table.score_count
    if size != ini.phrase_scores:
        raise UserError(
            f"{ini.phrase_table}: has {size} scores but {ini.path} says num-features={ini.phrase_scores}; correct it"
        )
    groups = ["phrase", "language_model", *(["reordering"] if ini.reordering_table else [])]
    features = build_feature_set(groups, len(models), phrase_scores=size)
    return TranslationModel(table, models, {}, source, target, features)
