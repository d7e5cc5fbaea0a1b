"""Table 1 of Cho et al. (2014) beside an experiment: does each system gain what the paper's gained, and if not, why?"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from neural_smt.errors import UserError
from neural_smt.io.files import read_object
from neural_smt.io.ragged import PIECE, blocks
from neural_smt.io.tables import formatted, markdown, read_frame, readable, table, texts, write_frame
from neural_smt.phrases.table import PhraseTable
from neural_smt.report.pages import read_columns, write_page
from neural_smt.report.papers import load_paper
from neural_smt.report.scores import p_value_text, read_scores, score_texts, set_names
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import UNK, Vocabulary

SIGNIFICANT = 0.05
"""What has this p or a higher one may be chance."""


def write_cho2014_table(
    *,
    rows: dict[str, Any],
    scores: dict[str, Any],
    order: list[Path],
    sets: list[str],
    networks: Path,
    phrase_table: Path,
    target_vocabulary: Path,
    target_shortlist: Path,
    csv_output: Path,
    markdown_output: Path,
    perplexity: Path | None = None,
    remarks: str = "",
    title: str = "",
) -> None:
    """Write the experiment beside Table 1 of Cho et al. (2014), with what may explain a different order of
    systems.

    rows: row of the paper -> system; scores: as in write_table; order: files of ``read_steps``, one for each of
    ``sets``, of which the first is the one that weights are tuned on; networks: the CSV of write_networks_table;
    phrase_table, target_vocabulary, target_shortlist: of which rows with words outside the shortlist are
    counted; perplexity: what `measure_network` wrote; remarks: Markdown.
    """
    paper = load_paper("cho2014.yaml").rows().set_index("system")
    steps = read_steps(paper, dict(zip(sets, order, strict=True)), rows, dev=sets[0])
    bleu = read_scores({row: scores[system] for row, system in rows.items()})
    target = PhraseTable.load(phrase_table).target
    unknown = shortlist_ids(Vocabulary.load(target_vocabulary), Vocabulary.load(target_shortlist)) == UNK
    diagnosis = {
        "networks": read_frame(networks).replace(cast(Any, {"perplexity": {"": None}})).to_dict("records"),
        "perplexities": read_object(perplexity) if perplexity else {},
        "unknown": sum(
            int(np.count_nonzero(target.part(*rows).count(unknown))) for rows in blocks(target.offsets, PIECE)
        ),
        "rows": len(target),
        "steps": steps.to_dict("records"),
    }
    formats = {"paper": ".2f", "difference": ".4f", "p_value": ".6f"}
    write_frame(csv_output, formatted(steps[["set", "after", "before", *formats, "holds"]], formats))
    write_page(
        markdown_output,
        "cho2014.md",
        title=title,
        bleu=markdown(bleu_table(paper, bleu)),
        steps=markdown(readable(steps, read_columns("steps")), left=2),
        count=len(steps),
        significant=int(((steps["holds"] == "yes") & (steps["p_value"] < SIGNIFICANT)).sum()),
        failing=steps[steps["holds"] == "no"].to_dict("records"),
        diagnosis=diagnosis,
        remarks=remarks,
    )


def read_steps(paper: pd.DataFrame, order: Mapping[str, str | Path], rows: Mapping[str, str], dev: str) -> pd.DataFrame:
    """The steps between neighbouring rows on every set.

    Columns: ``set``, ``after``, ``before`` (rows of the paper), ``step`` (their names), ``paper`` and ``difference``
    (in BLEU), ``p_value``, ``p`` (its text), ``holds`` (``yes`` where ours has the paper's direction), ``verdict`` (the
    same in words), ``dev`` (whether the set is the development set). paper: rows of Table 1; order: set -> what
    ``compare`` wrote of each row and the one before; rows: row of the paper -> system, in the paper's order; dev: the
    development set, compared with the paper's; all others are compared with its test set.
    """
    columns = ["set", "after", "before", "step", "paper", "difference", "p_value", "dev"]
    steps = []
    for name, path in order.items():
        compared = read_object(Path(path))
        for before, after in pairwise(rows):
            found = compared.get(rows[after], {})
            if found.get("control") != rows[before]:
                raise UserError(f"{path}: does not compare {rows[after]} with {rows[before]}; run its step again")
            labels, bleu = paper["label"], paper["dev" if name == dev else "test"]
            step, gain = f"{labels[before]} → {labels[after]}", bleu[after] - bleu[before]
            steps.append((name, after, before, step, gain, found["delta"], found["p_value"], name == dev))
    frame = pd.DataFrame(steps, columns=columns)
    steps_of = frame.assign(holds=(frame["difference"] * frame["paper"] > 0).map({True: "yes", False: "no"}))
    return steps_of.assign(p=steps_of["p_value"].map(p_value_text), verdict=verdicts(steps_of))


def bleu_table(paper: pd.DataFrame, bleu: pd.DataFrame) -> pd.DataFrame:
    """Scores beside the paper's, a row for each of its rows that an experiment has."""
    rows = list(bleu.index.unique("system"))
    columns: list[tuple[str, Iterable[Any]]] = [("Row", paper["label"][rows])]
    headings = {"dev": "Paper: dev", "test": "test"}
    columns += [(heading, texts(paper[name][rows], ".2f")) for name, heading in headings.items()]
    for name in set_names(bleu):
        columns.append((f"{name}: sacreBLEU", score_texts(bleu, rows, name)))
        columns.append(("tokens", score_texts(bleu, rows, name, "tokenised")))
    return table(*columns)


def verdicts(steps: pd.DataFrame) -> list[str]:
    """In words, whether each step is the paper's, and whether chance explains it."""
    chance = steps["p_value"] >= SIGNIFICANT
    return steps["holds"].where(~chance, steps["holds"] + ", but not significant").tolist()
