"""The one way from a rule into the package: named inputs, outputs and params become the arguments of a step."""

import gc
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neural_smt.errors import sentence
from neural_smt.io.temporaries import remove_leftovers, scratch_folder
from neural_smt.workflow.invoke import find_step, invoke
from neural_smt.workflow.job_usage import Usage
from neural_smt.workflow.run_lock import end_with_run

if TYPE_CHECKING:
    from snakemake.script import Snakemake

LEFT_OUT = ("step", "code", "declared", "depends")
"""Inputs and params that are no arguments of a step."""


def run_step(snakemake: "Snakemake") -> None:
    """Call the function that the rule's param ``step`` names, with the log in the rule's log file.

    The step gets every named input and output as a path (or a list of paths) and every param as it is. The input
    ``depends`` and the params ``code`` and ``declared`` only declare what a rule depends on and are left out. Threads,
    processes, graphs, device and mirror do not change what is made, so they are no params (a change reruns nothing);
    steps that do not take them, or the whole configuration, do without.

    The job stops with its run of Snakemake. It first removes what killed jobs before it left half-written; temporary
    files lie in a folder of its own. The last line of its log says what it used.
    """
    # Threads of a network that wait for each other sleep: where they spin beside other jobs, training is many times
    # slower. Set before anything loads OpenMP.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    end_with_run()
    layout = "%(asctime)s %(name)s: %(message)s"
    logging.basicConfig(filename=snakemake.log[0], level=logging.INFO, format=layout, force=True)
    # on a full disk a log cannot be written either, which is no news
    logging.raiseExceptions = False
    try:
        for path in filter(None, [*snakemake.output, snakemake.params.get("state")]):
            remove_leftovers(Path(path), owned=True)
        with scratch_folder(Path(tempfile.gettempdir(), "neural_smt")) as folder, Usage() as used:
            tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
            step = find_step(snakemake.params.step)
            # the modules stay until the end
            gc.freeze()
            gc.enable()
            invoke(step, _arguments(snakemake), _ambient(snakemake))
        # what is left ends with the process; to look for garbage once more takes a third of the start again
        gc.freeze()
        logging.info("%s", used)
    except Exception as error:
        message = sentence(error)
        if message is None:
            logging.exception("%s failed", snakemake.rule)
            raise
        logging.error("%s", message)
        sys.exit(f"error: {message}")


def _arguments(snakemake: "Snakemake") -> dict[str, Any]:
    named = [*snakemake.input.items(), *snakemake.output.items(), *snakemake.params.items()]
    return {name: value for name, value in named if name not in LEFT_OUT}


def _ambient(snakemake: "Snakemake") -> dict[str, Any]:
    config = snakemake.config
    return {
        "threads": snakemake.threads,
        **config["training"],
        "device": config["device"],
        "mirror": config["data_mirror"],
        "configuration": config,
    }
