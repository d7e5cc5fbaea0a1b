"""Tables of networks: their size, what their training saw and reached, how fast they are; and word classes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from neural_smt.errors import UserError
from neural_smt.experiment.networks import KINDS
from neural_smt.io.files import read_object
from neural_smt.io.tables import Column, markdown, read_frame, readable, rounded, write_frame
from neural_smt.networks.folder import count_parameters
from neural_smt.report.pages import read_columns, write_page

NETWORKS = read_columns("networks")

CLASSES = read_columns("classes")
"""Columns of the table of word classes; after them ``<set>:perplexity`` and ``<set>:cost`` of each set, of which the
perplexities are shown.
"""

TRAINING_FIGURES: tuple[str, ...] = ("updates", "examples", "seconds", "words", "epochs", "perplexity")
TRAINING_FIGURES += ("words_per_second", "updates_per_second")
"""What a learning curve ends with. seconds: validation included; words: predicted in training, end symbols included;
perplexity: held-out, of the model that was kept, as text (``nan`` where it is no number), None without validation.
"""


def read_training(curve: str, held_out: str) -> dict[str, Any]:
    """``TRAINING_FIGURES`` of a network; curve: its learning curve; held_out: what ``train_network`` wrote of it."""
    advice = "train the network again"
    last = read_frame(Path(curve), "", "updates examples words seconds epochs", advice).iloc[-1]
    perplexity = read_object(Path(held_out), advice).get("network")
    if not isinstance(perplexity, int | float | None):
        raise UserError(f"{held_out}: network is {perplexity!r}, which is not a number; {advice}")
    found: dict[str, Any] = {name: int(last[name]) for name in ("updates", "examples", "words")}
    found |= {name: last[name] for name in ("seconds", "epochs")}
    seconds = max(found["seconds"], 1e-9)
    return found | {
        "perplexity": None if perplexity is None else str(perplexity),
        "words_per_second": found["words"] / seconds,
        "updates_per_second": found["updates"] / seconds,
    }


def write_networks_table(*, networks: dict[str, Any], csv_output: Path, markdown_output: Path, title: str = "") -> None:
    """Write the table of networks; networks: name -> the files of each, see ``network_row``."""
    rows = pd.DataFrame([network_row(name, **files) for name, files in networks.items()], columns=list(NETWORKS))
    found = rounded(rows, NETWORKS)
    write_frame(csv_output, found)
    write_page(markdown_output, "networks.md", title=title, table=markdown(readable(found, NETWORKS)))


def network_row(
    name: str, *, model: str, curve: str, held_out: str, rescoring: str | None = None, searches: Sequence[str] = ()
) -> dict[str, Any]:
    """The columns of one network.

    model: its folder; curve, held_out: as in ``read_training``; rescoring: what ``score_phrase_table`` wrote of its
    column; searches: what ``decode`` wrote of searches with it.
    """
    training = read_training(curve, held_out)
    row = {"network": name, "parameters": count_parameters(Path(model))} | training
    row["tokens_per_second"] = training["words_per_second"]
    if rescoring:
        found = read_object(Path(rescoring))
        row |= {
            "scored_per_second": found["pairs_per_second"],
            "normalisers_saved": 1 - found["prefixes"] / max(found["words"], 1),
            "states_saved": 1 - found["states"] / max(found["steps"], 1),
        }
    if searches:
        counts = [own for path in searches for key, own in read_object(Path(path)).items() if key in KINDS]
        # Where the search estimates, complete translations are scored exactly: counts of their own.
        counts += [count["exact"] for count in counts if "exact" in count]
        queries, hits, seconds = (sum(count[key] for count in counts) for key in ("ngrams", "cache_hits", "seconds"))
        row |= {"scored_per_second": (queries - hits) / max(seconds, 1e-9), "cache_hit_rate": hits / max(queries, 1)}
    return row


def write_classes_table(
    *, networks: dict[str, Any], sets: list[str], csv_output: Path, markdown_output: Path, title: str = ""
) -> None:
    """Write the table of word classes: what each computes for a word, and the perplexity of a model with them.

    networks: name -> arguments of ``class_row``, of recurrent models that differ in their classes alone; sets: whose
    perplexity is shown, the one that the comparison names last.
    """
    columns, perplexities = dict(CLASSES), [f"{name}:perplexity" for name in sets]
    for name in sets:
        columns[f"{name}:perplexity"] = Column(f"PPL of {name}", ".4f", ".2f")
        columns[f"{name}:cost"] = Column("", ".4f")
    rows = pd.DataFrame([class_row(name, sets, **files) for name, files in networks.items()])
    found = rounded(rows, columns)
    write_frame(csv_output, found)
    shown = [*list(CLASSES)[:5], *perplexities, *list(CLASSES)[5:]]
    wide = markdown(readable(found, columns, shown), left=2)
    numbers = found.apply(pd.to_numeric, errors="coerce").assign(network=rows["network"])
    fastest, best = numbers["cost"].idxmin(), numbers[f"{sets[-1]}:perplexity"].idxmin()
    comparison = {"set": sets[-1], "fastest": numbers.loc[fastest], "best": numbers.loc[best], "same": fastest == best}
    write_page(markdown_output, "classes.md", title=title, table=wide, comparison=comparison)


def class_row(
    name: str, sets: Sequence[str], *, classes: Mapping[str, Any], curve: str, held_out: str, perplexity: str
) -> dict[str, Any]:
    """The columns of one model.

    sets: whose perplexity is shown, in this order; classes: the model's settings of them; curve: its learning curve;
    held_out: what ``train_network`` wrote of it; perplexity: what ``measure_network`` wrote.
    """
    made = read_object(Path(held_out))["classes"]
    row = {
        "network": name,
        "method": made["method"],
        "speed": classes["speed"] if classes["method"] == "exchange" else None,
        "classes": made["count"],
        "cost": made["cost"],
    } | read_training(curve, held_out)
    measured = of_sets(Path(perplexity))
    for place in sets:
        row |= {f"{place}:perplexity": measured[place]["network"], f"{place}:cost": measured[place]["cost"]}
    return row


def of_sets(perplexity: Path) -> dict[str, Any]:
    """Set -> what was measured of it; the file calls texts by their set and a language."""
    measured = read_object(perplexity)
    for text in list(measured):
        measured[Path(text).stem] = measured.pop(text)
    return measured
