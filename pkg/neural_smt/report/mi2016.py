"""The tables of Mi et al. (2016), English to French: their rows, systems that stand for them, the paper's numbers.

Tables 1 and 2, of coverage and sizes, stand with ``vocabularies.coverage_table``.
"""

from __future__ import annotations

from typing import NamedTuple

from neural_smt.report.paper import PaperRow, PaperTable

LIMITED, REPLACED = "limited", "limited_unk"
"""The paper's system, as it writes unknown words and with these replaced."""

JEAN = "jean", "jean_unk"
"""The same of the network that is trained on parts with words of their own (Jean et al. 2015)."""

CURVE, FIXED = "attention", "attention_fixed"
"""The networks of Figure 2: the paper's, and the same with embeddings that stay as they are from some epoch on."""

BEST_EPOCH, BEST_BLEU = 7, 30.72
"""Where the paper's learning curve has its highest BLEU on the development set, and which (section 5.2.3)."""

TRAINING_SLOWDOWN = 1.5
"""How many times as long the paper's training takes with 30,000 words for each batch (section 5.2.5)."""


class SizeRow(NamedTuple):
    """A row of Table 3: N of V^T at decoding, BLEU on the development set, mean words of a sentence's vocabulary."""

    frequent: int
    system: str
    bleu: float
    size: int


SIZES = (
    SizeRow(50, "top_50", 30.61, 202),
    SizeRow(200, "top_200", 30.65, 324),
    SizeRow(500, "top_500", 30.70, 605),
    SizeRow(1000, "top_1000", 30.70, 1089),
    SizeRow(2000, LIMITED, 30.72, 2067),
    SizeRow(10000, "top_10000", 30.69, 10029),
)
"""Table 3: one network, decoded with other numbers of the most frequent words. Its 30.72 is that of Table 4 with
unknown words replaced."""

SYSTEMS = PaperTable(
    "4",
    "Single systems",
    (
        PaperRow("Moses (Cho et al. 2014)", "baseline", None, 33.30),
        PaperRow("Jean: candidate list", JEAN[0], 29.32, 33.36),
        PaperRow("Jean: + UNK replace", JEAN[1], 29.98, 34.11),
        PaperRow("Mi: voc. manipulation", LIMITED, 30.15, 34.45),
        PaperRow("Mi: + UNK replace", REPLACED, 30.72, 35.11),
        PaperRow("full softmax, shortlist", "full"),
        PaperRow("full softmax, shortlist, + UNK replace", "full_unk"),
        PaperRow("full softmax, all words", "full_all"),
    ),
    "The paper's own training in Jean's manner has 29.99 on its development set and 34.16 on its test set, the best "
    "phrase-based system that it names (Durrani et al. 2014) 37.03. It has no full softmax.",
)
"""Table 4, and the full softmax."""

PARTS = ("dictionary_only", "phrases_only")
"""Systems with V^D and V^T, and with V^P and V^T."""

FURTHER = PaperTable(
    "Further",
    "Parts of the vocabulary, the scorer, and the phrase-based system",
    (
        PaperRow("Moses (Cho et al. 2014)", "baseline", None, 33.30),
        PaperRow("voc. manipulation", LIMITED, 30.15, 34.45),
        PaperRow("voc. manipulation, + UNK replace", REPLACED, 30.72, 35.11),
        PaperRow("V^D and V^T", PARTS[0], None, 34.20),
        PaperRow("V^P and V^T", PARTS[1], None, 34.23),
        PaperRow("decoding with V^P and V^T of 50", "few_phrases"),
        PaperRow("decoding with V^D and V^T of 50, as large", "few_words"),
        PaperRow("scorer without the word before", "no_word"),
        PaperRow("Moses' lists with the network's score", "rescored_attention"),
    ),
    "The paper's single parts are of section 5.2.3, which does not say whether unknown words are replaced. Its scorer "
    "reads the word before (eq. 4).",
)
"""What the text of the paper has, and what goes further."""

FAMILIAR = ("baseline", LIMITED, REPLACED)
"""Rows that other rows are set beside: no table is shown for them alone."""

ORDERS = (
    ("baseline", LIMITED),
    ("baseline", REPLACED),
    (JEAN[0], LIMITED),
    (JEAN[1], REPLACED),
    JEAN,
    (LIMITED, REPLACED),
)
"""Systems whose BLEU on the test set is lower -> higher in the paper, besides those of ``PARTS``."""


def paper_systems() -> list[str]:
    """The names of all systems in the tables, each once."""
    names = [row.system for table in (SYSTEMS, FURTHER) for row in table.rows]
    return list(dict.fromkeys([*names, *(row.system for row in SIZES)]))
