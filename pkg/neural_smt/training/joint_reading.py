"""Reading what a recurrent model is trained on or measured with: target text and, for a joint model, its source."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines
from neural_smt.networks.recurrent.inputs import AuxiliaryInputs
from neural_smt.representations.links import training_links
from neural_smt.representations.representation import Representation


def read_texts(paths: Sequence[Path]) -> list[str]:
    """The lines of all texts."""
    return [line for path in paths for line in read_lines(path)]


def read_inputs(
    representation: Representation,
    target: Sequence[str],
    texts: Sequence[Path],
    sources: Sequence[Path],
    alignment: Path | None,
) -> tuple[AuxiliaryInputs, np.ndarray]:
    """The inputs f of a text and int32 ``[tokens]``, the number of that of each prediction.

    target: the lines of ``texts``; sources: parallel to them; alignment: of all of them, one after the other, a line
    for each. Raises ``UserError`` for files that do not go together.
    """
    if alignment is None or not sources:
        raise UserError("a joint model needs the source and the alignment of its text; give sources and alignment")
    links = read_alignments(alignment)
    source = read_texts(sources)
    for lines, paths in ((source, sources), (links, [alignment])):
        if len(lines) != len(target):
            raise UserError(
                f"{', '.join(map(str, paths))}: {len(lines)} lines, but {', '.join(map(str, texts))} has "
                f"{len(target)}; give files made from the same sentences"
            )
    lengths = np.array([len(line.split()) for line in target], dtype=np.int64)
    try:
        sets, numbers = training_links(links, lengths)
    except ValueError as error:
        raise UserError(f"{alignment}: not an alignment of these texts ({error}); align them again") from None
    read = target if representation.side == "target" else source
    return representation.inputs([line.split() for line in read], sets), numbers
