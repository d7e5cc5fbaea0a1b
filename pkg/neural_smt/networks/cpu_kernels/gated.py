"""Steps of gated units.

Arrays are those of whole sequences, seen from the first row of a step on: rows of ``H`` numbers and more, that lie
``..._width`` numbers apart.
"""

import numpy as np
from torch import Tensor

from neural_smt.jit import assign, leaf
from neural_smt.networks.primitives import EXACT, exponential, hyperbolic_tangent

ONE = np.float32(1)
NOTHING = np.zeros(0, dtype=np.float32)


def _flat(array: Tensor) -> np.ndarray:
    """The numbers of rows ``[n, ...]``, from the first to the last, with what lies between the rows."""
    if array.is_contiguous():
        return array.numpy().ravel()
    rows, columns = array.shape
    return array.as_strided(((rows - 1) * array.stride(0) + columns if rows else 0,), (1,)).numpy()


def _flat_rows(array: Tensor | None) -> tuple[np.ndarray, int, int]:
    """Numbers, width and rows; of None there are none."""
    return (NOTHING, 0, 0) if array is None else (_flat(array), array.stride(0), len(array))


# Each loop is a function of its own: with more arrays the compiler would have to rule out too many overlaps to work on
# several numbers at a time.
@leaf(**EXACT)
def _sigmoid(terms: np.ndarray, sums: np.ndarray, gates: np.ndarray) -> None:
    for i in range(len(gates)):
        gates[i] = ONE / (ONE + exponential(-(terms[i] + sums[i])))


@leaf(**EXACT)
def _tanh(terms: np.ndarray, sums: np.ndarray, candidates: np.ndarray) -> None:
    for i in range(len(candidates)):
        candidates[i] = hyperbolic_tangent(terms[i] + sums[i])


@leaf(**EXACT)
def _multiply(left: np.ndarray, right: np.ndarray, products: np.ndarray) -> None:
    for i in range(len(products)):
        products[i] = left[i] * right[i]


@leaf(**EXACT)
def _interpolate(old: np.ndarray, new: np.ndarray, share: np.ndarray, between: np.ndarray) -> None:
    for i in range(len(between)):
        between[i] = old[i] + share[i] * (new[i] - old[i])


@leaf(**EXACT)
def _add(more: np.ndarray, sums: np.ndarray) -> None:
    for i in range(len(sums)):
        sums[i] += more[i]


@leaf(**EXACT)
def _tanh_back(d_new: np.ndarray, update: np.ndarray, candidate: np.ndarray, d_term: np.ndarray) -> None:
    for i in range(len(d_term)):
        d_term[i] = d_new[i] * update[i] * (ONE - candidate[i] * candidate[i])


@leaf(**EXACT)
def _sigmoid_back(
    d_new: np.ndarray, old: np.ndarray, new: np.ndarray, gate: np.ndarray, d_term: np.ndarray
) -> None:  # fmt: skip
    for i in range(len(d_term)):
        d_term[i] = d_new[i] * (new[i] - old[i]) * gate[i] * (ONE - gate[i])


@leaf(**EXACT)
def _reset_back(d_product: np.ndarray, old: np.ndarray, reset: np.ndarray, d_term: np.ndarray) -> None:
    for i in range(len(d_term)):
        d_term[i] = d_product[i] * old[i] * reset[i] * (ONE - reset[i])


@leaf(**EXACT)
def _keep(d_new: np.ndarray, update: np.ndarray) -> None:
    for i in range(len(d_new)):
        d_new[i] *= ONE - update[i]


@leaf(**EXACT)
def _add_product(left: np.ndarray, right: np.ndarray, sums: np.ndarray) -> None:
    for i in range(len(sums)):
        sums[i] += left[i] * right[i]


@leaf
def _open_gates(
    terms: np.ndarray, terms_width: int, sums: np.ndarray, state: np.ndarray, gates: np.ndarray, products: np.ndarray,
    products_width: int, rows: int, hidden: int,
) -> None:  # fmt: skip
    for row in range(rows):
        term, gate, place, made = row * terms_width + hidden, 2 * row * hidden, row * hidden, row * products_width
        end = gate + 2 * hidden
        _sigmoid(terms[term : term + 2 * hidden], sums[gate:end], gates[gate:end])
        _multiply(gates[end - hidden : end], state[place : place + hidden], products[made : made + hidden])


