"""The summary that init prints: what it found and wrote, how long the experiment will take, what to type next."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.corpus.languages import UNSPACED
from neural_smt.corpus.splitting import LEFT_OUT, TRAIN
from neural_smt.corpus.survey import count_pairs
from neural_smt.init.experiment import SOURCES, Material
from neural_smt.init.paths import CHECKOUT, EXPERIMENT
from neural_smt.planning.sizes import quantity
from neural_smt.planning.steps import duration

USEFUL = 5000
"""Training pairs below which translations will hardly be of use."""


def report(material: Material, plan: dict[str, Any], remarks: list[str]) -> list[str]:
    """Everything, line by line; plan: as ``predict`` makes it; remarks: further ones."""
    survey, sides = material.survey, material.sides
    words = [f"{survey.spaced[n]:,} of {language}" for n, language in enumerate(sides.languages)]
    pairs = ", ".join(f"{material.pairs[part]:,} {part}" for part in SOURCES)
    rates, cores = plan["throughputs"], plan["machine"]["cores"]
    return [
        f"{sides.files[0]} -> {sides.files[1]}: {survey.pairs:,} pairs, words: {', '.join(words)}",
        *(f"  note: {remark}" for remark in [*remarks, *_remarks(material)]),
        f"{material.output}/: {pairs} pairs; {EXPERIMENT}",
        f"expected: {duration(plan['seconds'])} on {cores} core{'s' if cores > 1 else ''}, memory of a job up to "
        f"{quantity(plan['memory_mb'] * 1e6)}, disk {quantity(plan['disk_bytes'])} "
        f"(rates of {rates['machine']}, {rates['date']})",
        "next:",
        *(f"  {command}" for command in _commands(material, cores)),
    ]


def _remarks(material: Material) -> list[str]:
    survey, sets, roles = material.survey, material.sets, material.roles
    found = survey.remarks(material.tokenised)
    found += [f"{given.files[0]}: {remark}" for given in sets.values() for remark in given.remarks(tokenised=True)]
    if len(sets) == 2 and (shared := int(sets["test"].keys.shared(sets["dev"].keys).sum())):
        found.append(f"{count_pairs(shared)} of --test in --dev, whole or one side: scores will be too high")
    if lost := int((roles == LEFT_OUT).sum()) - survey.empty:
        found.append(f"{count_pairs(lost)} in --dev or --test, whole or one side, and so not in the training text")
    trained = survey.keys.pairs[roles == TRAIN]
    if repeated := len(trained) - len(np.unique(trained)):
        found.append(f"{count_pairs(repeated)} of the training text repeat others")
    if material.pairs["train"] < USEFUL:
        few = count_pairs(material.pairs["train"])
        found.append(f"{few} to train on are few: enough to try the workflow, not to translate well")
    if (target := material.sides.languages[1]) in UNSPACED:
        found.append(f"sacreBLEU counts words between spaces, which '{target}' has none of: look at BLEU on tokens")
    return found


def _commands(material: Material, cores: int) -> list[str]:
    """What to type: to run, to see the table, to translate."""
    here = Path.cwd() == CHECKOUT
    folder = material.output if here else material.output.resolve()
    file = str(folder / EXPERIMENT)
    programs = Path(sys.executable).parent
    found = shutil.which("snakemake") == str(programs / "snakemake")
    place = "" if found else f"{programs.relative_to(CHECKOUT) if programs.is_relative_to(CHECKOUT) else programs}/"
    program = f"{place}neural-smt"
    table = f"results/{material.name}/report/table1.csv"
    tokenised = ["--tokenised"] if material.tokenised else []
    commands = [
        [f"{place}snakemake", "--cores", str(cores), "--configfile", file],
        [program, "report", "print_table", "--table", table],
        [program, "translate", file, "--system", "rnn", *tokenised, "text.txt"],
    ]
    return [shlex.join(command) for command in ([] if here else [["cd", str(CHECKOUT)]]) + commands]
