"""Systems as translators: what they say of how a translation came about, and which of them there are."""

import shutil
from pathlib import Path
from random import Random

import pytest
from checkouts import TINY, copy_checkout, python, tracked
from refusals import check_error, check_named, check_refused
from small_results import load, write_experiment
from tiny_models import random_model

from neural_smt.cli import main
from neural_smt.decoding.attention_steps import translate_attention
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.errors import program
from neural_smt.experiment.layout import Layout
from neural_smt.experiment.system_folder import System, pack_system
from neural_smt.io.files import read_lines, read_yaml, write_json, write_lines
from neural_smt.translation.experiment import Experiment, open_system
from neural_smt.translation.translators import Candidate, load_translator
from neural_smt.vocabulary_selection.steps import build_candidates

REFUSED = read_yaml(Path(__file__).with_name("refused.yaml"))
SENTENCES = [["a", "b", "c"], [], ["c"], ["b", "new", "a"], ["a", "b"]]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    return load(tmp_path_factory.mktemp("small"))


def check_phrases(candidate: Candidate, source: list[str]) -> None:
    """Phrases cover both sides once, are linked within themselves, and their scores add up to those of the whole."""
    spans = candidate.trace.segmentation
    assert sorted(i for span in spans for i in range(*span[:2])) == list(range(len(source)))
    assert [j for span in spans for j in range(*span[2:])] == list(range(len(candidate.tokens)))
    for i, j in candidate.trace.alignment:
        assert any(start <= i < stop and begin <= j < end for start, stop, begin, end in spans)
    assert candidate.trace.features.sum(axis=0) == pytest.approx(candidate.features, abs=1e-4)


@pytest.mark.parametrize("count", [1, 3])
def test_translations_are_those_of_the_search_with_their_phrases(experiment: Experiment, count: int) -> None:
    translator = load_translator(experiment.open("baseline", 2), 2)
    model, weights = random_model(5)
    found = translator.translate(SENTENCES, nbest=count)
    assert [translated.source for translated in found] == SENTENCES
    assert found[1].best.tokens == [] and found[1].best.score == 0.0
    decoder = Decoder(model, SearchSettings(**experiment.config["decoding"]["test"]), weights)
    expected = decoder.decode(SENTENCES, count, traced=1)
    for translated, translation in zip(found, expected, strict=True):
        assert [c.tokens for c in translated.candidates] == [entry.tokens for entry in translation.nbest]
        assert translated.best.trace.alignment == translation.trace.alignment
        for candidate, entry in zip(translated.candidates, translation.nbest, strict=True):
            assert candidate.score == pytest.approx(entry.score, abs=1e-5)
            assert float(candidate.features @ translator.weights) == pytest.approx(candidate.score, abs=1e-4)
            check_phrases(candidate, translated.source)


def test_an_attention_network_translates_new_text_as_the_rules_do(experiment: Experiment, tmp_path: Path) -> None:
    results = experiment.folder / experiment.layout.folder
    text = tmp_path / "text"
    write_lines(text, (" ".join(tokens) for tokens in SENTENCES))
    tables = {name: experiment.folder / path for name, path in experiment.layout.candidate_tables.items()}
    words = results / "training" / "attention" / "model" / "vocabulary.target"
    sizes = {"dictionary": 1, "phrases": 1, "frequent": 1, "max_length": 0}
    build_candidates(source=text, **tables, network_vocabulary=words, settings=sizes, output=tmp_path / "sets")
    system, outputs = experiment.layout.system("network"), {name: tmp_path / name for name in ("output", "statistics")}
    translate_attention(text=text, system=experiment.folder / system, candidates=tmp_path / "sets", **outputs)
    found = load_translator(experiment.open("network")).translate(SENTENCES, nbest=4, explained=True)
    assert [" ".join(translated.best.tokens) for translated in found] == read_lines(tmp_path / "output")
    assert any(len(translated.candidates) > 1 for translated in found)
    for translated in found:
        scores = [candidate.score for candidate in translated.candidates]
        assert scores == sorted(scores, reverse=True)
        for candidate in translated.candidates:
            assert len(candidate.origins) == len(candidate.tokens) and candidate.trace.segmentation == []


def test_words_of_a_network_say_what_brought_them(experiment: Experiment) -> None:
    translator = load_translator(experiment.open("network"))
    reasons = translator.maker.reasons("a c")
    x, z = reasons[3], reasons[5]
    assert x.dictionary == [("a", 1, 1.0)] and x.frequent == 1, "of a, and the most frequent word"
    assert z.dictionary == [("c", 1, 1.0)] and z.frequent is None
    assert 6 not in reasons or reasons[6].phrases, "no dictionary has q"
    (translated,) = translator.translate([["a", "c"]], explained=True)
    known = {translator.network.model.target.words[number]: why for number, why in reasons.items()}
    for word, origin in zip(translated.best.tokens, translated.best.origins, strict=True):
        assert (origin.reasons, origin.replaced) == (known[word], None)


