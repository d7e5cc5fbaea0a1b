"""Steps of the representations stage, from files to files."""

import logging
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.io.files import read_parallel, write_json
from neural_smt.representations import building
from neural_smt.representations.folder import save_representation
from neural_smt.representations.settings import RepresentationSettings

log = logging.getLogger(__name__)


def build_representation(
    *,
    settings: dict[str, Any],
    source: Path,
    target: Path,
    output: Path,
    statistics: Path,
    recurrent: Path | None = None,
    seed: int,
) -> None:
    """Build a representation of source sentences for a joint model (Auli et al. 2013, sections 5.1 to 5.4).

    settings: ``RepresentationSettings``. source, target: the tokenised parallel training text; recurrent: the folder of
    a recurrent model trained on the source text, for the kind ``word_rnn``. Writes the folder that
    ``load_representation`` reads and what there is to say about it as JSON. The same seed gives the same folder.
    """
    chosen = RepresentationSettings.read(settings)
    if (chosen.kind == "word_rnn") != (recurrent is not None):
        raise UserError(
            f"a representation of kind {chosen.kind} "
            + ("needs a recurrent model of the source" if recurrent is None else "reads no recurrent model")
            + "; give one for word_rnn only"
        )
    sources, targets = ([line.split() for line in lines] for lines in read_parallel(source, target))
    log.info("building %s from %d sentence pairs", chosen.kind, len(sources))
    if recurrent is not None:
        built, found = building.build_word_rnn(chosen, recurrent)
    elif chosen.kind == "sentence_lsa":
        text = targets if chosen.side == "target" else sources
        built, found = building.build_sentence_lsa(chosen, text, seed)
    elif chosen.kind == "word_lsa":
        built, found = building.build_word_lsa(chosen, sources, seed)
    elif chosen.kind == "learned":
        built, found = building.build_learned(chosen, sources)
    else:
        built, found = building.build_projected_lsa(chosen, sources, targets, seed)
    save_representation(output, built)
    sizes = {"slots": built.slots, "dimensions": built.dimensions, "words": len(built.vocabulary)}
    write_json(statistics, {"kind": chosen.kind, "side": chosen.side, "sentences": len(sources)} | sizes | found)
    log.info("%s: %s", chosen.kind, found)
