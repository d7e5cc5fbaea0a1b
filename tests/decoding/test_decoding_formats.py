"""Features, weights, n-best lists and the decode step."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tiny_models import GROUPS, TARGET, change_system, random_model, save_system

from neural_smt.decoding.features import Weights, build_feature_set
from neural_smt.decoding.nbest import feature_matrix, read_nbest, write_nbest
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.decoding.steps import decode
from neural_smt.errors import UserError
from neural_smt.io.files import read_json
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.table import PhraseTable, save_column


def test_features_are_those_of_moses():
    features = build_feature_set([*GROUPS, "encoder_decoder"])
    known = "LexicalReordering0 Distortion0 LM0 UnknownWordPenalty0 WordPenalty0 PhrasePenalty0 TranslationModel0"
    assert list(features.slices) == [*known.split(), "EncoderDecoder0"]
    assert features.size == 16 and features.tunable.sum() == 15
    assert features.names[6:9] == ["Distortion0", "LM0", "UnknownWordPenalty0"]
    assert features.names[11] == "TranslationModel0_0"
    vector = Weights.defaults(features).vector(features)
    assert vector.tolist() == [0.3] * 7 + [0.5, 1.0, -1.0, 0.2] + [0.2] * 5


def test_systems_need_a_language_model():
    with pytest.raises(UserError, match="language_model"):
        build_feature_set(["phrase"])
    with pytest.raises(UserError, match="twice"):
        build_feature_set([*GROUPS, "cslm", "cslm"])


def test_weights_go_through_json(tmp_path):
    features = build_feature_set(GROUPS)
    weights = Weights.from_vector(features, np.arange(15) / 8)
    weights.save(tmp_path / "weights.json")
    again = Weights.load(tmp_path / "weights.json")
    assert again == weights
    assert again.vector(features).tolist() == (np.arange(15) / 8).tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"LM0": [float("nan")]}, "finite"),
        ({"LM0": [0.1, 0.2]}, "LM0"),
        ({"LM7": [0.1]}, "LM7"),
        ({"LM0": "much"}, "lists of numbers"),
    ],
)
def test_bad_weights_are_refused(tmp_path, change, message):
    features = build_feature_set(GROUPS)
    content = {name: list(values) for name, values in Weights.defaults(features).values.items()} | change
    (tmp_path / "weights.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        Weights.load(tmp_path / "weights.json").vector(features)


def test_tuned_weights_extend_to_further_features_that_count_nothing_yet():
    base = build_feature_set(["phrase", "language_model"])
    tuned = Weights.from_vector(base, np.linspace(-1, 1, base.size))
    more = build_feature_set([*GROUPS, "encoder_decoder"])
    extended = tuned.extended(more)
    assert extended.values["EncoderDecoder0"] == (0.0,)
    assert extended.values["LexicalReordering0"] == (0.0,) * 6
    assert {name: extended.values[name] for name in tuned.values} == tuned.values
    assert tuned.extended(base).values == tuned.values
    with pytest.raises(UserError, match="LexicalReordering0"):
        extended.extended(base)


def test_nbest_lists_go_through_the_format_of_moses(tmp_path):
    model, weights = random_model(0)
    decoder = Decoder(model, SearchSettings(), weights)
    translations = decoder.decode([["a", "b"], [], ["c"]], nbest=4)
    write_nbest(tmp_path / "list.gz", translations, decoder.feature_set)
    entries = read_nbest(tmp_path / "list.gz")
    expected = [(number, entry) for number, t in enumerate(translations) for entry in t.nbest]
    assert [e.sentence for e in entries] == [number for number, _ in expected]
    assert [e.tokens for e in entries] == [entry.tokens for _, entry in expected]
    assert "UnknownWordPenalty0" not in entries[0].features
    shown = decoder.feature_set.tunable
    np.testing.assert_allclose(
        feature_matrix(entries, decoder.feature_set)[:, shown],
        np.array([entry.features for _, entry in expected])[:, shown],
        rtol=1e-5,
    )
    np.testing.assert_allclose([e.score for e in entries], [entry.score for _, entry in expected], rtol=1e-5)


def test_bad_nbest_line_is_named(tmp_path):
    (tmp_path / "list").write_text("0 ||| a b ||| LM0= -1 ||| -1\n1 ||| a ||| LM0= x ||| 2\n")
    with pytest.raises(UserError, match="line 2"):
        read_nbest(tmp_path / "list")


@pytest.fixture
def system(tmp_path):
    """The files of a tiny system with a score column, and the arguments of ``decode``."""
    model, weights = random_model(3, (*GROUPS, "encoder_decoder"))
    files = save_system(tmp_path, model, weights, {"algorithm": "cube", "pop_limit": 50})
    (tmp_path / "text").write_text("a b c\n\nc unknown\n")
    outputs = {"output": tmp_path / "output", "statistics": tmp_path / "statistics.json"}
    return {"text": tmp_path / "text", **files, **outputs}


def test_decode_step(system, tmp_path):
    decode(**system, nbest=tmp_path / "nbest", nbest_size=3, alignment=tmp_path / "alignment")
    lines = (tmp_path / "output").read_text().split("\n")
    assert len(lines) == 4 and lines[1] == "" and lines[2].endswith("unknown")
    assert len((tmp_path / "alignment").read_text().splitlines()) == 3
    assert {entry.sentence for entry in read_nbest(tmp_path / "nbest")} == {0, 1, 2}
    statistics = json.loads((tmp_path / "statistics.json").read_text())
    assert statistics["sentences"] == 3 and statistics["unknown_words"] == 1


def test_decode_step_names_what_is_wrong(system, tmp_path):
    columns = read_json(system["system"])["columns"]
    change_system(system["system"], columns={})
    with pytest.raises(UserError, match=r"system\.json: names no column for the feature encoder_decoder"):
        decode(**system)
    change_system(system["system"], columns=columns)
    table = PhraseTable.load(tmp_path / "table")
    another = replace(table, target=Ragged(table.target.values[::-1].copy(), table.target.offsets))
    save_column(tmp_path / "EncoderDecoder0.safetensors", np.zeros(len(table), dtype=np.float32), another)
    with pytest.raises(UserError, match=r"EncoderDecoder0\.safetensors: the scores of another phrase table"):
        decode(**system)
    TARGET.save(tmp_path / "source.tsv")
    with pytest.raises(UserError, match="source vocabulary"):
        decode(**system)
    assert not (tmp_path / "output").exists()
