"""``decode --moses-ini`` as it is used: options, interruptions, the compiled form; ``bad_models.yaml`` has faults."""

import gzip
import json
import os
import signal
import tempfile
from pathlib import Path

import pytest
from moses_folder import FEATURES, WEIGHTS, start, write_model
from refusals import check_error

from neural_smt.cli import main
from neural_smt.decoding.moses import compiled
from neural_smt.decoding.moses.ini import read_moses_ini
from neural_smt.decoding.nbest import read_nbest
from neural_smt.io import arrays
from neural_smt.io.files import atomic, read_json, read_lines
from neural_smt.io.streams import read_batches

TEXT = "a b\n\nb a unknown\na a b b\n"


@pytest.fixture
def model(tmp_path):
    """The ini of a tiny model, and a text to translate beside its folder."""
    (tmp_path / "text").write_text(TEXT)
    return write_model(tmp_path / "model")


def decode(tmp_path, ini, *options):
    """Translate the text in this process; the exit status."""
    return main(["decode", "--moses-ini", str(ini), "--input", str(tmp_path / "text"), *map(str, options)])


def test_translations_lists_and_alignments(model, tmp_path):
    outputs = {name: tmp_path / name for name in ("output", "nbest", "alignment")}
    options = ["--output", outputs["output"], "--nbest", outputs["nbest"], 3, "--alignment", outputs["alignment"]]
    assert decode(tmp_path, model, *options) == 0
    assert read_lines(outputs["output"]) == ["x z", "", "z x unknown", "x x z z"]
    assert read_lines(outputs["alignment"]) == ["0-0 1-1 ", "", "0-0 1-1 2-2 ", "0-0 1-1 2-2 3-3 "]
    entries = read_nbest(outputs["nbest"])
    assert [entry.sentence for entry in entries] == [0, 0, 0, 1, 2, 2, 2, 3, 3, 3]
    assert entries[0].tokens == ["x", "z"] and entries[0].score >= entries[1].score >= entries[2].score
    known = "LexicalReordering0 Distortion0 LM0 WordPenalty0 PhrasePenalty0 TranslationModel0"
    assert list(entries[0].features) == known.split()


def words_of_first(path):
    """The translations in the list of the first sentence."""
    return [" ".join(entry.tokens) for entry in read_nbest(path) if entry.sentence == 0]


def test_distinct_lists_and_names_of_the_ini(tmp_path):
    (tmp_path / "text").write_text("a b b\n")
    features = FEATURES.replace("name=LM0", "name=French").replace("Distortion\n", "Distortion name=Jump\n")
    ini = write_model(tmp_path / "model", features, WEIGHTS.replace("LM0", "French").replace("Distortion0", "Jump"))
    for extra in ([], ["distinct"]):
        assert decode(tmp_path, ini, "--output", tmp_path / "o", "--nbest", tmp_path / "list", 50, *extra) == 0
        words = words_of_first(tmp_path / "list")
        assert (len(set(words)) == len(words)) == bool(extra)
        assert {"French", "Jump"} < set(read_nbest(tmp_path / "list")[0].features)


def test_options_override_the_ini(model, tmp_path):
    common = ["--output", tmp_path / "o", "--nbest", tmp_path / "list", 50, "distinct"]
    assert decode(tmp_path, model, *common, "--algorithm", "cube", "--pop-limit", 500, "--threads", 2) == 0
    assert set(words_of_first(tmp_path / "list")) == {"x z", "y z", "z x", "z y", "y x"}
    assert decode(tmp_path, model, *common, "--distortion-limit", 0, "--table-limit", 1, "--stack-size", 1) == 0
    assert words_of_first(tmp_path / "list") == ["x z", "y x"]


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_is_no_accident(model, tmp_path):
    with start("decode", "--moses-ini", model, "--output", tmp_path / "output", "--nbest", "-", 1) as process:
        process.stdin.write(b"a b\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"0 ||| x z ||| ")
        process.send_signal(signal.SIGINT)
        message = process.communicate()[1]
    assert process.returncode == 128 + signal.SIGINT
    assert b"Traceback" not in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "text"]


@pytest.fixture
def folder(model):
    """The folder of the compiled form, not there yet."""
    return model.with_name("moses.ini.compiled")


