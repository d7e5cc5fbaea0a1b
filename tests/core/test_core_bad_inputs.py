"""What people do wrong, and what the sentence of each mistake names; ten whole sentences stand in ``sentences.yaml``.

A row of the tables ``bad_*.yaml`` says what is wrong (``name``), what is typed after ``neural-smt`` (``command``) in a
folder that holds ``files``, and what the error names, in this order (``names``). ``settings`` in place of a command:
they are put over the smallest experiment, which is checked. ``moses``: a model of Moses with other lines; ``network``:
the folder ``m`` of an encoder-decoder with another description. ``$NAME`` stands for one of the file's ``commands`` or,
as contents, of ``CONTENTS``; ``{repository}`` for this checkout, ``{snakemake}`` for how that program is typed.
"""

import gzip
import json
import pickle
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import yaml
from published_archives import made
from refusals import check_error

from neural_smt.cli import main
from neural_smt.errors import program
from neural_smt.io.arrays import write_arrays
from neural_smt.vocabulary import Vocabulary
from neural_smt.workflow.code_digest import PACKAGE

Row = dict[str, Any]

CHECK = "check --configfile {repository}/experiments/tiny.yaml mine.yaml --snakefile {repository}/Snakefile"
FOLDER = Path(__file__).parent
BASE = yaml.safe_load((FOLDER / "bad_models.yaml").read_text(encoding="utf-8"))["base"]
DIGEST = Vocabulary(["<unk>", "<s>", "</s>", "a"], [0, 0, 0, 2]).digest
DIGESTS = {"source": DIGEST, "target": DIGEST}
NETWORK = {"network": "encoder_decoder", "config": BASE["network"], "vocabularies": DIGESTS}


def other_weights() -> bytes:
    """A file of arrays of no network."""
    with TemporaryDirectory() as folder:
        write_arrays(Path(folder) / "weights", {"a": np.zeros(3, dtype=np.float32)})
        return (Path(folder) / "weights").read_bytes()


ARCHIVE = made("a.tgz", {"d/a.fr": "un\n", "d/pipe": ["SYMTYPE", "/etc/passwd"], "../up.fr": "deux\n"})
"""A text, a link, and a text that would leave the folder."""

CONTENTS = {
    "$archive": ARCHIVE,
    "$archive_cut_off": ARCHIVE[:-30],
    "$gzip_cut_off": gzip.compress(b"one\n" * 9)[:-9],
    "$gzip_page": gzip.compress(b"<html><title>Log in</title></html>"),
    "$german": b"".join(b"%d a b c d\n" % number for number in range(300)),
    "$english": b"".join(b"%d e f g h\n" % number for number in range(300)),
    "$latin1": "un\ndeux\ncafé\n".encode("latin-1"),
    "$latin1_settings": "experiment: café\n".encode("latin-1"),
    "$long": b"alignment: {aligner: %s}\n" % (b"a" * 400),
    "$ini_threads": BASE["ini"].format(**BASE["lines"] | {"sections": f"[threads]\n{'9' * 500}\n"}).encode(),
    "$weight": b'{"LM0": [1%s]}' % (b"0" * 400),
    "$long_weight": b'{"LM0": [%s]}' % (b"9" * 5000),
    "$nbest": b"%s ||| a ||| LM0= -1 ||| -1\n" % (b"9" * 5000),
    "$table_cut_off": gzip.compress(b"a ||| x ||| 1 1 1 1 ||| 0-0 ||| 1 1 1\n" * 20)[:-9],
    "$deep": b"[" * 100_000,
    "$brackets": b"seed: " + b"[" * 3000,
    "$aliases": b"a0: &a0 [1, 2]\n"
    + b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 40)),
    "$utf16": "un\n".encode("utf-16"),
    "$utf16_json": b"\xff\xfe{\x00",
    "$pickle": pickle.dumps({"a": 1}),
    "$header_cut_off": b'\x20\0\0\0\0\0\0\0{"a":',
    "$other_weights": other_weights(),
}


def rows_of(path: Path) -> list[Row]:
    """The rows of a table, names of commands written out."""
    table = yaml.safe_load(path.read_text(encoding="utf-8"))

    def spelt(command: str) -> str:
        return re.sub(r"\$([A-Z_]+)", lambda name: table["commands"][name[1]], command)

    return [row | {"command": spelt(row.get("command", CHECK)), "files": files_of(row)} for row in table["rows"]]


def files_of(row: Row) -> dict[str, bytes]:
    """What lies in the folder where a row's command is typed."""
    files: dict[str, str] = {}
    if "settings" in row:
        files["mine.yaml"] = yaml.safe_dump(row["settings"], allow_unicode=True)
    if "moses" in row:
        files |= BASE["files"] | {"moses.ini": BASE["ini"].format(**BASE["lines"] | row["moses"])}
    if "network" in row:
        files |= {f"m/vocabulary.{side}": BASE["vocabulary"] for side in ("source", "target")}
        files["m/config.json"] = json.dumps(NETWORK | row["network"])
    files |= row.get("files", {})
    return {name: CONTENTS.get(content) or content.encode() for name, content in files.items()}


ROWS = [row for name in ("settings", "texts", "models") for row in rows_of(FOLDER / f"bad_{name}.yaml")]

SENTENCES = yaml.safe_load((FOLDER / "sentences.yaml").read_text(encoding="utf-8"))

WHOLE = [next(row for row in ROWS if row["name"] == name) for name in SENTENCES]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file and folder below a folder, hidden ones included."""
    return {str(path): b"" if path.is_dir() else path.read_bytes() for path in folder.rglob("*")}


@pytest.fixture
def written(row: Row, tmp_path: Path) -> Iterator[Path]:
    """The folder of a row; nothing else may be in it afterwards."""
    for name, content in row["files"].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    before = contents(tmp_path)
    yield tmp_path
    assert contents(tmp_path) == before


def arguments(row: Row, repository: Path) -> list[str]:
    return shlex.split(row["command"].replace("{repository}", str(repository)).replace("{nines}", "9" * 5000))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_each_mistake_is_named(
    row: Row, repository: Path, written: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(written)
    monkeypatch.setattr("logging.root.handlers", [])
    assert main(arguments(row, repository)) == 1
    known = {"{repository}": str(repository), "{snakemake}": program("snakemake")}
    pieces = [re.sub("{[a-z]+}", lambda name: known.get(name[0], name[0]), str(piece)) for piece in row["names"]]
    check_error(capfd.readouterr().err, pieces)


@pytest.mark.parametrize("row", WHOLE, ids=lambda row: row["name"])
def test_typed_for_real_a_mistake_gets_this_sentence(row: Row, repository: Path, written: Path) -> None:
    command = [sys.executable, "-m", "neural_smt", *arguments(row, repository)]
    environment = {"PYTHONPATH": str(PACKAGE.parent), "PATH": ""}
    done = subprocess.run(command, cwd=written, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"error: {SENTENCES[row['name']]}\n")
