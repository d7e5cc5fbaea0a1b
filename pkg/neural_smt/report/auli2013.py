"""The tables of Auli et al. (2013), French to English: their rows, systems that stand for them, the paper's numbers."""

from __future__ import annotations

from typing import NamedTuple

from neural_smt.report.paper import PaperRow, PaperTable

TARGET_ONLY = "recurrent"
"""The system that others are tested against: the recurrent language model of target words alone, on lattices, k = 1."""


class CandidatesRow(NamedTuple):
    """A row of Table 1: BLEU and oracle BLEU on news2011, seconds a sentence beside the search (of it: the first row).

    candidates: how the oracle of these candidates is called.
    """

    label: str
    system: str
    candidates: str
    bleu: float
    oracle: float | None
    seconds: float


CANDIDATES = (
    CandidatesRow("Baseline", "baseline", "1-best", 28.25, None, 0.173),
    CandidatesRow("100-best", "nbest_100", "100-best", 28.90, 37.22, 0.470),
    CandidatesRow("1000-best", "nbest_1000", "1000-best", 28.99, 40.06, 3.920),
    CandidatesRow("lattice (k = 1)", "recurrent", "lattice", 29.00, 43.50, 0.093),
    CandidatesRow("lattice (k = 10)", "lattice_10", "lattice", 29.04, 43.50, 0.599),
    CandidatesRow("lattice (k = 100)", "lattice_100", "lattice", 29.03, 43.50, 4.531),
)
"""Table 1: what is rescored."""

_BASELINE = PaperRow("Baseline", "baseline", 24.3, 24.7, 341)
_TARGET_ONLY = PaperRow("target-only", TARGET_ONLY, 25.1, 25.6, 218)

TABLES = (
    PaperTable(
        "2",
        "How much text the recurrent language model learns from",
        (
            PaperRow("Baseline", "baseline", 26.6, 27.8),
            PaperRow("+ RNNLM, small text (paper: 2m words)", "recurrent_small", 27.5, 28.3),
            PaperRow("+ RNNLM (paper: 50m words)", TARGET_ONLY, 27.7, 28.5),
        ),
        "The paper's n-gram model was trained on 1.15 bn words here. Its Tables 3 and 4 are of other languages: "
        "German-English, mean of its test sets 20.0, 20.3, 20.5; English-German 15.1, 15.4, 15.5.",
    ),
    PaperTable(
        "5",
        "What the joint model reads of the source sentence",
        (
            _BASELINE,
            _TARGET_ONLY,
            PaperRow("sent-lsa-dim80", "sent_lsa_80", 25.2, 25.6, 147),
            PaperRow("sent-lsa-dim240", "sent_lsa_240", 25.1, 25.4, 126),
            PaperRow("ww-rnn-dim50.n5", "ww_rnn_n5", 24.9, 25.4, 61),
            PaperRow("ww-rnn-dim50.p5n5", "ww_rnn_p5n5", 25.0, 25.3, 59),
            PaperRow("ww-rnn-dim50.p3", "ww_rnn_p3", 25.1, 25.6, 143),
            PaperRow("ww-rnn-dim50.c5", "ww_rnn_c5", 24.8, 25.3, 16),
            PaperRow("ww-lsa-dim50.n5", "ww_lsa_n5", 25.0, 25.4, 76),
            PaperRow("ww-lsa-dim50.p3", "ww_lsa_p3", 25.1, 25.6, 151),
        ),
    ),
    PaperTable(
        "7",
        "Oracle: the joint model reads the reference",
        (
            PaperRow("Baseline", "baseline", None, 25.2, 341),
            PaperRow("target-only", TARGET_ONLY, None, 26.4, 218),
            PaperRow("oracle (sent-lsa-dim40)", "oracle_40", None, 27.7, 124),
            PaperRow("oracle (sent-lsa-dim80)", "oracle_80", None, 28.5, 103),
            PaperRow("oracle (sent-lsa-dim160)", "oracle_160", None, 29.0, 86),
            PaperRow("oracle (sent-lsa-dim240)", "oracle_240", None, 29.5, 76),
        ),
        "Perplexities of oracles are not what they are elsewhere: the model has seen something of the text.",
    ),
    PaperTable(
        "8",
        "Projections of the source sentence to the reference",
        (
            _BASELINE,
            _TARGET_ONLY,
            PaperRow("proj-lsa-dim40", "proj_lsa_40", 25.1, 25.8, 145),
            PaperRow("proj-lsa-dim80", "proj_lsa_80", 25.1, 25.8, 134),
        ),
        "The paper's projections differ from target-only with p < 0.001 over all its test sets.",
    ),
    PaperTable(
        "Further",
        "What the paper leaves to future work",
        (
            PaperRow("target-only, lattices (k = 1)", TARGET_ONLY),
            PaperRow("target-only, in the search", "in_search"),
            PaperRow("ww-rnn-dim50.c5, lattices (k = 1)", "ww_rnn_c5"),
            PaperRow("ww-rnn-dim50.c5, in the search", "in_search_c5"),
            PaperRow("words of the same window, learned with the model", "learned_c5"),
            PaperRow("window p5n5 around them, learned with the model", "learned_p5n5"),
        ),
    ),
)
"""Tables 2, 5, 7 and 8, and what goes further."""


class ChannelRow(NamedTuple):
    """A row of Table 6: BLEU, mean of three test sets, without p(e|f) and without all channel scores.

    system: its name without what it goes without.
    """

    label: str
    system: str
    forward: float
    both: float


CHANNEL = (
    ChannelRow("Baseline without channel scores", "", 24.0, 22.5),
    ChannelRow("+ target-only", "_recurrent", 24.5, 22.6),
    ChannelRow("+ sent-lsa-dim240", "_sent_lsa_240", 24.9, 23.3),
    ChannelRow("+ ww-rnn-dim50.n5", "_ww_rnn_n5", 24.9, 24.0),
    ChannelRow("+ ww-rnn-dim50.p5n5", "_ww_rnn_p5n5", 24.6, 23.7),
    ChannelRow("+ ww-rnn-dim50.p3", "_ww_rnn_p3", 24.6, 22.3),
    ChannelRow("+ ww-rnn-dim50.c5", "_ww_rnn_c5", 24.9, 24.0),
    ChannelRow("+ ww-lsa-dim50.n5", "_ww_lsa_n5", 24.8, 23.9),
    ChannelRow("+ ww-lsa-dim50.p3", "_ww_lsa_p3", 23.8, 23.2),
)
"""Table 6: systems that go without p(e|f) (``no_forward`` before the name), or without both (``no_channel``)."""

FORWARD, BOTH = "no_forward", "no_channel"

PERPLEXITY_ORDER = (
    ("ww_rnn_c5", "ww_rnn_p5n5"),
    ("ww_rnn_c5", "ww_rnn_n5"),
    ("ww_rnn_p5n5", "sent_lsa_240"),
    ("ww_rnn_n5", "sent_lsa_240"),
    ("sent_lsa_240", "sent_lsa_80"),
    ("sent_lsa_80", TARGET_ONLY),
)
"""Systems whose perplexity is lower -> higher in the paper."""


def paper_systems() -> list[str]:
    """The names of all systems in the tables, each once."""
    names = [row.system for row in CANDIDATES]
    names += [row.system for table in TABLES for row in table.rows]
    names += [prefix + row.system for row in CHANNEL for prefix in (FORWARD, BOTH)]
    return list(dict.fromkeys(names))
