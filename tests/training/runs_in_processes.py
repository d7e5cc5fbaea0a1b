"""A program for ``torchrun``: runs steps of the training stage, one after the other, in all its processes.

Its argument names a JSON file with a list of the modules and names of steps, and their arguments.
"""

import importlib
import sys
from pathlib import Path

from neural_smt.io.files import read_json
from neural_smt.training.processes import joined
from neural_smt.workflow.invoke import invoke

if __name__ == "__main__":
    with joined("cpu"):
        for module, name, arguments in read_json(Path(sys.argv[1])):
            # what the decorator does has been done, once for all
            invoke(getattr(importlib.import_module(module), name).__wrapped__, arguments)