def load(model):
    """Load the model through its compiled form; what the form says of itself, and the model."""
    loaded = compiled.load_model(read_moses_ini(model))
    return read_json(model.with_name("moses.ini.compiled") / "compiled_model.json"), loaded


def test_the_second_start_uses_the_compiled_form_under_any_weights(model, tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "STAMPED", 0)  # as of large files: that they were right is kept beside them
    assert decode(tmp_path, model, "--output", tmp_path / "first") == 0
    monkeypatch.setattr(compiled, "read_text_model", None)  # would fail if called
    assert decode(tmp_path, model, "--output", tmp_path / "second") == 0
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    model.write_text(model.read_text().replace("LM0= 0.5", "LM0= -5"))
    assert decode(tmp_path, model, "--output", tmp_path / "third") == 0
    assert read_lines(tmp_path / "third")[0] != read_lines(tmp_path / "first")[0]


def test_a_compact_form_translates_alike_and_lies_beside_the_other(model, tmp_path, monkeypatch):
    assert decode(tmp_path, model, "--output", tmp_path / "exact") == 0
    for number in range(2):
        assert decode(tmp_path, model, "--compact", "--output", tmp_path / str(number)) == 0
        monkeypatch.setattr(compiled, "read_text_model", None)  # would fail if called
    # so few scores have a code each
    assert {(tmp_path / name).read_bytes() for name in "01"} == {(tmp_path / "exact").read_bytes()}
    monkeypatch.undo()
    loaded = compiled.load_model(read_moses_ini(model), compact=True)
    assert type(loaded.phrase_table).__name__ == "CompactTable" and loaded.language_models[0].quantised
    assert {"moses.ini.compact", "moses.ini.compiled"} <= {path.name for path in model.parent.iterdir()}
    assert type(load(model)[1].phrase_table).__name__ == "PhraseTable"


@pytest.mark.parametrize("name", ["phrase-table", "reordering-table", "lm.arpa"])
def test_sources_that_change_are_noticed(model, name):
    build = load(model)[0]["build"]
    source = model.with_name(name)
    content = source.read_bytes()
    os.utime(source, ns=(0, 0))  # another time, the same contents
    made = load(model)[0]
    assert made["build"] == build
    assert 0 in [record["changed"] for record in made["sources"]]
    source.write_bytes(content.replace(b"0.2", b"0.3"))  # of the same size
    assert load(model)[0]["build"] != build


def test_another_reordering_table_or_none_is_noticed(model):
    assert len(load(model)[1].feature_set.slices) == 7
    lines = [line for line in model.read_text().splitlines() if not line.startswith("LexicalReordering")]
    model.write_text("\n".join(lines))
    assert len(load(model)[1].feature_set.slices) == 6


@pytest.mark.parametrize("damage", ["truncated", "missing", "meta", "foreign"])
def test_a_damaged_form_is_made_again(model, folder, damage):
    meta, good = load(model)
    array = folder / "phrase_table" / "arrays.safetensors"
    if damage == "truncated":
        array.write_bytes(array.read_bytes()[:-1])
    elif damage == "missing":
        array.unlink()
    else:
        content = "{" if damage == "meta" else json.dumps(meta | {"code": "older", "sources": 3})
        (folder / "compiled_model.json").write_text(content)
    made, again = load(model)
    assert again.phrase_table.target.values.tolist() == good.phrase_table.target.values.tolist()
    assert made["build"] != meta["build"]
    assert [path.name for path in model.parent.iterdir() if path.name.startswith(".")] == []


def test_many_builders_at_once_do_no_harm(model, tmp_path):
    processes = [start("decode", "--moses-ini", model, "--input", tmp_path / "text") for _ in range(4)]
    answers = {process.communicate()[0] for process in processes}
    assert answers == {b"x z\n\nz x unknown\nx x z z\n"}
    assert {process.returncode for process in processes} == {0}
    names = {"lm.arpa", "moses.ini", "moses.ini.compiled", "phrase-table", "reordering-table"}
    assert {path.name for path in model.parent.iterdir()} == names


