"""The workflow as a user runs it: one tiny experiment from text to table, with rows of every kind."""

import inspect
import re
from base64 import urlsafe_b64encode
from pathlib import Path

import pandas as pd
import pytest
from checkouts import TINY, copy_results, own_package, planned, read_plan, run, translated, write_rows
from snakemake.scheduling.job_scheduler import JobScheduler

from neural_smt.cli import main
from neural_smt.io.files import digest_lines, read_csv, read_json, read_lines, read_yaml
from neural_smt.vocabulary import Vocabulary
from neural_smt.vocabulary_selection.candidates import CandidateSets
from neural_smt.workflow.job_usage import BenchmarkPath

ROWS = Path(__file__).with_name("rows.yaml")
"""Rows that the tiny experiment does without."""

CONFIGURATION = ["--configfile", TINY, str(ROWS)]

EDITS = read_yaml(Path(__file__).with_name("edits.yaml"))["edits"]
"""File of the package -> what runs again when it is edited."""


def test_the_table_has_both_systems_with_real_scores(finished: Path) -> None:
    folder = finished / "results" / "tiny"
    table = (folder / "report" / "table1.csv").read_text(encoding="utf-8")
    assert "Baseline," in table
    assert "Baseline + RNN," in table
    for system in ("baseline", "rnn"):
        scores = read_json(folder / f"evaluation/{system}/run1/news_test.json")
        assert 5 < scores["sacrebleu"] <= 100
        assert "tok:13a" in scores["signature"]
    assert "EncoderDecoder0" in read_json(folder / "tuning/rnn/run1/weights.json")
    assert [row["network"] for row in read_csv(folder / "report/networks.csv")] == ["encoder_decoder"]
    order = read_lines(folder / "report/cho2014.csv")
    assert len(order) == 3 and all(line.split(",")[1:3] == ["rnn", "baseline"] for line in order[1:])


