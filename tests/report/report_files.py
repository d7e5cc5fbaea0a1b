"""Files that the report reads, as the stages write them, and the tables that it should make of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from neural_smt.io.files import write_json
from neural_smt.training.learning_curve import Record, write_curve

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
EXPECTED = Path(__file__).with_name("expected")


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
    """Comparisons with the baseline on each set: set -> system -> p."""
    return {
        name: written(folder / f"significance.{name}.json", {system: {"p_value": p} for system, p in values.items()})
        for name, values in p_values.items()
    }


def network(folder: Path, *shapes: tuple[int, ...], seconds: float = 12.6) -> dict[str, str]:
    """The files of a network with weights of these shapes, and 6,300 words in 20 updates; its last perplexity is not
    its best.
    """
    folder.mkdir(parents=True)
    save_file({f"w{i}": np.zeros(shape, np.float32) for i, shape in enumerate(shapes)}, folder / "weights.safetensors")
    records = [Record(10, 640, 5.0, 3.1, 40.5, 3000, 0.4), Record(20, 1280, seconds, 2.9, 41.25, 6300, 0.8)]
    write_curve(folder / "curve.csv", records)
    return {"curve": str(folder / "curve.csv"), "model": str(folder)}


def check_written(outputs: Mapping[str, Path], name: str) -> None:
    """What was written is the table of this name in the folder ``expected``, as CSV and as Markdown."""
    found = {path.suffix: path.read_text(encoding="utf-8") for key, path in outputs.items() if key != "plot"}
    assert found == {suffix: (EXPECTED / f"{name}{suffix}").read_text(encoding="utf-8") for suffix in found}
    assert "plot" not in outputs or outputs["plot"].read_bytes().startswith(b"\x89PNG")
