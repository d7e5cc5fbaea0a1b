"""The one way from a rule into the package: named inputs, outputs and params become the arguments of a step."""

import logging
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pkg"))

# Threads of a network that wait for each other sleep: where they spin beside other jobs, training is many times slower.
# Set before anything loads OpenMP.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from neural_smt.errors import sentence
from neural_smt.io.temporaries import remove_leftovers, scratch_folder
from neural_smt.workflow.invoke import invoke
from neural_smt.workflow.job_usage import used
from neural_smt.workflow.run_lock import end_with_run

if TYPE_CHECKING:
    from snakemake.script import Snakemake


LEFT_OUT = ("code", "asked", "depends", "step")
"""Inputs and params that are no arguments of a step."""


def call(snakemake: "Snakemake", *modules: ModuleType) -> None:
    """Call the step named like the rule (or by its param ``step``), with the log in the rule's log file.

    modules: where it stands, in one of them.

    The step gets every named input and output as a path (or a list of paths) and every param as it is. The input
    ``depends`` and the params ``code`` and ``asked`` only declare what a rule depends on and are left out. Threads,
    processes, whether networks are compiled, device and mirror do not change what is made, so they are no params (a
    change reruns nothing); steps that do not take them, or the whole configuration, do without.

    The job ends with its run of Snakemake, and begins with removing what killed ones before it left half-written; what
    it keeps outside the results for a while lies in a folder of its own. The last line of its log tells what it used.
    """
    end_with_run()
    logging.basicConfig(
        filename=snakemake.log[0], level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", force=True
    )
    named = [*snakemake.input.items(), *snakemake.output.items(), *snakemake.params.items()]
    arguments: dict[str, Any] = {name: value for name, value in named if name not in LEFT_OUT}
    ambient = {
        "threads": snakemake.threads,
        "processes": snakemake.config["training"]["processes"],
        "compiled": snakemake.config["training"]["compile"],
        "device": snakemake.config["device"],
        "mirror": snakemake.config["data_mirror"],
        "configuration": snakemake.config,
    }
    # on a full disk a log cannot be written either, which is no news
    logging.raiseExceptions = False
    try:
        for path in filter(None, [*snakemake.output, snakemake.params.get("state")]):
            remove_leftovers(Path(path), owned=True)
        name = snakemake.params.get("step", snakemake.rule)
        step = next(getattr(module, name) for module in modules if hasattr(module, name))
        with scratch_folder(Path(tempfile.gettempdir(), "neural_smt")) as folder:
            tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
            invoke(step, arguments, ambient)
        logging.info("%s", used())
    except Exception as error:
        told = sentence(error)
        if told is None:
            logging.exception("%s failed", snakemake.rule)
            raise
        logging.error("%s", told)
        sys.exit(f"error: {told}")
