"""Fixtures of the tests of decoding."""

import gzip

import pytest

from neural_smt.decoding.moses.compiled import load_model
from neural_smt.decoding.moses.ini import read_moses_ini
from neural_smt.io.files import read_lines


class RealModel:
    """What Moses was run with, and files of its output: ini, model, source sentences and references (tokens)."""

    def __init__(self, folder, compiled):
        self.folder, self.compiled = folder, compiled
        self.ini = read_moses_ini(folder / "moses.ini")
        self.model = load_model(self.ini, str(compiled))
        texts = (read_lines(folder / name) for name in ("input.en", "reference.fr"))
        self.sentences, self.references = ([line.split() for line in lines] for lines in texts)

    def lines(self, name):
        """The lines of a gzipped output of Moses."""
        return gzip.decompress((self.folder / name).read_bytes()).decode().splitlines()


@pytest.fixture(scope="session")
def real(shared, tmp_path_factory):
    """The model and text of ``oracle/decoding``."""
    return RealModel(shared / "oracle" / "decoding", tmp_path_factory.mktemp("oracle") / "compiled")
