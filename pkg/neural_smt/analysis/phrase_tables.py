"""Tables 2 and 3 of Cho et al. (2014): what translation model and network prefer, and what the network writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape, unescape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neural_smt.analysis.source_phrases import TARGETS, phrase_counts
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.table import PhraseTable
from neural_smt.report.markdown_html import table as html_table
from neural_smt.report.page import render_page
from neural_smt.vocabulary import Vocabulary

if TYPE_CHECKING:
    from neural_smt.networks.folder import TrainedModel

TRANSLATION_MODEL, NETWORK = "translation model", "network"
DIRECT = 2
"""The column of p(e|f), direct translation probability, among the scores of a phrase table."""

BEST_SAMPLES = 5


class Preferred(NamedTuple):
    """A row of Table 2; log_probability is natural, of the model that prefers the target phrase."""

    group: str
    source: str
    extracted: int
    model: str
    rank: int
    target: str
    log_probability: float


class Sampled(NamedTuple):
    """A row of Table 3; samples: how many of all samples were this target phrase."""

    group: str
    source: str
    rank: int
    target: str
    samples: int
    log_probability: float


def preferred(
    table: PhraseTable,
    column: np.ndarray,
    groups: Mapping[str, np.ndarray],
    vocabularies: tuple[Vocabulary, Vocabulary],
) -> list[Preferred]:
    """The three target phrases of the table that translation model and network score highest, for each source phrase.

    column: the network's natural log p(e|f) of every entry. Equal scores keep the order of the table.
    """
    counts, rows = phrase_counts(table), []
    direct = np.log(np.maximum(np.asarray(table.scores[:, DIRECT], dtype=np.float64), 1e-300))
    for group, numbers in groups.items():
        for number in numbers.tolist():
            start, end = table.entry_offsets[number : number + 2].tolist()
            source = vocabularies[0].text(table.source[number])
            for model, scores in ((TRANSLATION_MODEL, direct), (NETWORK, column)):
                best = start + np.argsort(-scores[start:end], kind="stable")[:TARGETS]
                rows += [
                    Preferred(
                        group,
                        source,
                        int(counts[number]),
                        model,
                        rank,
                        vocabularies[1].text(table.target[entry]),
                        float(scores[entry]),
                    )
                    for rank, entry in enumerate(best.tolist(), start=1)
                ]
    return rows


def sampled(
    model: TrainedModel, ids: np.ndarray, table: PhraseTable, groups: Mapping[str, np.ndarray], samples: int, seed: int
) -> list[Sampled]:
    """The five best-scored distinct target phrases among ``samples`` drawn from the network for each source phrase.

    ids: int32, the shortlist id of every id of the source vocabulary. Samples without an end symbol are left out.
    """
    # loads PyTorch, which takes a second
    from neural_smt.networks.sampling import sample

    numbers = np.concatenate(list(groups.values()))
    names = [group for group, members in groups.items() for _ in members]
    phrases = table.source.take(numbers)
    drawn = sample(model.network, Ragged(ids[phrases.values], phrases.offsets), samples, seed=seed)
    found = [Counter() for _ in names]
    scores: list[dict[str, float]] = [{} for _ in names]
    for row in np.flatnonzero(drawn.complete).tolist():
        text, source = model.target.text(drawn.phrases[row]), int(drawn.source[row])
        found[source][text] += 1
        scores[source][text] = float(drawn.scores[row])
    rows = []
    for number, group in enumerate(names):
        # one shortlist may hold fewer words than the vocabulary, so the source is spelt with its own words
        source = model.source.text(ids[phrases[number]])
        best = sorted(scores[number], key=lambda text, own=scores[number]: (-own[text], text))[:BEST_SAMPLES]
        rows += [
            Sampled(group, source, rank, text, found[number][text], scores[number][text])
            for rank, text in enumerate(best, start=1)
        ]
    return rows


STYLE = """
.wide table { width: 100%; min-width: 44rem; table-layout: fixed; }
th:first-child { width: 19%; } tbody th small { display: block; }
ol { margin: 0; padding-left: 1.3rem; } small { color: var(--soft); font-weight: 400; white-space: nowrap; }
li.both { background: var(--c0); } li.both small { color: inherit; }
""".strip()

HEADINGS = {"frequent": "Long, frequent source phrases", "rare": "Long, rare source phrases"}


def render(favourites: Sequence[Preferred], samples: Sequence[Sampled], drawn: int) -> str:
    """Tables 2 and 3 side by side as a page: a row for each source phrase; ``drawn`` samples were taken of each."""
    sections = []
    for group in dict.fromkeys(row.group for row in favourites):
        rows = []
        for source in dict.fromkeys(row.source for row in favourites if row.group == group):
            own = [row for row in favourites if (row.group, row.source) == (group, source)]
            writes = [row for row in samples if (row.group, row.source) == (group, source)]
            lists = [[row for row in own if row.model == model] for model in (TRANSLATION_MODEL, NETWORK)]
            listed = {row.target for row in own if row.model == TRANSLATION_MODEL}
            cells = [_list([(row.target, f"{row.log_probability:.2f}") for row in part], listed) for part in lists]
            cells.append(_list([(r.target, f"×{r.samples}, {r.log_probability:.2f}") for r in writes], listed))
            head = f"{_show(source)} <small>extracted {own[0].extracted} times</small>"
            rows.append([head, *cells])
        columns = ("Source phrase", "Translation model", "Network", f"Best of {drawn} samples")
        sections += [f"<h2>{escape(HEADINGS.get(group, group))}</h2>", html_table(columns, rows, ["-"] * len(columns))]
    intro = (
        '<p class="about">For each source phrase the target phrases of the phrase table that the translation model '
        "p(target | source) and the network score highest, and the best of the phrases that the network itself writes, "
        "with natural log-probabilities. Shaded: among the translation model's three.</p>"
    )
    return render_page("Preferred and sampled phrases", "\n".join([intro, *sections]), STYLE)


def _list(items: Sequence[tuple[str, str]], shaded: set[str]) -> str:
    lines = []
    for text, note in items:
        mark = ' class="both"' if text in shaded else ""
        lines.append(f"<li{mark}>{_show(text) or '<i>nothing</i>'} <small>{escape(note)}</small></li>")
    return f"<ol>{''.join(lines)}</ol>"


def _show(text: str) -> str:
    """HTML of tokens, with the characters that the tokeniser wrote as entities."""
    return escape(unescape(text))