@leaf
def _move(
    terms: np.ndarray, terms_width: int, sums: np.ndarray, state: np.ndarray, gates: np.ndarray,
    candidates: np.ndarray, states: np.ndarray, next_state: np.ndarray, following: int, next_factor: np.ndarray,
    factor_width: int, rows: int, hidden: int,
) -> None:  # fmt: skip
    for row in range(rows):
        term, place, gate = row * terms_width, row * hidden, 2 * row * hidden
        end = place + hidden
        _tanh(terms[term : term + hidden], sums[place:end], candidates[place:end])
        made = states if len(states) else next_state
        if len(states) or row < following:
            _interpolate(state[place:end], candidates[place:end], gates[gate : gate + hidden], made[place:end])
        if row < following:
            if len(states):
                assign(next_state[place:end], states[place:end])
            if factor_width:
                factor = row * factor_width
                assign(next_factor[factor : factor + hidden], made[place:end])


@leaf
def _begin_retreat(
    d_states: np.ndarray, d_old: np.ndarray, sums: np.ndarray, sums_width: int, moved: int, others: np.ndarray,
    others_width: int, alive: int, state: np.ndarray, gates: np.ndarray, candidates: np.ndarray, d_terms: np.ndarray,
    terms_width: int, rows: int, hidden: int,
) -> None:  # fmt: skip
    for row in range(rows):
        place, gate, term = row * hidden, 2 * row * hidden, row * terms_width
        end = place + hidden
        d_new, update, candidate = d_old[place:end], gates[gate : gate + hidden], candidates[place:end]
        if row < moved:
            _add(d_states[place:end], d_new)
            _add(sums[row * sums_width : row * sums_width + hidden], d_new)
        else:
            assign(d_new, d_states[place:end])
        if row < alive:
            _add(others[row * others_width : row * others_width + hidden], d_new)
        _tanh_back(d_new, update, candidate, d_terms[term : term + hidden])
        _sigmoid_back(d_new, state[place:end], candidate, update, d_terms[term + hidden : term + 2 * hidden])
        _keep(d_new, update)


@leaf
def _end_retreat(
    d_products: np.ndarray, products_width: int, state: np.ndarray, gates: np.ndarray, d_terms: np.ndarray,
    terms_width: int, d_old: np.ndarray, rows: int, hidden: int,
) -> None:  # fmt: skip
    for row in range(rows):
        place, gate, term = row * hidden, (2 * row + 1) * hidden, row * terms_width + 2 * hidden
        end, product = place + hidden, row * products_width
        d_product, reset = d_products[product : product + hidden], gates[gate : gate + hidden]
        _reset_back(d_product, state[place:end], reset, d_terms[term : term + hidden])
        _add_product(d_product, reset, d_old[place:end])


def open_gates(terms: Tensor, sums: Tensor, state: Tensor, gates: Tensor, products: Tensor) -> None:
    """See ``recurrence.open_gates``."""
    arrays = _flat(sums), _flat(state), _flat(gates), _flat(products)
    _open_gates(_flat(terms), terms.stride(0), *arrays, products.stride(0), *state.shape)


def move(
    terms: Tensor, sums: Tensor, state: Tensor, gates: Tensor, candidates: Tensor, states: Tensor | None,
    next_state: Tensor, next_factor: Tensor | None,
) -> None:  # fmt: skip
    """See ``recurrence.move``."""
    arrays = _flat(sums), _flat(state), _flat(gates), _flat(candidates), NOTHING if states is None else _flat(states)
    factor, factor_width, _ = _flat_rows(next_factor)
    following = _flat(next_state), len(next_state), factor, factor_width
    _move(_flat(terms), terms.stride(0), *arrays, *following, *state.shape)


def begin_retreat(
    d_states: Tensor, d_old: Tensor, sums: Tensor | None, others: Tensor | None, kept: tuple[Tensor, ...],
    d_terms: Tensor,
) -> None:  # fmt: skip
    """See ``recurrence.begin_retreat``."""
    added, arrays = (*_flat_rows(sums), *_flat_rows(others)), map(_flat, kept)
    _begin_retreat(
        _flat(d_states), _flat(d_old), *added, *arrays, _flat(d_terms), d_terms.stride(0), *kept[0].shape
    )  # fmt: skip


def end_retreat(d_products: Tensor, state: Tensor, gates: Tensor, d_terms: Tensor, d_old: Tensor) -> None:
    """See ``recurrence.end_retreat``."""
    arrays = _flat(state), _flat(gates), _flat(d_terms)
    _end_retreat(_flat(d_products), d_products.stride(0), *arrays, d_terms.stride(0), _flat(d_old), *state.shape)
