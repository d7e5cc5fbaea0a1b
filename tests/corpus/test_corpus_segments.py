"""Segments of test sets in SGML, beside sacreBLEU's own reading of them."""

import html

import published_archives as published
import pytest
from sacrebleu.dataset import DATASETS

from neural_smt.corpus.archives import read_segments
from neural_smt.corpus.sources import expand_test_set
from neural_smt.errors import UserError


def test_segments_are_those_that_sacrebleu_takes(tmp_path):
    (tmp_path / "set.sgm").write_bytes(published.SGML)
    DATASETS["wmt13"]._convert_format(str(tmp_path / "set.sgm"), str(tmp_path / "set.txt"))
    expected = [html.unescape(line) for line in (tmp_path / "set.txt").read_text(encoding="utf-8").splitlines()]
    assert read_segments(published.SGML, "set.sgm") == expected


def test_segments_over_lines_and_empty_ones():
    data = '<SEG id="1">eins\n  zwei</SEG><seg id="2"></seg>\n<hl><seg id="3"> drei\u00a0vier </seg></hl>'.encode()
    assert read_segments(data, "set.sgm") == ["eins zwei", "", "drei vier"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"<doc>\n</doc>", "set.sgm: holds no <seg>"),
        (b'<seg id="1">a</seg>\n<seg id="2">b\n', "set.sgm, line 2: a <seg> without </seg>"),
        (b'<seg id="1">a\n<seg id="2">b</seg>\n', "set.sgm, line 1: a <seg> without </seg>"),
        (b'<seg id="1">a</seg>\n\n<seg id="2">\xff</seg>\n', "set.sgm, line 3: not valid UTF-8"),
    ],
)
def test_what_is_no_test_set(data, sentence):
    with pytest.raises(UserError) as caught:
        read_segments(data, "set.sgm")
    assert str(caught.value).startswith(sentence)


def test_a_test_set_by_name():
    assert expand_test_set("wmt14/full", "en", "fr") == {
        "en": {
            "url": "https://statmt.org/wmt14/test-full.tgz",
            "md5": "a8cd784e006feb32ac6f3d9ec7eb389a",
            "mirror_path": "wmt14/full/test-full.tgz",
            "member": "test-full/newstest2014-fren-src.en.sgm",
        },
        "fr": {
            "url": "https://statmt.org/wmt14/test-full.tgz",
            "md5": "a8cd784e006feb32ac6f3d9ec7eb389a",
            "mirror_path": "wmt14/full/test-full.tgz",
            "member": "test-full/newstest2014-fren-ref.fr.sgm",
        },
    }
    assert expand_test_set("wmt11", "fr", "en")["en"]["member"] == "newstest2011-src.en.sgm"


@pytest.mark.parametrize(
    ("name", "pair"), [("wmt99", ("en", "fr")), ("wmt20", ("en", "fr")), ("iwslt17", ("en", "fr"))]
)
def test_test_sets_that_cannot_be_had(name, pair):
    with pytest.raises(
        UserError, match=f"sacreBLEU has no test set '{name}' for en-fr in one archive; it has .*wmt14/full"
    ):
        expand_test_set(name, *pair)
