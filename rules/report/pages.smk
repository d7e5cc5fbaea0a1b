"""What the pages of the report are made of: figures and tables with the captions beside this file."""

# in the order that a reader wants them; the report sorts them by name
SYSTEMS_PART = "1 Systems"
CHO_PART = "2 Cho et al. (2014)"
AULI_PART = "3 Auli et al. (2013)"
MI_PART = "4 Mi et al. (2016)"
SENTENCES_PART = "5 Sentences"
TEXT_PART = "6 Text and alignment"
NETWORKS_PART = "7 Networks"
TUNING_PART = "8 Tuning"
COSTS_PART = "9 Time and memory"


def page(part, title, caption, figures=(), tables=()):
    """A page: the part of the report it stands in, and its figures and tables, below the folder of the results."""
    return {"part": part, "title": title, "caption": caption, "figures": figures, "tables": tables}


def with_numbers(name):
    """A table that is there to read and as numbers."""
    return [f"{name}.md", f"{name}.csv"]


def paper_pages():
    """The experiment beside the papers that it has rows of."""
    pages = {}
    if {"baseline", "rnn"} <= set(PAPER_ROWS):
        pages["table1_cho2014"] = page(
            CHO_PART, "Table 1: BLEU and its order", "paper_order", tables=with_numbers("report/paper_order")
        )
    if NETWORKS:
        pages["figure3_cho2014"] = page(
            CHO_PART, "Figure 3: scores of phrase pairs", "pair_scores", ["analysis/pair_scores.png"]
        )
        for number, points in ((4, "words"), (5, "phrases")):
            pages[f"figure{number}_cho2014"] = page(
                CHO_PART, f"Figure {number}: {points}", "embedding", [f"analysis/{points}.png"]
            )
    if RESCORES_LATTICES:
        pages["tables_auli2013"] = page(
            AULI_PART, "Tables and Figure 3", "joint", ["report/joint.png"], with_numbers("report/joint")
        )
    if COMPARED_CLASSES:
        pages["classes"] = page(AULI_PART, "Word classes", "classes", tables=with_numbers("report/classes"))
    if TRANSLATED:
        pages["tables_mi2016"] = page(
            MI_PART, "Tables and Figure 2", "attention", ["report/attention.png"], with_numbers("report/attention")
        )
        pages["vocabularies"] = page(
            MI_PART, "Target vocabularies", "vocabularies", tables=with_numbers("vocabularies/coverage")
        )
    return pages


def text_pages():
    """What the systems are built from."""
    roles = [
        "train",
        *(["in_domain"] if CORPUS["in_domain"] else []),
        *(["monolingual"] if CORPUS["monolingual"] else []),
    ]
    pages = {
        "cleaning": page(TEXT_PART, "Cleaning", "cleaning", tables=[f"corpus/cleaning.{role}.csv" for role in roles]),
        "coverage": page(TEXT_PART, "Shortlists", "coverage", tables=["shortlist/coverage.csv"]),
    }
    for text in SELECTED:
        title = "Selection of pairs" if text == "train" else "Selection of extra text"
        files = f"selection/{text}.curve"
        pages[f"selection_{text}"] = page(TEXT_PART, title, "selection", [f"{files}.png"], [f"{files}.csv"])
    if CORPUS["gold"]:
        pages["alignment"] = page(TEXT_PART, "Alignment: error rate", "alignment", tables=["alignment/error_rate.csv"])
    return pages


def network_pages():
    """How the networks were trained."""
    captions = dict.fromkeys(NETWORKS, "learning_curve") | dict.fromkeys(RECURRENT, "recurrent_curve")
    captions |= dict.fromkeys(ATTENTION_NETWORKS, "attention_curve") | dict.fromkeys(CSLMS, "cslm_curve")
    pages = {"networks": page(NETWORKS_PART, "All networks", "networks", tables=with_numbers("report/networks"))}
    for network, caption in captions.items():
        files = f"training/{network}/curve"
        pages[f"curve_{network}"] = page(
            NETWORKS_PART, f"Learning curve: {network}", caption, [f"{files}.png"], [f"{files}.csv"]
        )
    return pages


def cost_pages():
    """How tuning went, and what the stages took."""
    pages = {"costs": page(COSTS_PART, "By stage", "costs", ["report/costs.png"], ["report/costs.csv"])}
    if TUNED:
        pages["tuning"] = page(TUNING_PART, "BLEU by iteration", "tuning", ["report/tuning.png"])
    if len(scaling_files()) > 1:
        pages["scaling"] = page(
            COSTS_PART, "By number of pairs", "scaling", ["report/scaling.png"], ["report/scaling.csv"]
        )
    return pages


def report_pages():
    """All pages of figures and tables: name -> what it is made of."""
    pages = {
        "systems": page(SYSTEMS_PART, "BLEU", "table1", ["report/bleu.png"], with_numbers("report/table1")),
    }
    if VARIANTS:
        pages["data"] = page(SYSTEMS_PART, "Data they are built from", "data", tables=with_numbers("report/data"))
    return pages | paper_pages() | text_pages() | network_pages() | cost_pages()


PAGES = report_pages()


def caption_text(name):
    """A caption as its file has it."""
    return (Path(workflow.basedir) / "rules" / "report" / f"{name}.rst").read_text(encoding="utf-8")


def page_files(kind):
    """The figures or the tables of a page, as a function of its name."""
    return lambda wildcards: results("{file}", file=PAGES[wildcards.page][kind])


# sets whose sentences are shown; the first is the one that a few are drawn of
SHOWN_SETS = CORPUS["test"]
FIRST_SHOWN = SHOWN_SETS[0]

# systems that tell how they translate, the first ones declared: each of them is loaded for it
EXPLAINED = list(SYSTEMS)[:8]
DRAWN_LATTICES = SEARCHED[:4]
DRAWN_ATTENTION = TRANSLATED[:4]

ALIGNED_BY_HAND = bool(CORPUS["gold"])
"""Whether the alignments that are drawn can be held to others."""


def explanations(systems, name):
    """How systems made translations of sentences of a set: label -> file."""
    return {labels()[system]: f"results/{EXPERIMENT}/report/sentences/{name}.{system}.json" for system in systems}


def drawn_alignments(side):
    """The text whose alignments are drawn: what was aligned by hand, else the training text."""
    gold = results("corpus/tokenised/{gold}.{side}", gold=CORPUS["gold"], side=side)
    return gold if ALIGNED_BY_HAND else results("selection/train.{side}", side=side)
