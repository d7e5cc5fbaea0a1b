"""What each rule's time, memory and disk grow with: one table, an entry for every rule that makes files."""

from collections.abc import Callable
from dataclasses import dataclass

from neural_smt.planning.experiment import Experiment
from neural_smt.planning.jobs import Job
from neural_smt.planning.units import choosing, results, scoring, search, sharing, tables, texts, training

TEXT = ("text",)
ROWS = ("rows",)
WORKED = ("worked rows",)


@dataclass(frozen=True)
class Work:
    """How a rule's cost follows from its units; each also has a fixed part.

    units: counts those of a job; time, memory, disk: names of the units that each grows with; parallel: share of the
    time that further threads divide; like: the rule whose measured rates stand in where this one was never run; start:
    MB that a job has before it does anything; mapped: those of ``memory`` that only count pages of files, which the
    system takes away where they are in the way.
    """

    units: Callable[[Job, Experiment], dict[str, float]]
    time: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    disk: tuple[str, ...] = ()
    parallel: float = 0.0
    like: str = ""
    start: float = 200.0
    mapped: tuple[str, ...] = ()


NETWORK = 450.0
"""MB of a job that has loaded the networks' libraries."""

SMALL = Work(sharing.nothing)
"""Of tables and plots, whose cost is that of starting Python."""

SEARCH = ("cube pops", "stack hypotheses", "network's work")
LOADED = ("rows", "n-grams", "network")
TABLES = ("rows", "n-grams")
"""What search maps: the phrase table and the language model."""

ATTENTION = Work(
    training.attention_updates,
    ("multiply-adds",),
    ("weights",),
    ("kept weights",),
    parallel=0.8,
    start=NETWORK,
    like="train_encoder_decoder",
)

