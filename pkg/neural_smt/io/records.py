"""Dataclasses and named tuples of arrays in files, and what is checked of these when they are read.

A field is a record itself, or an ``np.ndarray`` or ``Ragged`` annotated with its layout, as ``Annotated[np.ndarray,
"float32 [E, 3]"]``: type and shape. The same letter stands for the same length in all of a record, ``E+1`` for one
more, ``*`` for any length. Further words say what values there may be:

- ``int32 [E] < V``: from 0 up to, not including, the number or length V, where that is known; ``< *``: 0 or more;
- ``int64 [S+1] to E``: rising from 0 to the length E, where lists begin and end;
- ``float32 [E] any``: numbers that need not be finite.

The layout of a ``Ragged`` is that of its lists: type of the values and how many lists; ``uint8 [E] of [2]``: rows of
two values; ``< V`` is true of values.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from neural_smt.errors import required
from neural_smt.io.arrays import Arrays, read_arrays, write_arrays
from neural_smt.io.files import atomic, release
from neural_smt.io.ragged import PIECE, Ragged

Kind = TypeVar("Kind")

FILE = "arrays.safetensors"
"""The file of a record in its folder."""

_LAYOUT = re.compile(r"(\w+) \[([^]]*)\](?: of \[(.+)\])?(?: (<|to) (\w+|\*))?( any)?")


class Layout(NamedTuple):
    """text: as it was written; kind, shape: of an array; relation, bound: of its values, see above."""

    text: str
    kind: str
    shape: list[str]
    relation: str | None = None
    bound: str | None = None
    finite: bool = True


@cache
def _fields(kind: type) -> dict[str, tuple[type, str]]:
    """The fields of a record: type, and layout, which a record inside it does not have."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: get_args(hint) if get_origin(hint) is Annotated else (hint, "") for name, hint in hints.items()}


def _layouts(kind: type, prefix: str = "") -> Iterator[tuple[str, Layout]]:
    """The arrays of a record by their names in a file."""
    for name, (plain, text) in _fields(kind).items():
        if not text:
            yield from _layouts(plain, f"{prefix}{name}.")
            continue
        number, shape, inner, relation, bound, anything = required(_LAYOUT.fullmatch(text)).groups()
        lengths = shape.split(", ")
        if plain is not Ragged:
            yield prefix + name, Layout(text, number, lengths, relation, bound, not anything)
            continue
        total = f"values of {prefix}{name}"
        values = [total, *(inner.split(", ") if inner else [])]
        yield f"{prefix}{name}.values", Layout(text, number, values, relation, bound, not anything)
        yield f"{prefix}{name}.offsets", Layout(f"int64 [{shape}+1] to {total}", "int64", [f"{shape}+1"], "to", total)


def check_arrays(layouts: Mapping[str, Layout], arrays: Arrays, sizes: Mapping[str, int]) -> None:
    """Raise ``UserError`` unless arrays have their layouts; sizes: lengths that are known, by letter."""
    known = dict(sizes)
    for name, layout in layouts.items():
        array = arrays[name]
        fits = array.dtype == layout.kind and array.ndim == len(layout.shape)
        for letter, length in zip(layout.shape, array.shape, strict=False):
            base, plus, _ = letter.partition("+1")
            if base != "*":
                length -= bool(plus)
                fits &= length == (int(base) if base.isdecimal() else known.setdefault(base, length)) >= 0
        if not fits:
            raise arrays.damaged(f"'{name}' is {array.dtype} {list(array.shape)}, not {layout.text}")
    for name, layout in layouts.items():
        bound = int(limit) if (limit := layout.bound or "").isdecimal() else known.get(limit)
        if not _values_fit(arrays[name], layout, bound):
            of = "" if bound is None else f", where {layout.bound} is {bound}"
            raise arrays.damaged(f"values of '{name}' are not {layout.text}{of}")


def _values_fit(array: np.ndarray, layout: Layout, bound: int | None) -> bool:
    """Whether values are what a layout says; looks at so many at a time that little memory is taken."""
    if layout.relation == "to" and (array[0] != 0 or array[-1] != bound):
        return False
    most = np.inf if bound is None else bound
    for start in range(0, len(array), PIECE):
        part = array[start : start + PIECE + 1]
        if layout.relation == "<" and part.size and not 0 <= part.min() <= part.max() < most:
            return False
        if layout.relation == "to" and (part[1:] < part[:-1]).any():
            return False
        if layout.finite and array.dtype.kind == "f" and not np.isfinite(part).all():
            return False
        release(array)
    return True


def arrays_of(record: Any, kind: type | None = None) -> dict[str, np.ndarray]:
    """The arrays of a record by their names in a file; kind: the base whose fields are wanted, if not all."""
    found: dict[str, np.ndarray] = {}
    for name, (plain, text) in _fields(kind or type(record)).items():
        value = getattr(record, name)
        if plain is Ragged:
            found |= {f"{name}.values": value.values, f"{name}.offsets": value.offsets}
        elif text:
            found[name] = value
        else:
            found |= {f"{name}.{inner}": array for inner, array in arrays_of(value).items()}
    return found


def record_of(kind: type[Kind], arrays: Arrays, **sizes: int) -> Kind:
    """The record whose arrays were read; ``UserError`` where they are not laid out as it says.

    sizes: lengths that are known, by letter. A record may have a method ``fault`` that returns what else is wrong with
    it, or nothing. Files that are known to be as they were written are not looked at again.
    """
    record = _built(kind, arrays)
    if arrays.unseen:
        check_arrays(dict(_layouts(kind)), arrays, sizes)
        fault = getattr(record, "fault", lambda: None)()
        if fault:
            raise arrays.damaged(fault)
        arrays.remember()
    return record


def _built(kind: type, arrays: Arrays, prefix: str = "") -> Any:
    values: dict[str, Any] = {}
    for name, (plain, text) in _fields(kind).items():
        place = prefix + name
        if not text:
            values[name] = _built(plain, arrays, f"{place}.")
        elif plain is Ragged:
            values[name] = Ragged(arrays[f"{place}.values"], arrays[f"{place}.offsets"])
        else:
            values[name] = arrays[place]
    return kind(**values)


def write_record(folder: Path, record: Any, meta: Any = None) -> None:
    """Write a record as a new folder, atomically, replacing an older one; meta: JSON values besides."""
    with atomic(folder, directory=True) as temporary:
        write_arrays(temporary / FILE, arrays_of(record), meta)


def load_record(kind: type[Kind], folder: Path, mapped: bool = True, **sizes: int) -> Kind:
    """Read what ``write_record`` wrote of such a record, memory-mapped unless ``mapped`` is false."""
    return record_of(kind, read_arrays(Path(folder) / FILE, mapped=mapped), **sizes)


class Record:
    """A record with methods to save and load it."""

    def save(self, folder: Path) -> None:
        """Write the arrays into ``folder``, replacing an older one atomically."""
        write_record(folder, self)

    @classmethod
    def load(cls, folder: Path, mapped: bool = True) -> Self:
        """Read what ``save`` wrote, memory-mapped unless ``mapped`` is false."""
        return load_record(cls, folder, mapped)
