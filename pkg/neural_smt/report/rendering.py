"""Templates of the report's pages, which lie beside this module in ``templates/``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

FOLDER = Path(__file__).parent / "templates"


@cache
def _environment() -> Environment:
    """Undefined names are errors; values in pages of HTML are escaped."""
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["star"] = "\\*"
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return made


def render(template: str, **values: Any) -> list[str]:
    """The lines of a template of ``templates/`` with values in it; Markdown has one empty line between blocks."""
    text = _environment().get_template(template).render(**values)
    if template.endswith(".md"):
        text = re.sub(r"\n{3,}", "\n\n", text).strip("\n")
    return text.split("\n")