def test_where_nothing_can_be_written_beside_the_ini_the_cache_serves(model, tmp_path, monkeypatch):
    def only_elsewhere(path, directory=False):
        if model.parent in path.parents:
            raise PermissionError(13, "Permission denied")
        return atomic(path, directory)

    monkeypatch.setattr(compiled, "atomic", only_elsewhere)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiled.load_model(read_moses_ini(model))
    place = compiled.default_folders(model)[1]
    assert place.parent == tmp_path / "cache" / "neural_smt" / "moses" and (place / "compiled_model.json").is_file()
    monkeypatch.setattr(compiled, "read_text_model", None)
    assert len(compiled.load_model(read_moses_ini(model)).phrase_table) == 4


def test_the_compiled_form_has_a_place_of_choice_or_none(model, folder, tmp_path):
    compiled.load_model(read_moses_ini(model), str(tmp_path / "chosen"))
    assert (tmp_path / "chosen" / "compiled_model.json").is_file()
    compiled.load_model(read_moses_ini(model), "off")
    assert not folder.exists()


def test_a_full_disk_is_one_sentence(model, tmp_path, capsys):
    assert decode(tmp_path, model, "--output", "/dev/full") == 1
    check_error(capsys.readouterr().err, [tempfile.gettempdir(), "No space left on device"])


@pytest.mark.parametrize("kind", ["osg", "osgx"])
def test_search_graphs_are_numbered_and_end_with_the_total(model, tmp_path, kind):
    (tmp_path / "text").write_text("a b\n\n" * 40)  # more than a batch
    options = ["--lattice", tmp_path / "graph", "--lattice-format", kind, "--nbest", tmp_path / "list", 1]
    assert decode(tmp_path, model, "--output", tmp_path / "o", *options) == 0
    lines = [line.split() for line in read_lines(tmp_path / "graph")]
    assert sorted({int(line[0]) for line in lines}) == list(range(0, 80, 2))
    totals = {str(entry.sentence): entry.score for entry in read_nbest(tmp_path / "list")}
    best = {}
    for number, _, stack, *rest in lines:
        values = dict(item.split("=", 1) for item in rest if "=" in item)
        if stack == "stack=2" and "recombined" not in values:
            best[number] = float(values["score"])
    assert best == {number: pytest.approx(totals[number], abs=1e-3) for number in best} and len(best) == 40
    assert any('out="b|z"' in line for line in lines) == (kind == "osgx")


def test_lattices_of_htk_fill_a_new_folder(model, tmp_path, capsys):
    options = ["--lattice", tmp_path / "lattices", "--lattice-format", "slf", "--output", tmp_path / "o"]
    assert decode(tmp_path, model, *options) == 0
    assert {path.name for path in (tmp_path / "lattices").iterdir()} == {f"{number}.slf" for number in range(4)}
    lines = read_lines(tmp_path / "lattices" / "2.slf")
    assert "UTTERANCE=2" in lines and any(" W=unknown " in line for line in lines)
    assert decode(tmp_path, model, *options) == 1
    check_error(capsys.readouterr().err, ["lattices", "exists"])


@pytest.mark.parametrize("name", ["text", "text.gz"])
@pytest.mark.parametrize("lines", [[], [""], ["a\r", "b"], ["a", ""], [" "], [f"line {n}" for n in range(1000)]])
@pytest.mark.parametrize("end", ["", "\n"])
def test_text_is_read_in_batches(tmp_path, name, lines, end):
    content = "\n".join(lines).encode() + (end.encode() if lines else b"")
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    expected = [line.removesuffix("\r") for line in (lines if end or lines[-1:] != [""] else lines[:-1])]
    for size in (1, 64):
        batches = list(read_batches(tmp_path / name, size))
        assert [line for batch in batches for line in batch] == expected
        assert {len(batch) for batch in batches[:-1]} <= {size} and len(batches) == -(-len(expected) // size)


def test_a_pipe_is_read_as_it_comes():
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb", buffering=0) as stream:
        batches = read_batches(Path(f"/dev/fd/{reader}"), 10)
        stream.write(b"a\nb\nhalf of ")
        assert next(batches) == ["a", "b"]
        stream.write(b"a line\n")
        assert next(batches) == ["half of a line"]
    assert list(batches) == []
    os.close(reader)
