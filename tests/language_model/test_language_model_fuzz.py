"""ARPA files corrupted at random: what is read is a sound model, anything else one sentence naming the file."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from corruption import corrupted
from hypothesis import given, settings
from hypothesis import strategies as st

from neural_smt.errors import UserError
from neural_smt.language_model.arpa import arpa_model, read_arpa
from neural_smt.vocabulary import RESERVED, Vocabulary

ARPA = """\\data\\
ngram 1=5
ngram 2=3
ngram 3=2

\\1-grams:
-1\t<unk>
-99\t<s>\t-0.5
-1\t</s>
-0.125 été -.5
-2\tb\t-1.5e-1

\\2-grams:
-0.3\t<s> été\t-0.25
-0.7\tété b\t-0.5
-0.1\tb </s>

\\3-grams:
-0.0625\t<s> été b
-0.03125\tété b </s>

\\end\\
""".encode()
WORDS = Vocabulary([*RESERVED, "b", "z"], [0] * 5)
LARGER = Vocabulary([*RESERVED, "z", "b", "été"], [0] * 6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corrupted")


def read(path: Path, data: bytes, vocabulary: Vocabulary | None) -> int:
    """The order of the model after its checks, or 0 where one sentence says what is wrong."""
    path.write_bytes(data)
    try:
        tables, own = read_arpa(path, vocabulary)
        model = arpa_model(path, tables, own, own if vocabulary else LARGER)
    except UserError as error:
        assert re.match(rf"{path}(, line \d+)?: ", str(error))
        assert len(str(error).splitlines()) == 1
        return 0
    for table in tables:
        assert ((table.words >= 0) & (table.words < len(own))).all()
        assert (table.log10_prob <= 0).all()
        assert np.isfinite(table.log10_prob).all()
        assert np.isfinite(table.backoff).all()
    assert model.finite
    state = model.begin_state
    for word in [3, 4, 0, 2, 4, 3, 1]:
        log10_prob, state = model.score_word(state, word)
        assert np.isfinite(log10_prob)
    return len(tables)


@pytest.mark.parametrize("vocabulary", [None, WORDS])
def test_the_good_model_is_read(folder: Path, vocabulary: Vocabulary | None) -> None:
    assert read(folder / "good", ARPA, vocabulary) == 3


@pytest.mark.parametrize("vocabulary", [None, WORDS])
@given(data=corrupted(ARPA))
@settings(max_examples=200)
def test_spoilt_models(folder: Path, vocabulary: Vocabulary | None, data: bytes) -> None:
    read(folder / "corrupted", data, vocabulary)


@given(data=corrupted(gzip.compress(ARPA, mtime=0)))
@settings(max_examples=50)
def test_spoilt_archives(folder: Path, data: bytes) -> None:
    assert read(folder / "corrupted.gz", data, None) in (0, 3)


@given(data=st.binary(max_size=100))
@settings(max_examples=50)
def test_bytes_after_the_header(folder: Path, data: bytes) -> None:
    assert read(folder / "any", b"\\data\\\nngram 1=1\n" + data, None) == 0
