"""The text of WMT's test sets, which are published as SGML: one ``<seg>`` a line."""

import html
import re

from neural_smt.errors import UserError

_SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg\s*>", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(r"<seg\b", re.IGNORECASE)


def read_segments(data: bytes, origin: str) -> list[str]:
    """The segments of an SGML file in their order, white space made one blank, character references resolved.

    sacreBLEU takes the same lines, references as they are: its tokeniser resolves them, that of Moses does not.
    ``UserError`` names ``origin`` and the line where the file is not UTF-8, has no segments, or one does not end.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{origin}, line {line}: not valid UTF-8; convert the file to UTF-8") from None
    lines, end = [], 0
    for found in _SEGMENT.finditer(text):
        _refuse_opening(text, end, found.start(), origin)
        if nested := _OPENING.search(found[1]):
            _refuse_opening(text, found.start(), found.start(1) + nested.start(), origin)
        lines.append(" ".join(html.unescape(found[1]).split()))
        end = found.end()
    _refuse_opening(text, end, len(text), origin)
    if not lines:
        raise UserError(f"{origin}: holds no <seg>; give a test set as WMT publishes them, or text by another name")
    return lines


def _refuse_opening(text: str, start: int, end: int, origin: str) -> None:
    if opening := _OPENING.search(text, start, end):
        line = text.count("\n", 0, opening.start()) + 1
        raise UserError(f"{origin}, line {line}: a <seg> without </seg>; fetch the file again or mend it")