def test_replaced_words_name_the_source_word_they_stand_for(experiment: Experiment) -> None:
    translator = load_translator(experiment.open("replacing"))
    found = translator.translate([["a", "Ulm"], ["b"], ["c", "b", "a"]], nbest=5, explained=True)
    replaced = [
        (translated.source[origin.replaced], word)
        for translated in found
        for candidate in translated.candidates
        for word, origin in zip(candidate.tokens, candidate.origins, strict=True)
        if origin.replaced is not None
    ]
    assert replaced
    assert set(replaced) <= {("a", "x"), ("b", "y"), ("c", "z"), ("Ulm", "Ulm")}
    assert "<unk>" not in {word for t in found for c in t.candidates for word in c.tokens}


@pytest.mark.parametrize(("system", "run", "pieces"), REFUSED["systems"])
def test_systems_that_cannot_translate_are_refused(experiment: Experiment, system: str, run: int, pieces: list) -> None:
    check_refused(pieces, experiment.open, system, run)


def test_a_missing_result_is_named_with_the_command_that_makes_it(experiment: Experiment) -> None:
    file, folder = "results/small/tuning/untuned/run1/weights.json", experiment.folder
    command = f"{program('snakemake')} --cores 2 {file} --directory {folder} --configfile {experiment.files[0]}"
    check_refused([folder / file, command], experiment.open, "untuned")


def test_an_experiment_is_found_by_its_name(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deen").mkdir()
    own = (repository / TINY).read_text(encoding="utf-8").replace("experiment: tiny", "experiment: deen")
    (tmp_path / "deen/experiment.yaml").write_text(own, encoding="utf-8")
    monkeypatch.chdir(repository)
    assert Experiment.load("tiny", folder=tmp_path).files == (Path(TINY),)
    (tmp_path / "config.yaml").write_text("experiment: [", encoding="utf-8")
    assert Experiment.load("deen", folder=tmp_path).files == (tmp_path / "deen/experiment.yaml",)
    check_refused([tmp_path / "config.yaml"], Experiment.load, "other", (), tmp_path)
    assert Experiment.load("embedded").files == (Path("config.yaml"),)
    tiny = Experiment.load("tiny")
    assert tiny.files == (Path(TINY),)
    assert tiny.command("x") == f"{program('snakemake')} --cores 2 x --configfile experiments/tiny.yaml"
    assert Experiment.load("embedded").command("x") == f"{program('snakemake')} --cores 2 x"
    check_refused(["tinny", "embedded"], Experiment.load, "tinny")
    monkeypatch.chdir(tmp_path)
    for name in ("deen", "deen/", "deen/experiment.yaml"):
        assert Experiment.load(name).files == (Path("deen/experiment.yaml"),)


def test_further_settings_go_over_those_of_the_experiment(repository: Path, tmp_path: Path) -> None:
    further = tmp_path / "further.yaml"
    further.write_text("tuning: {runs: 7}\nsystems: {more: {base: rnn, features: [cslm]}}\n", encoding="utf-8")
    config = Experiment.load(str(repository / "experiments" / "tiny.yaml"), [further]).config
    assert config["tuning"]["runs"] == 7 and config["tuning"]["nbest"] == 20
    assert list(config["systems"]) == ["baseline", "rnn", "more"]


def test_files_of_a_system_are_those_of_its_data_and_table(repository: Path) -> None:
    folder = Path(__file__).parent
    layout: Layout = Experiment.load(str(repository / "experiments" / "tiny.yaml"), [folder / "rows.yaml"]).layout
    expected = read_yaml(folder / "system_files.yaml")
    assert [[name, system, getattr(layout, name)(system)] for name, system, _ in expected["files"]] == expected["files"]
    for system, part in expected["networks"].items():
        assert part.items() <= layout.description(system)["network"].items()
    assert layout.description("joint")["features"][-1] == "recurrent" and layout.description("rnn")["network"] is None
    inputs, search = layout.system_inputs("searched"), "results/tiny/systems/search.json"
    assert inputs["system"] == "results/tiny/systems/searched/system.json"
    assert {"results/tiny/training/cslm/model", search} <= {*inputs["depends"]}
    assert search not in layout.system_inputs("searched", searched=False)["depends"]


def pack(folder: Path, capfd: pytest.CaptureFixture[str], system: str, *options: str, compact: bool = False) -> str:
    """Pack a system into ``folder/moved``, leave nothing of its experiment; what it makes of ``folder/text``."""
    form = ["--compact"] if compact else []
    (folder / "experiment").mkdir()
    (folder / "elsewhere").mkdir()
    config = write_experiment(folder / "experiment")
    (folder / "text").write_text("a b c\n\nc new\n", encoding="utf-8")
    named = [str(config), "--directory", str(config.parent), "--system", system, *options]
    assert main(["translate", *named, str(folder / "text")]) == 0
    translation = capfd.readouterr().out
    assert len(translation.splitlines()) == 3
    assert main(["pack", *named, *form, str(folder / "packed")]) == 0
    assert main(["pack", *named, str(folder / "packed")]) == 1, "it is there already"
    shutil.rmtree(folder / "experiment")
    (folder / "packed").rename(folder / "moved")
    capfd.readouterr()
    return translation


@pytest.mark.parametrize("compact", [False, True], ids=["as it is", "compact"])
@pytest.mark.parametrize(("system", "options"), [("baseline", ["--run", "2"]), ("network", []), ("replacing", [])])
def test_a_packed_system_translates_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd, system: str, options: list[str], compact: bool
) -> None:
    """Moved, from another working directory, without the experiment and its results. Of few scores each has a code."""
    expected = pack(tmp_path, capfd, system, *options, compact=compact)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["translate", "../moved", "../text"]) == 0
    assert capfd.readouterr().out == expected
    for arguments, pieces in (
        (["--system", "baseline"], ["../moved", "--system", "--settings"]),
        (["--run", "7"], ["../moved", "run"]),
    ):
        assert main(["translate", "../moved", *arguments]) == 1
        check_error(capfd.readouterr().err, pieces)


