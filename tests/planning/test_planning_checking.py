"""Checks before an experiment starts: its texts, the disk, the GPU's memory; here on faked disks and GPUs."""

import gzip
import re
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from published_archives import OPUS, SOURCE, TARGET, TEXT, publish, serve
from refusals import check_error, check_named, check_refused, check_sentence

from neural_smt.cli import main
from neural_smt.experiment.configuration import complete
from neural_smt.io.files import read_json, read_yaml
from neural_smt.planning import checking
from neural_smt.planning.checking import check_experiment, check_here, check_source

Usage = namedtuple("Usage", "total used free")

MINE = Path(__file__).with_name("mine.yaml")
"""An experiment of one's own texts, whose lines are counted here."""

LINES = {"talks.en": 3, "talks.fr.gz": 3, "more.fr": 5, "old.en": 2, "old.fr": 2, "g.en": 1, "g.fr": 1}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment of one's own with its texts, in the working folder."""
    monkeypatch.chdir(tmp_path)
    for name, lines in LINES.items():
        data = b"un mot\n" * lines
        Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    Path("g.align").write_text("0-0 1?1\n")
    return tmp_path


@pytest.fixture
def checked(repository: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """What the verb says, of status, standard output and standard error."""

    def run(**changes: Any) -> tuple[int, list[str], str]:
        Path("changes.yaml").write_text(yaml.safe_dump(changes))
        files = ["--configfile", str(MINE), "changes.yaml", "--snakefile", str(repository / "Snakefile")]
        status = main(["check", *files, "--throughputs", str(repository / "benchmarks" / "throughputs.json")])
        told = capsys.readouterr()
        return status, told.out.splitlines(), told.err

    return run


@pytest.fixture
def whole() -> dict[str, Any]:
    return complete(read_yaml(MINE))


def test_texts_that_are_here_are_counted_and_others_left_to_the_workflow(checked: Any) -> None:
    status, out, err = checked()
    assert (status, err) == (0, "")
    sources = ["more: 5 lines (fr)", "talks: 3 lines (en, fr)", "old: 2 lines (en, fr)"]
    assert out[:4] == [*sources, "gold: 1 line (en, fr, alignment)"]
    assert out[4].startswith("disk: ") and out[5] == "GPU: not asked for (device: auto)"
    Path("talks.en").unlink()
    talks = {"en": {"url": "https://example.org/talks.en"}, "size": {"sentences": 9, "words": 99}}
    status, out, err = checked(corpus={"sources": {"talks": talks}})
    assert (status, err) == (0, "")
    assert out[1:3] == ["talks: 3 lines (fr)", "talks: checked when the workflow fetches it (en)"]


@pytest.mark.parametrize("row", read_yaml(MINE.with_name("faults.yaml")))
def test_what_is_odd_about_a_text_is_told(checked: Any, row: dict[str, Any]) -> None:
    for name, data in row["files"].items():
        if data is None:
            Path(name).unlink()
        else:
            Path(name).write_bytes(data if isinstance(data, bytes) else data.encode())
    status, _, told = checked(**row.get("settings", {}))
    kind = row.get("kind", "")
    assert (status, told.partition(": ")[0], told.count("\n")) == (int(kind == "error"), kind, int(bool(kind)))
    assert kind == "" or check_sentence(told.rstrip("\n"), row["names"]) is None


def test_a_dry_run_warns_of_texts_that_are_not_there(
    folder: Path, whole: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    check_here(whole)
    assert capsys.readouterr().err == ""
    for name in ("old.fr", "more.fr"):
        (folder / name).unlink()
    check_here(whole)
    told = capsys.readouterr().err
    check_named(told, ["warning", "corpus.sources.more.fr", "more.fr", "no such file", "data_mirror", "2 sources"])
    (folder / "old.en").write_bytes(b"")
    (folder / "old.fr").write_bytes(b"")
    check_refused(["old.en", "empty"], check_here, whole)


def test_texts_are_listed_and_fetched_by_a_verb(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = read_yaml(MINE)
    with serve(publish(folder / "published")) as server:
        archive = f"{server.address}/{OPUS}"
        sides = {side: {"url": archive, "member": f"News.en-fr.{side}"} for side in ("en", "fr")}
        more = {"fr": {"url": f"{server.address}/{TEXT}"}, "size": {"sentences": 2, "words": 2000}}
        config["corpus"]["sources"] |= {"old": sides | {"licence": "CC0", "origin": "OPUS"}, "more": more}
        Path("own.yaml").write_text(yaml.safe_dump(config))
        assert main(["data", "own.yaml", "--no-download"]) == 0
        texts = f"""more: 2 sentences; 2,000 words\n  fr: {server.address}/{TEXT}
talks: nothing is declared of it\n  en: here, talks.en\n  fr: here, talks.fr.gz
old: licence: CC0; origin: OPUS\n  en: {archive}\n  fr: {archive}\n"""
        assert capsys.readouterr().out.startswith(texts)
        assert server.asked == []
        for _ in range(2):
            assert main(["data", "own.yaml"]) == 0
        assert server.asked == [f"/{TEXT}", f"/{OPUS}"], "an archive and a text, once"
    for name, text in (("raw/more.fr", TARGET), ("extracted/old.fr", TARGET), ("extracted/old.en", SOURCE)):
        assert gzip.decompress(Path(f"results/mine/corpus/{name}.gz").read_bytes()) == text
    Path("talks.en").unlink()
    assert main(["data", "own.yaml"]) == 1
    told = capsys.readouterr()
    assert "  en: missing, talks.en\n" in told.out and told.out.endswith("  alignment: here, g.align\n")
    check_error(told.err, ["1 file", "data_mirror", "talks.en"])


def test_a_nul_is_refused_in_what_is_tokenised_alone(whole: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\0 two\nthree\n")
    assert check_source(whole, "talks", {"en": tmp_path / "a"}).lines == 2
    whole["corpus"]["sources"]["talks"]["tokenised"] = True
    check_refused(["a", "line 1", "NUL"], check_source, whole, "talks", {"en": tmp_path / "a"})


def test_a_disk_that_is_too_small_is_refused_or_warned_of(checked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake_disk(free: float, wanted: float) -> None:
        monkeypatch.setattr(checking.shutil, "disk_usage", lambda place: Usage(1e15, 0, free))
        monkeypatch.setattr(checking, "list_jobs", lambda *arguments: [])
        monkeypatch.setattr(checking, "forecast_jobs", lambda *arguments: [SimpleNamespace(disk=wanted)])

    fake_disk(free=2e9, wanted=5e9)
    pieces = [Path("results").absolute(), "5.0 GB", "2.0 GB", "0 kB"]
    status, _, err = checked()
    assert status == 1
    check_error(err, [*pieces, "check: {disk: false}"])
    status, out, err = checked(check={"disk": False})
    assert (status, out[4]) == (0, "disk: about 5.0 GB of 2.0 GB")
    check_named(err, ["warning", *pieces])
    fake_disk(free=2e9, wanted=3e9)
    status, _, err = checked()
    assert status == 0 and err.startswith("warning: ")
    # what earlier runs take counts as room
    Path("results/mine").mkdir(parents=True)
    Path("results/mine/table").write_bytes(bytes(3000))
    fake_disk(free=2000, wanted=4000)
    assert checked()[1][4] == "disk: about 4 kB of 5 kB"


def test_the_prediction_is_that_of_the_plan(checked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking.shutil, "disk_usage", lambda place: Usage(1e15, 0, 10.0))
    status, _, err = checked()
    assert status == 1 and re.search(r"1\.\d MB .*0 kB .*0 kB ", err), err


NETWORK = {"systems": {"rnn": {"label": "RNN", "base": "baseline", "features": ["encoder_decoder"]}}}


def test_a_network_too_large_for_the_gpu_is_refused(checked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "gpu_memory", lambda: 8e9)
    status, out, _ = checked(device="cuda", **NETWORK)
    assert status == 0
    assert out[-1].endswith(" of 8.0 GB") and out[-1].startswith("GPU: about 1.")
    large = {"networks": {"encoder_decoder": {"hidden": 10_000}}, **NETWORK}
    status, _, err = checked(device="cuda", **large)
    assert status == 1
    check_error(err, ["networks.encoder_decoder", "8.0 GB", "batch", "training.processes", "check: {gpu: false}"])
    assert checked(device="cuda", check={"gpu": False}, **large)[0] == 0


def test_sets_whose_sentences_are_training_text_are_told(folder: Path, checked: Any) -> None:
    long = [f"it is sentence {number} of many" for number in range(40)]
    Path("old.en").write_text("\n".join([*long[:3], *(f"{line} others" for line in long[3:]), "short", "short"]) + "\n")
    Path("old.fr").write_text("un\n" * 42)
    for language in ("en", "fr.gz"):
        text = "\n".join([*long, "short"]).encode()
        Path(f"talks.{language}").write_bytes(gzip.compress(text) if language == "fr.gz" else text)
    status, _, err = checked(check={"texts": True}, corpus={"dev": "old", "test": ["gold"]})
    assert status == 0
    check_named(err, ["warning", "8%", "'old'", "'talks'"])


def test_a_gpu_that_is_asked_for_must_be_there(checked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    status, _, err = checked(device="cuda")
    assert status == 1
    check_error(err, ["device", "cuda", "auto", "cpu"])


def test_memory_is_that_of_each_gpu(whole: dict[str, Any], repository: Path) -> None:
    config = read_yaml(repository / "experiments" / "wmt14.yaml")
    needs = {}
    for processes in (1, 4):
        config["training"] = {"processes": processes}
        made = complete(config)
        sizes = checking.expect_sizes(made, checking.RATIOS, Path("nowhere"))
        needs[processes] = checking.gpu_needs(checking.Experiment(made, sizes))
    assert {"encoder_decoder", "cslm", "attention"} <= set(needs[1])
    for name, (weights, memory) in needs[1].items():
        assert needs[4][name][0] == weights
        assert needs[4][name][1] < memory
    # words of 500,000 a side, each with a vector of 620 numbers to read and, on the target side, another to write
    assert needs[1]["attention"][0] > 500_000 * 3 * 620


def test_the_first_job_keeps_what_it_found(folder: Path, whole: dict[str, Any]) -> None:
    texts = {"talks": {"en": "talks.en", "fr": "talks.fr.gz"}, "gold": {"en": "g.en", "alignment": "g.align"}}
    arguments = {"snakefile": Path("s"), "throughputs": Path("t"), "configuration": whole, "device": "cpu"}
    whole["corpus"] |= {"monolingual": ["talks"], "dev": "talks", "test": ["talks"], "gold": ["talks"]}
    check_experiment(texts=texts, output=Path("out/checked.json"), **arguments)
    found = read_json(Path("out/checked.json"))
    assert found["lines"] == {"talks": 3, "gold": 1}
    assert found["gpu"] == "GPU: not asked for (device: cpu)"
    Path("talks.en").write_text("one\n")
    arguments |= {"texts": texts, "output": Path("other.json")}
    check_refused(["talks.en", 1, "talks.fr.gz", 3], check_experiment, **arguments)
    assert not Path("other.json").exists()
