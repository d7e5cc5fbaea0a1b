"""A worker: ``python -m neural_smt.training.worker REQUEST``, started by ``launch``, one of several at a time.

REQUEST: JSON with the module and the name of a step, its arguments, and the file to log to (null: standard error).
Nothing imports this module; the rules of the stage name it among the code of their jobs.
"""

import importlib
import json
import logging
import os
import sys
from typing import Any

from neural_smt.errors import UserError
from neural_smt.workflow.run_lock import end_with_parent


def work(request: dict[str, Any]) -> None:
    """Run the step of a request; a ``UserError`` is left where the process that waits for the workers finds it."""
    end_with_parent(request["parent"])
    # PyTorch takes seconds to load, in which the parent may end.
    from torch import distributed

    from neural_smt.training.launch import FAULT
    from neural_smt.workflow.invoke import invoke

    shape = "%(asctime)s %(name)s: %(message)s" if request["log"] else "%(message)s"
    # All workers would say the same.
    level = logging.INFO if os.environ["RANK"] == "0" else logging.CRITICAL
    logging.basicConfig(filename=request["log"], level=level, format=shape)
    try:
        invoke(getattr(importlib.import_module(request["module"]), request["step"]), request["arguments"])
    except UserError as error:
        distributed.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])).set(FAULT, str(error))
        sys.exit(1)
    except Exception:
        logging.getLogger(__name__).critical("worker %s failed", os.environ["RANK"], exc_info=True)
        sys.exit(1)


if __name__ == "__main__":
    work(json.loads(sys.argv[1]))