def test_a_changed_bit_of_a_packed_system_is_found(tmp_path: Path, capfd) -> None:
    pack(tmp_path, capfd, "network")
    moved = tmp_path / "moved"
    assert main(["verify", str(moved)]) == 0
    assert capfd.readouterr().out.endswith("files checked, 0 have no checksum\n")
    files = [path for path in moved.rglob("*") if path.is_file()]
    random = Random(1)
    for _ in range(60):
        path = random.choices(files, [file.stat().st_size for file in files])[0]
        good = path.read_bytes()
        data, place = bytearray(good), random.randrange(len(good))
        data[place] ^= 1 << random.randrange(8)
        path.write_bytes(data)
        assert main(["verify", str(moved)]) == 1, (path, place)
        path.write_bytes(good)
    for path in files:  # each is noticed where it is used, too
        good = path.read_bytes()
        path.write_bytes(bytes([good[0] ^ 1]) + good[1:])
        assert main(["translate", str(moved), str(tmp_path / "text")]) == 1
        path.write_bytes(good)
    (moved / "more").write_text("a")
    assert main(["verify", str(moved)]) == 1
    check_named(capfd.readouterr().out, ["more", "SHA256SUMS"])


@pytest.mark.slow
def test_a_packed_system_translates_with_an_installed_wheel(repository: Path, tmp_path: Path, capfd) -> None:
    """In a process that finds nothing of the checkout."""
    pytest.importorskip("setuptools", "77")
    expected = pack(tmp_path, capfd, "baseline")
    checkout, elsewhere = copy_checkout(repository, tmp_path / "checkout"), tmp_path / "elsewhere"
    offline = ("--no-index", "--no-deps", "--no-build-isolation")
    made = python(checkout, "-m", "pip", "wheel", *offline, "--wheel-dir", "wheels", ".")
    assert made.returncode == 0, made.stderr
    shutil.unpack_archive(next(checkout.glob("wheels/*.whl")), elsewhere / "pkg", "zip")
    assert [name for name in tracked(repository) if name.startswith("pkg/") and not (elsewhere / name).exists()] == []
    shutil.rmtree(checkout)
    translated = python(elsewhere, "-m", "neural_smt", "translate", "../moved", "../text")
    assert (translated.returncode, translated.stdout) == (0, expected), translated.stderr


def test_what_a_system_lacks_is_named(tmp_path: Path) -> None:
    config = write_experiment(tmp_path)
    experiment = Experiment.load(str(config), folder=tmp_path)
    made_of = experiment.open("network").content
    del made_of["network"]["candidates"]["lexical"]
    check_refused(["dictionary", "1", "lexical"], load_translator, System(tmp_path, made_of))
    opened = experiment.open("baseline")
    damaged = next(path for path in (tmp_path / "results").rglob("arrays.safetensors"))
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-1])
    check_refused([damaged, "damaged"], pack_system, opened, tmp_path / "packed")
    damaged.write_bytes(whole)
    (tmp_path / "results/small/systems/search.json").unlink()
    check_refused(["search.json", "system.json"], pack_system, opened, tmp_path / "packed")
    assert not (tmp_path / "packed").exists()
    (tmp_path / "system.json").write_text('{"name": "x"}')
    check_refused(["system.json", "'kind'"], open_system, str(tmp_path))


@pytest.mark.parametrize(("changed", "pieces"), REFUSED["descriptions"])
def test_descriptions_out_of_range_are_refused(tmp_path: Path, changed: dict, pieces: list) -> None:
    content = {"name": "a", "kind": "lattices", "languages": {}, "network": {"model": "b"}, "beam": 1, "nbest": 100}
    write_json(tmp_path / "system.json", content)
    assert System.load(tmp_path).of_network("model") == tmp_path / "b"
    write_json(tmp_path / "system.json", content | changed)
    check_refused([tmp_path / "system.json", *pieces], lambda: System.load(tmp_path).of_network("model"))
