"""The verb ``init``: from two files of parallel text to an experiment that Snakemake runs."""

import os
from pathlib import Path
from typing import Any

from neural_smt.corpus.splitting import assign_pairs, survey_corpus, survey_set, write_parts
from neural_smt.errors import UserError
from neural_smt.init.experiment import Material, render
from neural_smt.init.paths import (
    CHECKOUT,
    EXPERIMENT,
    check_name,
    check_output,
    check_paths,
    order_set,
    read_sides,
    shipped_names,
)
from neural_smt.init.summary import report
from neural_smt.io.files import atomic
from neural_smt.planning.jobs import complete_configuration
from neural_smt.planning.schedule import Machine
from neural_smt.planning.steps import predict
from neural_smt.planning.throughputs import Throughputs


def init(
    *,
    files: list[Path],
    source: str | None = None,
    target: str | None = None,
    name: str | None = None,
    output: Path | None = None,
    dev: list[Path] = (),  # type: ignore[assignment]
    test: list[Path] = (),  # type: ignore[assignment]
    dev_size: int | None = None,
    test_size: int | None = None,
    tokenised: bool = False,
    seed: int = 1,
    cores: int | None = None,
    force: bool = False,
) -> None:
    """Make an experiment of your own parallel text: init mycorpus.en mycorpus.fr

    The files (plain or .gz, UTF-8, one sentence a line) are source and target side; their suffixes tell the languages
    unless --source and --target do. The text is checked and split into training, development and test text that share
    no pair and no side of more than three words. Written into a new folder: that text, and experiment.yaml, which
    Snakemake takes with --configfile. The time, memory and disk that the experiment will take are printed.

    name: of the experiment and its results (that of the files); output: the folder (the name); dev, test: two files
    each, of sets that you have already; dev_size, test_size: pairs to draw (1,000, or a twentieth of a small corpus);
    tokenised: words are separated by spaces already, in any language; seed: of what is drawn; cores: of the machine
    that the time is estimated for (all of this one); force: write over the folder of an earlier init.
    """
    sides = read_sides(files, source, target, tokenised)
    name = check_name(sides.name if name is None else name, shipped_names())
    output = Path(name) if output is None else Path(output)
    check_paths([*sides.files, output.resolve()])
    check_output(output, force)
    if seed < 0:
        raise UserError(f"--seed {seed}: give 0 or more")
    machine = Machine(1, (os.cpu_count() or 1) if cores is None else cores, 0)
    survey = survey_corpus(*sides.files)
    remarks = survey.check_languages(sides.languages, sides.stated)
    if not tokenised:
        survey.check_spaces(sides.languages)
    given = {part: order_set(found, sides.languages) for part, found in (("dev", dev), ("test", test)) if found}
    sets = {part: survey_set(part, found) for part, found in given.items()}
    roles = assign_pairs(survey, sets, dev_size, test_size, seed)
    material = Material(sides, name, output, survey, sets, roles, tokenised, seed)
    with atomic(output.resolve(), directory=True) as folder:
        written = write_parts(folder, survey, sets, roles, sides.languages)
        (folder / EXPERIMENT).write_text(render(material, written), encoding="utf-8")
        plan = _plan(folder, machine)
    print("\n".join(report(material, plan, remarks)))


def _plan(folder: Path, machine: Machine) -> dict[str, Any]:
    """What the experiment in ``folder`` will take on a machine, were nothing of it done."""
    config = complete_configuration(CHECKOUT / "Snakefile", [folder / EXPERIMENT], {"data_mirror": str(folder)})
    throughputs = Throughputs.load(CHECKOUT / "benchmarks" / "throughputs.json")
    return predict(config, throughputs, CHECKOUT / "Snakefile", folder, machine)
