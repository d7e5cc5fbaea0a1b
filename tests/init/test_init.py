"""``init``: from two files to an experiment, and a sentence for everything that stands in the way."""

import gzip
import hashlib
import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkouts import snakemake
from german_english import sentences, write_corpus, write_pairs
from refusals import check_error, check_named

from neural_smt.cli import main
from neural_smt.corpus.tokenisation import tokenise_lines
from neural_smt.experiment.configuration import complete
from neural_smt.init import steps
from neural_smt.io.files import read_json, read_lines

CASES = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def unplanned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder to be in, where plans cost nothing."""
    monkeypatch.setattr(steps, "_plan", lambda folder, machine: CASES["plan"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def complete_of(folder: Path) -> dict[str, Any]:
    return complete(yaml.safe_load((folder / "experiment.yaml").read_text(encoding="utf-8")))


@pytest.mark.slow
def test_german_english_from_two_files_to_a_planned_experiment(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["init", "corpus.de", "corpus.en", "--cores", "2"]) == 0
    said = capsys.readouterr().out
    folder = tmp_path / "corpus"
    texts = {"dev.de", "dev.en", "test.de", "test.en", "train.de.gz", "train.en.gz"}
    assert {path.name for path in folder.iterdir()} == texts | {"experiment.yaml", "split.csv"}
    config = complete_of(folder)
    assert (config["experiment"], config["data_mirror"]) == ("corpus", str(folder))
    assert config["languages"] == {"source": "de", "target": "en"}
    assert config["systems"].keys() == {"baseline", "rnn", "cslm_rnn"}
    parts = {}
    for source, part in (("corpus", "train"), ("dev", "dev"), ("test", "test")):
        sides = [config["corpus"]["sources"][source][language] for language in ("de", "en")]
        for side in sides:
            assert side["sha256"] == hashlib.sha256((folder / side["path"]).read_bytes()).hexdigest()
        parts[part] = list(zip(*(read_lines(folder / side["path"]) for side in sides), strict=True))
    assert [len(parts[part]) for part in ("train", "dev", "test")] == [540, 30, 30]
    assert sorted(itertools.chain(*parts.values())) == sorted(sentences(600))
    assert "sacreBLEU" not in said
    for part in CASES["printed"]:
        assert part.format(repository=repository, folder=folder) in said


@pytest.mark.parametrize(("files", "options", "languages", "name"), CASES["named"])
def test_names_tell_languages_and_direction(
    unplanned: Path, files: list[str], options: list[str], languages: list[str], name: str
) -> None:
    for file in files:
        side = 1 if ".en" in file or file == "b" else 0
        data = "".join(f"{pair[side]}\n" for pair in sentences(300)).encode()
        Path(file).write_bytes(gzip.compress(data) if file.endswith(".gz") else data)
    assert main(["init", *files, *options]) == 0
    folder = Path("elsewhere" if "--output" in options else name)
    config = complete_of(folder)
    assert config["experiment"] == name
    assert config["languages"] == {"source": languages[0], "target": languages[1]}
    assert any(letter in (folder / "dev.de").read_text(encoding="utf-8") for letter in "äöü")


def test_sets_of_ones_own_are_taken_as_they_are(unplanned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(unplanned, 600)
    pairs = sentences(640)
    write_pairs(unplanned, "mine", pairs[590:640])
    write_pairs(unplanned, "theirs", pairs[580:595])
    # sides of a set come in any order that their names tell
    options = ["--dev", "mine.en", "mine.de", "--test", "theirs.de", "theirs.en"]
    assert main(["init", "corpus.de", "corpus.en", *options]) == 0
    assert Path("corpus/dev.de").read_text() == Path("mine.de").read_text()
    assert Path("corpus/test.en").read_text() == Path("theirs.en").read_text()
    said = capsys.readouterr().out
    check_named(said, ["note", "5 pairs", "--test", "--dev", "note", "20 pairs", "--dev", "--test", "training text"])
    check_named(said, ["corpus/", "580 train", "50 dev", "15 test"])
    assert complete_of(Path("corpus"))["corpus"]["dev"] == "dev"


def test_another_script_passes(unplanned: Path) -> None:
    pairs = [(f"Мальчик читает новую книгу, {n} раз.", f"The boy reads the new book {n} times.") for n in range(300)]
    write_pairs(unplanned, "school", pairs, "ru en")
    assert main(["init", "school.ru", "school.en", "--dev-size", "20", "--test-size", "10"]) == 0
    assert complete_of(Path("school"))["languages"] == {"source": "ru", "target": "en"}
    assert len(Path("school/test.ru").read_text(encoding="utf-8").splitlines()) == 10


def test_tokenised_text_may_be_of_any_language(unplanned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(unplanned, 300)
    Path("corpus.de").rename("corpus.tlh")
    assert main(["init", "corpus.tlh", "corpus.en", "--tokenised"]) == 0
    config = complete_of(Path("corpus"))
    assert all(source["tokenised"] for source in config["corpus"]["sources"].values())
    assert "--system rnn --tokenised text.txt\n" in capsys.readouterr().out


def test_an_earlier_init_is_written_over_when_told_to(unplanned: Path) -> None:
    write_corpus(unplanned, 300)
    assert main(["init", "corpus.de", "corpus.en"]) == 0
    before = Path("corpus/test.de").read_text()
    assert main(["init", "corpus.de", "corpus.en", "--force", "--seed", "2"]) == 0
    assert Path("corpus/test.de").read_text() != before


@pytest.mark.parametrize("row", CASES["faults"], ids=[" ".join(row["arguments"]) for row in CASES["faults"]])
def test_each_fault_gets_one_sentence(unplanned: Path, capsys: pytest.CaptureFixture[str], row: dict[str, Any]) -> None:
    write_corpus(unplanned, 300)
    write_pairs(unplanned, "swapped", [*sentences(300), ("die und nicht ist " * 200, "the and is of " * 200)], "en de")
    write_pairs(unplanned, "twice", [*sentences(150), *sentences(150)])
    for name in ("text.txt", "other.de", "corpus.tlh", "corpus.ar", "texts/notes"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("x\n")
    for arguments in row.get("before", []):
        assert main(["init", *arguments]) == 0
    pieces = [str(piece).replace("{folder}", str(unplanned)) for piece in row["names"]]
    there = sorted(Path().rglob("*"))
    assert main(["init", *row["arguments"]]) == 1
    assert sorted(Path().rglob("*")) == there, "it leaves nothing behind"
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    check_error(told, pieces)


def test_an_attention_network_is_two_marks_away(unplanned: Path) -> None:
    write_corpus(unplanned, 300)
    assert main(["init", "corpus.de", "corpus.en"]) == 0
    file = Path("corpus/experiment.yaml")
    without = complete_of(Path("corpus"))
    assert "attention" not in without["systems"]
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("  # attention:", "  attention:").replace("  #   clip", "    clip"), encoding="utf-8")
    config = complete_of(Path("corpus"))
    assert config["systems"]["attention"]["translate"]["network"] == "attention"
    settings = config["networks"]["attention"]
    assert (settings["hidden"], settings["embedding"], settings["epochs"]) == (128, 64, 20)
    assert settings["average_weights"]


def test_sacrebleu_counts_no_words_without_spaces(unplanned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(unplanned, 300)
    words = ["这 是 一个", "没有 空格 的", "中文 句子", "我们 读 书", "他 在 家"]
    lines = [f"{one} {other} {n} 。" for n in range(12) for one in words for other in words]
    Path("corpus.zh").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert main(["init", "corpus.de", "corpus.zh"]) == 0
    check_named(capsys.readouterr().out, ["note", "sacreBLEU", "'zh'"])


@pytest.mark.slow
def test_german_english_runs_through_to_bleu_from_any_folder(unplanned: Path, repository: Path) -> None:
    write_corpus(unplanned, 600)
    assert main(["init", "corpus.de", "corpus.en", "--output", "deep/er"]) == 0
    (unplanned / "less.yaml").write_text(yaml.safe_dump(CASES["less"]))
    (unplanned / "elsewhere").mkdir()
    results = unplanned / "elsewhere" / "results" / "corpus"
    done = snakemake(
        unplanned / "elsewhere",
        *("--snakefile", str(repository / "Snakefile"), "--cores", "1", "--configfile"),
        *(str(unplanned / "deep/er/experiment.yaml"), str(unplanned / "less.yaml")),
        *("--", "results/corpus/evaluation/baseline/run1/test.json"),
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    german = read_lines(unplanned / "deep/er/test.de")
    assert read_lines(results / "corpus/tokenised/test.de") == list(tokenise_lines(german, "de"))
    assert len(german) == len(read_lines(results / "evaluation/baseline/run1/test.txt")) == 30
    # every word and phrase of it was in the training text
    assert read_json(results / "evaluation/baseline/run1/test.json")["sacrebleu"] > 60


@pytest.mark.parametrize(("pairs", "hidden", "suited"), CASES["suited"])
def test_larger_corpora_get_larger_networks(pairs: int, hidden: int, suited: dict[str, int | str]) -> None:
    found = steps.suit(pairs, 20 * pairs)
    assert found["networks"]["encoder_decoder"]["hidden"] == hidden
    assert found | suited == found


def test_folders_may_be_called_anything(unplanned: Path) -> None:
    write_corpus(unplanned, 300)
    for name in ('a "b" \\ c: #é', "100% {x} 'y' - &z *w", "no", "\u2028 \U0001f600"):
        assert main(["init", "corpus.de", "corpus.en", "--output", name]) == 0
        assert complete_of(Path(name))["data_mirror"] == str(unplanned / name)
