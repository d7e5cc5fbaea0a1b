"""Files that the report reads, as the stages write them, and the tables that it should make of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from moses_tables import save_table

from neural_smt.decoding.attention_steps import HEADER
from neural_smt.io.arrays import write_arrays
from neural_smt.io.files import read_yaml, write_json
from neural_smt.io.records import FILE
from neural_smt.io.tables import write_rows
from neural_smt.shortlist import most_frequent
from neural_smt.training.learning_curve import Record, write_curve
from neural_smt.vocabulary_selection.coverage_steps import TRAINING, Coverage, write_coverage
from neural_smt.workflow.invoke import find_step, parameters

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
EXPECTED = Path(__file__).with_name("expected")
EXPERIMENTS = read_yaml(Path(__file__).with_name("experiments.yaml"))


def written(path: Path, value: object) -> str:
    """The path of a JSON file with this value."""
    write_json(path, value)
    return str(path)


def evaluations(folder: Path, bleu: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, dict[str, list[str]]]:
    """The evaluation of systems whose sacreBLEU on each set, run by run, is given; BLEU of tokens is higher by 1."""
    return {
        system: {
            name: [
                written(
                    folder / f"evaluation/{system}/run{run}/{name}.json",
                    {"sacrebleu": value, "tokenised_bleu": value + 1, "signature": SIGNATURE},
                )
                for run, value in enumerate(values, start=1)
            ]
            for name, values in sets.items()
        }
        for system, sets in bleu.items()
    }


def comparisons(folder: Path, p_values: Mapping[str, Mapping[str, float | None]]) -> dict[str, str]:
    """Comparisons with the baseline on each set: set -> system -> p, null for a system without control."""
    return {
        name: written(
            folder / f"significance.{name}.json",
            {system: {"p_value": p, "control": p if p is None else "baseline"} for system, p in values.items()},
        )
        for name, values in p_values.items()
    }


def arguments(name: str, folder: Path) -> dict[str, Any]:
    """What the step of a table of ``experiments.yaml`` takes, its files written."""
    given = {key: value for key, value in EXPERIMENTS[name].items() if key != "step"}
    if name == "attention":
        return {**given, "files": _attention(given["files"], folder)}
    return _placed(folder, given) | (_phrase_table(folder) if name == "cho2014" else {})


def _placed(folder: Path, given: Any) -> Any:
    """The same with paths of files in place of what they hold."""
    if isinstance(given, list):
        return [_placed(folder, one) for one in given]
    if not isinstance(given, dict):
        return given
    if "path" not in given:
        special = {"scores": evaluations, "significance": comparisons}
        return {key: special.get(key, _placed)(folder, own) for key, own in given.items()}
    path = folder / given["path"]
    path.parent.mkdir(parents=True, exist_ok=True)
    match given:
        case {"json": value}:
            write_json(path, value)
        case {"text": text}:
            path.write_text(text * given.get("times", 1), encoding="utf-8")
        case {"curve": records}:
            write_curve(path, [Record(*record) for record in records])
        case {"rows": rows}:
            write_arrays(path / FILE, {}, {"rows": rows})
        case {"weights": shapes}:
            path.mkdir()
            weights = {f"w{i}": np.zeros(shape, np.float32) for i, shape in enumerate(shapes)}
            write_arrays(path / "weights.safetensors", weights)
    return str(path)


def _phrase_table(folder: Path) -> dict[str, Path]:
    """A phrase table of which x is the most frequent target word; y and z are outside the shortlist."""
    files, (_, target) = save_table(folder, [("a", "x"), ("a", "x y"), ("b", "x"), ("c", "y x z")])
    del files["source_vocabulary"]
    most_frequent(target, 1).save(folder / "shortlist")
    return files | {"target_shortlist": folder / "shortlist"}


def _attention(given: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The files of attention networks and of systems that they are part of."""
    systems, bleu, translations = {}, {}, {}
    for system, (label, runs, *made) in given["systems"].items():
        systems[system] = {"label": label}
        bleu[system] = {name: [value + i for value in runs] for i, name in enumerate(("dev", "test"))}
        if made:
            names = ("network", "vocabulary", "frequent")
            systems[system] |= dict(zip(names, made, strict=True)) | {"replace_unknown": system.endswith("_unk")}
            took = given["took"] | given["other_took"].get(system, {})
            translations[system] = {name: [written(folder / f"{system}.{name}.json", took)] for name in ("dev", "test")}
    for name, values in given["epochs"].items():
        rows = [[n, 10 * n, {1: "nan", 3: ""}.get(n, 50 - n), value, 1.5] for n, value in enumerate(values, start=1)]
        write_rows(folder / f"{name}.epochs.csv", HEADER, rows)
    p_values = dict.fromkeys(bleu, 0.0004) | {"baseline": None, "jean": 0.25}
    return {
        "systems": systems,
        "scores": evaluations(folder, bleu),
        "significance": comparisons(folder, {"dev": p_values, "test": p_values}),
        "translations": translations,
        "curves": _placed(folder, given["curves"]),
        "epochs": {name: str(folder / f"{name}.epochs.csv") for name in given["epochs"]},
        "coverage": str(_coverage(given["coverage"], folder / "coverage.csv")),
    }


def _coverage(fractions: Sequence[tuple[str, int | None, float]], path: Path) -> Path:
    """What the sets hold of 1,000 words, of which the network knows 970."""
    held = Coverage(1000, 970, 970, 50, 10, sentence_size=321.4, batch_size=1234.6)
    rows = [
        (text, parts, top or "", *held._replace(covered=int(1000 * fraction)))
        for text in ("train", "dev", "test")
        for parts, top, fraction in fractions
    ]
    rows.append(("train", TRAINING, 10, *held._replace(sentence_size=330.6, batch_size=1500.2)))
    frame = pd.DataFrame(rows, columns=["text", "parts", "top", *Coverage._fields])
    write_coverage(path, path.with_suffix(".md"), frame, top=10, batch=80)
    return path


def write(name: str, given: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """Write a table of ``experiments.yaml`` from these arguments; its outputs."""
    step, files = find_step(EXPERIMENTS[name]["step"]), {"csv_output": "csv", "markdown_output": "md", "plot": "png"}
    outputs = {key: folder / f"out.{suffix}" for key, suffix in files.items() if key in parameters(step)}
    step(**given, **outputs)
    return outputs


def check_written(outputs: Mapping[str, Path], name: str) -> None:
    """What was written is the table of this name in the folder ``expected``, as CSV and as Markdown."""
    found = {path.suffix: path.read_text(encoding="utf-8") for key, path in outputs.items() if key != "plot"}
    assert found == {suffix: (EXPECTED / f"{name}{suffix}").read_text(encoding="utf-8") for suffix in found}
    assert "plot" not in outputs or outputs["plot"].read_bytes().startswith(b"\x89PNG")
