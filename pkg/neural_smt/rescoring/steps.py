"""The rescoring stage: a network's score of every phrase pair as a column of the phrase table."""

import logging
import time
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.errors import UserError
from neural_smt.files import read_lines, write_json
from neural_smt.networks.device import describe_device, select_device
from neural_smt.networks.folder import TrainedModel, load_forward_model, load_model
from neural_smt.phrases.columns import save_column
from neural_smt.phrases.table import PhraseTable
from neural_smt.ragged import Ragged
from neural_smt.rescoring.proposed_table import ProposalSettings, propose_table
from neural_smt.rescoring.scorer import PairScorer, WorkDone
from neural_smt.settings import read_settings
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import UNK, Vocabulary

log = logging.getLogger(__name__)

DEFAULTS = {"batch": 1024, "precision": "auto"}


def score_phrase_table(
    *,
    phrase_table: Path,
    model: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    output: Path,
    statistics: Path,
    device: str,
    settings: dict[str, Any],
) -> None:
    """Give every phrase pair log p(target | source) under a trained encoder-decoder.

    A network of the direction ``backward`` gives log p(source | target). settings: batch, distinct phrases of the side
    it reads that go through the network together; precision, ``auto`` (bf16 on CUDA, else fp32), ``fp32`` or ``bf16``.
    Writes a score column (natural log, end symbol included) and what it cost as JSON.
    """
    chosen = DEFAULTS | settings
    if chosen["batch"] < 1:
        raise UserError(f"rescoring: batch is {chosen['batch']}; set it to 1 or more")
    place = select_device(device)
    trained = load_model(model, place)
    table = PhraseTable.load(phrase_table)
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    table.check_vocabularies(*vocabularies)
    began = time.perf_counter()
    scores, work = score_table(table, trained, vocabularies, chosen["batch"], chosen["precision"])
    seconds = time.perf_counter() - began
    if not np.isfinite(scores).all():
        raise UserError(f"{model}: the model gives scores that are not finite; train it again with a smaller clip")
    save_column(output, scores, table)
    report = work._asdict() | {
        "seconds": round(seconds, 3),
        "pairs_per_second": round(work.pairs / max(seconds, 1e-9), 1),
        "mean_log_probability": float(scores.mean(dtype=np.float64)) if len(scores) else None,
        "device": describe_device(place),
    }
    write_json(statistics, report)
    log.info("%d pairs in %.1f s, %.0f pairs/s", work.pairs, seconds, report["pairs_per_second"])


def score_table(
    table: PhraseTable, model: TrainedModel, vocabularies: tuple[Vocabulary, Vocabulary], batch: int, precision: str
) -> tuple[np.ndarray, WorkDone]:
    """The column of ``score_phrase_table`` for tables and models in memory: float32 ``[E]``, and what it took."""
    backward = model.network.config.direction == "backward"
    shortlists = (model.target, model.source) if backward else (model.source, model.target)
    source, target = (
        Ragged(shortlist_ids(vocabulary, shortlist)[phrases.values], np.asarray(phrases.offsets))
        for phrases, vocabulary, shortlist in zip((table.source, table.target), vocabularies, shortlists, strict=True)
    )
    scorer = PairScorer(model.network, precision)
    if backward:
        return scorer.score(target, np.arange(len(table)), source.take(table.entry_source), batch)
    return scorer.score(source, table.entry_source, target, batch)


def count_unknown_words(
    *, phrase_table: Path, source_vocabulary: Path, target_vocabulary: Path, target_shortlist: Path, output: Path
) -> None:
    """Count the target words of every phrase pair that the networks do not know, as a negative score column.

    The word penalty of Cho et al. (2014, section 4.1): networks overestimate words outside the shortlist, because all
    of them share the probability of ``[UNK]``.
    """
    vocabulary, table = Vocabulary.load(target_vocabulary), PhraseTable.load(phrase_table)
    table.check_vocabularies(Vocabulary.load(source_vocabulary), vocabulary)
    unknown = shortlist_ids(vocabulary, Vocabulary.load(target_shortlist)) == UNK
    counts = table.target.count(unknown)
    save_column(output, -counts, table)
    log.info("%d of %d target words are unknown to the networks", counts.sum(), len(table.target.values))


def propose_phrases(
    *,
    phrase_table: Path,
    model: Path,
    lexical: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    texts: list[Path],
    output: Path,
    statistics: Path,
    settings: dict[str, Any],
    device: str,
) -> None:
    """Write the phrase table of some texts with target phrases that a network proposes (see ``propose_table``).

    texts: tokenised source text that the table is for; settings: see ``ProposalSettings``. Writes the table (a folder)
    and, as JSON, source phrases, pairs, pairs that are new, seconds.
    """
    chosen = read_settings(ProposalSettings, settings, "proposals")
    trained, table = load_forward_model(model, select_device(device)), PhraseTable.load(phrase_table)
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    table.check_vocabularies(*vocabularies)
    sentences = vocabularies[0].encode(line for text in texts for line in read_lines(text))
    began = time.perf_counter()
    proposed = propose_table(table, trained, vocabularies, LexicalTable.load(lexical), sentences, chosen)
    seconds = time.perf_counter() - began
    proposed.save(output)
    report = {
        "source_phrases": len(proposed.source),
        "pairs": len(proposed),
        "new_pairs": int((proposed.counts[:, 2] == 0).sum()),
        "seconds": round(seconds, 3),
    }
    write_json(statistics, report)
    log.info("%(pairs)d pairs, %(new_pairs)d of them new, in %(seconds).1f s", report)
