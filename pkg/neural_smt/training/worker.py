"""A worker: ``python -m neural_smt.training.worker REQUEST``, started by ``launch``, one of several at a time.

REQUEST: JSON with the module and the name of a step, its arguments, and the file to log to (null: standard error).
"""

import importlib
import json
import logging
import os
import sys
from typing import Any

from torch.distributed.elastic.multiprocessing.errors import record

from neural_smt.errors import UserError
from neural_smt.workflow.invoke import invoke
from neural_smt.workflow.run_lock import end_with_parent


@record
def run(request: dict[str, Any]) -> None:
    """Run the step. A fault is left where the launcher finds it; where the launcher is killed, nobody looks."""
    end_with_parent()
    shape = "%(asctime)s %(name)s: %(message)s" if request["log"] else "%(message)s"
    # All workers would say the same.
    level = logging.INFO if os.environ["RANK"] == "0" else logging.CRITICAL
    logging.basicConfig(filename=request["log"], level=level, format=shape)
    step = getattr(importlib.import_module(request["module"]), request["step"])
    invoke(step, request["arguments"])


if __name__ == "__main__":
    try:
        run(json.loads(sys.argv[1]))
    except UserError:
        # told by the process that started this one
        sys.exit(1)
