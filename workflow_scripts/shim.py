"""The one way from a rule into the package: named inputs, outputs and params become the arguments of a step."""

import logging
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pkg"))

from neural_smt.errors import UserError  # noqa: E402  (the line above makes the package importable)
from neural_smt.invoke import invoke  # noqa: E402

if TYPE_CHECKING:
    from snakemake.script import Snakemake


def call(snakemake: "Snakemake", steps: dict[str, Callable[..., None]]) -> None:
    """Call the step that belongs to the rule, with the log in the rule's log file.

    The step gets every named input and output as a path (or a list of paths), every param as it is, and ``threads``
    if it takes them; the input ``code``, which only declares what a rule depends on, is left out.
    """
    logging.basicConfig(
        filename=snakemake.log[0], level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", force=True
    )
    arguments: dict[str, Any] = {
        name: value for name, value in [*snakemake.input.items(), *snakemake.output.items()] if name != "code"
    }
    arguments |= dict(snakemake.params.items()) | {"threads": snakemake.threads}
    try:
        invoke(steps[snakemake.rule], arguments)
    except UserError as error:
        logging.error("%s", error)
        sys.exit(f"error: {error}")
    except Exception:
        logging.error("%s", traceback.format_exc())
        raise