@pytest.fixture(scope="module")
def rows(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in which the tiny experiment has run with rows of every kind."""
    checkout = copy_results(finished, tmp_path_factory.mktemp("rows") / "checkout")
    run(checkout, *CONFIGURATION)
    return checkout


@pytest.mark.slow
def test_rows_of_every_kind_come_out(rows: Path) -> None:
    folder, systems = rows / "results" / "tiny", read_yaml(ROWS)["systems"]
    for system, row in systems.items():
        scores = read_json(folder / f"evaluation/{system}/run1/news_test.json")
        assert (0 if "translate" in row else 5) <= scores["sacrebleu"] <= 100
        if "translate" in row:
            continue
        weights = read_json(folder / f"tuning/{system}/run1/weights.json")
        assert ("Attention0" in weights) == (system == "attended")
        assert ("Cslm0" in weights) == (system in ("searched", "rescored", "cslm_lattices"))
        assert ({"Tanh0", "Reverse0", "UnknownPenalty0"} <= set(weights)) == (system == "both")
    decoding = read_json(folder / "decoding/searched/run1/news_test.json")
    assert 0 < decoding["cslm"]["cache_hits"] < decoding["cslm"]["ngrams"]
    check_table_of_data(folder)
    check_joint_tables(folder, systems)
    check_table_of_classes(folder)
    names = [system for system in ("baseline", *systems) if not system.startswith("oracle")]
    assert translated(rows, CONFIGURATION[1:], names) == [f"{system} 0 True" for system in names]
    assert planned(rows, *CONFIGURATION) == set()


@pytest.fixture(scope="module")
def edited(rows: Path) -> Path:
    """The same with a package that can be edited."""
    own_package(rows)
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_reruns_what_it_has_a_part_in(edited: Path, name: str) -> None:
    file, expected = edited / "pkg/neural_smt" / name, EDITS[name]
    content = file.read_bytes()
    file.write_bytes(content + b"\n# edited\n")
    found = read_plan(run(edited, *CONFIGURATION, "-n"))
    file.write_bytes(content)
    assert found.networks == set(expected.get("networks", []))
    assert found.systems == set(expected.get("systems", found.systems))
    assert set(expected.get("reruns", [])) <= found.jobs.keys() and bool(found.jobs) == bool(expected)
    assert not set(expected.get("keeps", [])) & found.jobs.keys()


def check_joint_tables(folder: Path, systems: dict) -> None:
    """The rows of recurrent models have their feature, do without what they should, and stand beside the paper's."""
    for system, row in systems.items():
        if not {"rescore", "rescoring"} & row.keys() or row.get("rescore") in (["cslm"], ["attention"]):
            continue
        weights = read_json(folder / f"tuning/{system}/run1/weights.json")
        assert ("Recurrent0" in weights) == ("rescore" in row)
        assert (weights["TranslationModel0"][2:] == [0, 0]) == ("drop_features" in row.get("rescoring", {}))
        chosen = read_json(folder / f"decoding/{system}/run1/news_test.json")
        assert ("mean_recurrent" in chosen) == ("rescore" in row and system != "joint_lists")
    assert read_json(folder / "decoding/cslm_lattices/run1/news_test.json")["mean_cslm"] < 0
    for system in ("in_search", "in_search_c5"):
        assert read_json(folder / f"tuning/{system}/run1/weights.json")["Recurrent0"] != [0]
        searched = read_json(folder / f"decoding/{system}/run1/news_test.json")["recurrent"]
        assert searched["evaluations"] > 0 and searched["hypotheses"] > 0
    figures = pd.read_csv(folder / "report/joint.csv", dtype={"table": str})
    here = figures.groupby(["table", "system", "quantity"])["here"].last()
    assert {"1", "5", "6", "7"} <= set(here.index.levels[0])
    assert here["1", "recurrent", "seconds"] > 0
    assert here["1", "recurrent", "oracle"] >= here["1", "nbest_100", "oracle"]
    assert here["Further", "in_search", "bleu"] > 5
    names = ("baseline", "recurrent", "sent_lsa_80", "ww_rnn_n5")
    assert all(here["5", name, "perplexity"] > 1 for name in names)


def check_table_of_classes(folder: Path) -> None:
    """Models that differ in their classes alone stand side by side, be they used by systems or not."""
    rows = pd.read_csv(folder / "report/classes.csv", index_col="network")
    assert rows["method"].to_dict() == {"recurrent": "optimal", "by_frequency": "frequency"}
    assert rows["classes"]["by_frequency"] <= 9 and rows["cost"]["recurrent"] < rows["cost"]["by_frequency"]
    for name, perplexity in rows["news_test:perplexity"].items():
        measured = read_json(folder / f"training/{name}/perplexity.json")["news_test.fr"]
        assert perplexity == pytest.approx(measured["network"], abs=1e-4)


def check_table_of_data(folder: Path) -> None:
    """The rows of other data were built from as many pairs as they should be, and so were their models."""
    pool, in_domain = (read_lines(folder / f"corpus/{name}.fr") for name in ("train", "in_domain"))
    selected = read_lines(folder / "selection/train.fr")
    drawn = read_lines(folder / "data/random/selection/train.fr")
    assert read_lines(folder / "data/all/selection/train.fr") == [*in_domain, *pool]
    assert len(drawn) == len(selected) < len(in_domain) + len(pool)
    assert drawn[: len(in_domain)] == in_domain and drawn != selected
    text = {name: read_lines(folder / f"{name}selection/monolingual.fr") for name in ("", "data/random/", "data/all/")}
    assert len(text["data/random/"]) == len(text[""]) < len(text["data/all/"]) == 200
    rows = pd.read_csv(folder / "report/data.csv", index_col="data")
    assert rows["system"].to_dict() == {"selected": "Baseline", "all": "whole", "random": "drawn"}
    assert rows["pairs"].to_dict() == {
        name: len(lines) for name, lines in (("selected", selected), ("all", [*in_domain, *pool]), ("random", drawn))
    }
    whole, parts = rows.loc["all"], rows.drop("all")
    assert whole["phrase_pairs"] > parts["phrase_pairs"].max() and whole["unknown"] <= parts["unknown"].min()
    assert whole["perplexity"] < parts["perplexity"].min()
    for name, system in (("all", "whole"), ("random", "drawn")):
        scores = read_json(folder / f"evaluation/{system}/run1/news_test.json")
        assert rows["news_test:sacrebleu"][name] == pytest.approx(scores["sacrebleu"], abs=1e-4)
        assert 0 < rows["news_test:p_value"][name] <= 1
    jobs = pd.read_csv(folder / "report/costs.csv", index_col=["stage", "rule"])["jobs"]
    assert jobs["alignment", "align"] == 6 and jobs["phrases", "build_phrase_table"] == 3


@pytest.mark.slow
def test_target_vocabularies_of_every_text(finished: Path) -> None:
    run(finished, "vocabulary_selection", "--configfile", TINY)
    folder = finished / "results" / "tiny"
    network = Vocabulary.load(folder / "vocabulary_selection/500000/network.fr.tsv")
    for name, text in (("train", "selection/train"), ("news_test", "corpus/tokenised/news_test")):
        source, target = (read_lines(folder / f"{text}.{side}") for side in ("en", "fr"))
        digests = {"vocabulary": network.digest, "source": digest_lines(source)}
        sets = CandidateSets.load(folder / f"vocabulary_selection/500000/default/{name}", **digests)
        assert len(sets) == len(source)
        assert ("reference" in sets.origins) == (name == "train")
        if name == "train":
            encoded = network.encode_words(target)
            assert all(set(words.tolist()) <= set(sets.of(i).tolist()) for i, words in enumerate(encoded))
    rows = pd.read_csv(folder / "vocabulary_selection/coverage.csv", dtype={"top": str}, keep_default_na=False)
    rows = rows[(rows["text"] == "news_test") & rows["top"].isin(["", "10"])].set_index("parts")
    covered, whole = rows["covered"], rows.loc["V^P + V^D + V^T"]
    assert covered["V^P + V^D + V^T"] == whole["known"], "V^T holds more words than the network knows"
    assert max(covered["V^P"], covered["V^D"]) < covered["V^P + V^D"] < covered["V^P + V^D + V^T"]
    assert whole["coverage"] == pytest.approx(whole["known"] / whole["reference_words"], abs=1e-6)
    assert planned(finished, "vocabulary_selection", "--configfile", TINY) == set()


@pytest.mark.slow
@pytest.mark.parametrize("system", ["baseline", "rnn"])
def test_what_is_exported_for_moses_translates_the_same(finished: Path, tmp_path: Path, system: str) -> None:
    run(finished, "export", "--configfile", TINY)
    folder = finished / "results" / "tiny"
    files = {
        "--moses-ini": folder / f"decoding/{system}/run1/moses/moses.ini",
        "--input": folder / "corpus/tokenised/news_test.en",
        "--output": tmp_path / "translation",
        "--compiled": tmp_path / "compiled",
    }
    assert main(["decode", *(str(word) for item in files.items() for word in item)]) == 0
    translation = folder / f"decoding/{system}/run1/news_test.hypothesis"
    assert (tmp_path / "translation").read_bytes() == translation.read_bytes()


@pytest.mark.slow
def test_every_job_ends_its_log_with_what_it_used(finished: Path) -> None:
    measured = sorted(finished.glob("results/**/benchmarks/**/*.tsv"))
    assert len(measured) > 60
    for path in measured:
        log = BenchmarkPath.of(path).log.read_text()
        said = re.search(r"used (\S+) CPU seconds and at most (\S+) MB, (\S+) of its own$", log)
        assert said and 0.1 < float(said[1]) < 600 and 20 < float(said[3]) <= float(said[2]) < 4000, path


@pytest.mark.parametrize(
    ("setting", "first", "kept"),
    [
        ({"evaluation": {"trials": 300}}, {"compare", "write_table"}, {"evaluate", "tune"}),
        ({"tuning": {"restarts": 3}}, {"tune", "decode", "evaluate"}, {"train_network", "build_phrase_table"}),
        ({"language_model": {"order": 3}}, {"build_language_model", "tune"}, {"build_phrase_table", "align"}),
        ({"corpus": {"generator": {"noise": 0.1}}}, {"generate", "tokenise"}, set()),
    ],
)
def test_a_changed_setting_reruns_only_what_depends_on_it(
    finished: Path, tmp_path: Path, setting: dict, first: set[str], kept: set[str]
) -> None:
    rules = planned(finished, "--configfile", TINY, write_rows(tmp_path, setting))
    assert first <= rules
    assert not kept & rules


def test_a_second_run_has_nothing_to_do_wherever_data_come_from_and_networks_run(finished: Path) -> None:
    assert planned(finished, "--configfile", TINY) == set()
    assert planned(finished, "--configfile", TINY, "--config", "data_mirror=/elsewhere", "device=cpu") == set()


def test_what_a_killed_run_was_to_make_again_is_made(finished: Path) -> None:
    name = "results/tiny/alignment/backward.align"
    kept = (finished / name).rename(finished / "kept")
    mark = finished / ".snakemake/incomplete" / urlsafe_b64encode(name.encode()).decode()
    untouched = planned(finished, "--configfile", TINY)
    mark.touch()
    made = planned(finished, "--configfile", TINY)
    mark.unlink()
    kept.rename(finished / name)
    assert untouched == set(), "files that nothing lacks may be thrown away"
    assert {"align", "symmetrise", "tune", "write_table"} <= made and "tokenise" not in made


def test_the_scheduler_works_without_the_limit_that_the_snakefile_takes_from_it() -> None:
    assert "if self.job_rate_limiter is not None:" in inspect.getsource(JobScheduler.schedule)
    assert "if self.job_rate_limiter is None:" in inspect.getsource(JobScheduler.job_selector)
