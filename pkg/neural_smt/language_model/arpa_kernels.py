"""Parsing the n-gram lines of ARPA files from bytes, without a Python object per line."""

import numpy as np

from neural_smt.io.text_primitives import Words, find_line_end, find_token_end, find_word, parse_number, skip_spaces
from neural_smt.jit import kernel

PARSED, _TOO_MANY, _TOO_FEW, _NOT_A_NUMBER, _FIELDS, _POSITIVE = range(6)
FAULTS = {
    _TOO_MANY: "more {order}-grams than the {count} that the header declares",
    _TOO_FEW: "fewer {order}-grams than the {count} that the header declares",
    _NOT_A_NUMBER: "expected a number, which must be finite",
    _FIELDS: "expected 'log10-probability words [back-off]' with {order} words",
    _POSITIVE: "a log10 probability is above 0",
}

_BACKSLASH = 92
_LARGEST = np.float64(np.finfo(np.float32).max)


@kernel
def parse_ngrams(
    text: np.ndarray,
    position: int,
    has_backoff: bool,
    index: Words,
    ids: np.ndarray,
    words: np.ndarray,
    values: np.ndarray,
) -> tuple[int, int, int]:
    """Fill ``words`` (int32 [count, order]) and ``values`` (float32 [count, 2]: log10 probability, back-off).

    text: uint8, read from ``position`` to the first blank line or line that starts with a backslash; index, ids: the
    known words and the id of each (int32). Rows with a word that the index lacks are counted but not kept. Returns the
    position reached, the rows kept, and a fault or PARSED.
    """
    count, order = words.shape
    seen = 0
    row = 0
    while True:
        stop, following = find_line_end(text, position)
        start = skip_spaces(text, position, stop)
        if start == stop or text[start] == _BACKSLASH:
            return position, row, PARSED if seen == count else _TOO_FEW
        if seen == count:
            return position, row, _TOO_MANY
        seen += 1
        end = find_token_end(text, start, stop)
        log10_prob, good = parse_number(text, start, end)
        if not good or not abs(log10_prob) <= _LARGEST:
            return position, row, _NOT_A_NUMBER
        if log10_prob > 0:
            return position, row, _POSITIVE
        known = True
        for i in range(order):
            start = skip_spaces(text, end, stop)
            end = find_token_end(text, start, stop)
            if end == start:
                return position, row, _FIELDS
            number = index.slots[find_word(index, text, start, end)]
            known = known and number >= 0
            words[row, i] = ids[number] if number >= 0 else -1
        start = skip_spaces(text, end, stop)
        backoff = 0.0
        if has_backoff and start < stop:
            end = find_token_end(text, start, stop)
            backoff, good = parse_number(text, start, end)
            if not good or not abs(backoff) <= _LARGEST:
                return position, row, _NOT_A_NUMBER
            start = skip_spaces(text, end, stop)
        if start < stop:
            return position, row, _FIELDS
        values[row, 0] = log10_prob
        values[row, 1] = backoff
        row += known
        position = following