WORK = {
    # corpus
    "fetch": Work(texts.fetched, ("words",), (), ("words",)),
    "fetch_archive": Work(texts.fetched, ("words",), (), ("words",), like="fetch"),
    "extract_member": Work(texts.extracted, ("archive words", "words"), (), ("words",), like="fetch"),
    "join_texts": Work(texts.joined_texts, ("words",), (), ("words",), like="fetch"),
    "generate": Work(texts.generated, ("lines",), ("lines",), ("lines",)),
    "check_experiment": Work(texts.checked, ("words",), (), (), like="fetch"),
    "tokenise": Work(texts.tokenised, ("words",), (), TEXT),
    "clean_pairs": Work(texts.cleaned, ("words",), (), ("text",)),
    "clean_text": Work(texts.cleaned, ("words",), (), ("text",), like="clean_pairs"),
    "build_vocabulary": Work(texts.counted, ("words",), ("types",), ("types",)),
    # selection
    "select_pairs": Work(texts.selected, ("scored words", "words"), ("held words", "words"), ("text",)),
    "select_text": Work(texts.selected, ("scored words", "words"), ("held words", "words"), TEXT, like="select_pairs"),
    "train_selection_models": Work(texts.scored_pool, ("words",), ("words",), ("words",), like="take_pairs"),
    "score_pool": Work(sharing.shared(texts.scored_pool), ("scored words",), ("words",), (), like="select_pairs"),
    "take_pairs": Work(texts.taken, ("words",), ("words",), TEXT),
    "take_text": Work(texts.taken, ("words",), ("words",), TEXT, like="take_pairs"),
    # alignment
    "align": Work(tables.aligned, ("cells", "words"), ("words",), TEXT),
    "align_sets": Work(tables.aligned, ("cells", "words"), ("words",), ()),
    "symmetrise": Work(tables.aligned, TEXT, TEXT, TEXT),
    "build_lexical_tables": Work(tables.data_words, ("words",), ("words",), ("words", "types")),
    "measure_error_rate": SMALL,
    # phrases
    "build_phrase_table": Work(tables.built_table, WORKED, ROWS, WORKED, parallel=0.4),
    "extract_phrases": Work(tables.extracted_shard(0.4), WORKED, ROWS, WORKED, like="build_phrase_table"),
    "consolidate_phrases": Work(tables.extracted_shard(0.4), WORKED, ROWS, WORKED, like="build_phrase_table"),
    "count_targets": Work(tables.extracted_shard(0.2), WORKED, ROWS, WORKED, like="build_phrase_table"),
    "score_phrases": Work(tables.extracted_shard(0.4), WORKED, ROWS, WORKED, like="build_phrase_table"),
    # language model
    "build_language_model": Work(tables.estimated, ("words",), ("held words",), ("n-grams",)),
    "measure_language_model": Work(tables.measured_model, (), ("n-grams",), (), mapped=("n-grams",)),
    # shortlist, vocabularies, representations
    "build_shortlists": Work(tables.data_words, ("words",), ("types",), ()),
    "build_network_vocabulary": Work(tables.network_words, ("words",), ("words",), ()),
    "build_candidates": Work(
        tables.candidates,
        ("dictionary words", "phrases' words"),
        ("held words", "words", "rows"),
        ("dictionary words",),
        mapped=ROWS,
    ),
    "measure_candidates": Work(tables.covered, ("words",), ("held words", "text", "rows"), (), mapped=ROWS),
    "build_representation": Work(
        tables.represented, ("words", "dimensions", "projections"), ("words", "dimensions"), ("dimensions",)
    ),
    # training
    "train_encoder_decoder": Work(
        training.encoder_decoder_updates, ("multiply-adds",), ("rows", "weights"), ("kept weights",), parallel=0.8
    ),
    "train_cslm": Work(
        training.cslm_updates,
        ("multiply-adds",),
        ("words", "weights"),
        ("kept weights",),
        parallel=0.8,
        like="train_encoder_decoder",
    ),
    "measure_cslm": Work(
        training.measured_cslm, ("multiply-adds", "n-grams"), ("n-grams",), (), parallel=0.5, mapped=("n-grams",)
    ),
    "train_recurrent": Work(
        training.recurrent_updates,
        ("words", "multiply-adds", "inputs", "exchanged words"),
        ("text", "weights"),
        ("weights",),
        parallel=0.5,
    ),
    "measure_recurrent": Work(training.measured_recurrent, ("words", "multiply-adds"), ("words",), ()),
    "train_attention": ATTENTION,
    "measure_epochs": Work(scoring.measured_epochs, ("multiply-adds",), (), (), like="translate_attention"),
    # rescoring
    "score_phrase_table": Work(sharing.shared(scoring.scored_rows), ("multiply-adds",), ROWS, ROWS, parallel=0.8),
    "join_columns": Work(tables.counted_unknown, ROWS, ROWS, ROWS, like="count_unknown_words"),
    "count_unknown_words": Work(tables.counted_unknown, ROWS, ROWS, ROWS),
    "propose_phrases": Work(scoring.proposed, ("multiply-adds",), ROWS, ROWS, parallel=0.8, like="score_phrase_table"),
    # decoding
    "decode": Work(search.searched, SEARCH, LOADED, ("words",), mapped=TABLES),
    "decode_lists": Work(
        search.searched, (*SEARCH, "listed words"), LOADED, ("listed words",), like="decode", mapped=TABLES
    ),
    "decode_lattices": Work(search.searched, (*SEARCH, "arcs"), LOADED, ("arcs",), like="decode", mapped=TABLES),
    "score_lists": Work(
        sharing.shared(choosing.scored_lists), ("multiply-adds",), ("listed words",), (), like="score_phrase_table"
    ),
    "rerank": Work(choosing.reordered, ("listed words",), ("listed words",), ()),
    "decode_shard": Work(
        sharing.shared(search.searched, whole=LOADED), SEARCH, LOADED, ("words",), like="decode", mapped=TABLES
    ),
    "decode_lists_shard": Work(
        sharing.shared(search.searched, whole=LOADED),
        (*SEARCH, "listed words"),
        LOADED,
        ("listed words",),
        like="decode_lists",
        mapped=TABLES,
    ),
    "join_translations": Work(results.evaluated, ("words",), (), ("words",), like="evaluate"),
    "join_lists": Work(choosing.read_lists_of_set, ("listed words",), (), ("listed words",), like="rerank"),
    "join_scores": Work(choosing.read_lists_of_set, ("listed words",), (), ("listed words",), like="rerank"),
    "rescore_lattices": Work(choosing.rescored, ("arcs", "states", "multiply-adds"), ("arcs", "states"), ("words",)),
    "measure_oracles": Work(choosing.oracles, ("arcs",), ("arcs",), ()),
    "translate_attention": Work(
        sharing.shared(scoring.translated), ("multiply-adds",), (), (), like="score_phrase_table"
    ),
    "join_attention": Work(results.evaluated, ("words",), (), ("words",), like="join_translations"),
    "export_moses": Work(tables.exported, ("rows", "n-grams"), (), ("rows", "n-grams")),
    # tuning
    "tune": Work(search.tuned, (*SEARCH, "candidates' words"), (*LOADED, "most candidates"), (), mapped=TABLES),
    "tune_reranking": Work(
        choosing.tuned,
        ("arcs", "iterations' arcs", "iterations' states", "multiply-adds", "listed words"),
        ("arcs", "states", "listed words"),
        (),
    ),
    # evaluation
    "evaluate": Work(results.evaluated, ("words",), (), ("words",)),
    "compare": Work(results.compared, ("trials", "words"), ("words",), ()),
    "compare_neighbours": Work(results.compared, ("trials", "words"), ("words",), (), like="compare"),
    "compare_joint": Work(results.compared, ("trials", "words"), ("words",), (), like="compare"),
    # analysis and report
    "show_phrases": Work(tables.rows, (), ROWS, ()),
    "plot_pair_scores": Work(tables.rows, (), ROWS, ()),
    "embed_words": SMALL,
    "embed_phrases": Work(tables.rows, (), ROWS, ()),
    "plot_embedding": SMALL,
    "show_map": SMALL,
    "write_paper_order": Work(tables.rows, (), ROWS, ()),
    "write_table": SMALL,
    "write_data_table": SMALL,
    "write_scaling_table": SMALL,
    "write_networks_table": SMALL,
    "write_joint_tables": SMALL,
    "write_attention_tables": SMALL,
    "write_classes_table": SMALL,
    "plot_scores": SMALL,
    "plot_tuning": SMALL,
    "summarise_benchmarks": SMALL,
    "show_translations": SMALL,
    "show_page": SMALL,
    "choose_sentences": SMALL,
    "explain_sentences": Work(search.loaded, (), LOADED, (), like="decode", mapped=TABLES),
    "show_lattices": SMALL,
    "show_attention": SMALL,
    "show_alignments": SMALL,
}
"""Rule -> what its cost grows with."""
