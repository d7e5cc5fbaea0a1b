"""The decoding stage."""

import logging
import time
from itertools import chain
from pathlib import Path

import numpy as np

from neural_smt.decoding.features import HOOKS
from neural_smt.decoding.loading import load_decoder
from neural_smt.decoding.nbest import read_blocks, read_nbest, write_entries, write_nbest
from neural_smt.decoding.rescoring import add_feature, best_of_each
from neural_smt.decoding.rescoring import reorder as sort_lists
from neural_smt.decoding.statistics import PartStatistics, summarise
from neural_smt.decoding.weights import Weights
from neural_smt.io.files import read_lines, write_json, write_lines
from neural_smt.language_model.model import NgramModel
from neural_smt.shards import Shard
from neural_smt.system_folder import System
from neural_smt.vocabulary import Vocabulary

log = logging.getLogger(__name__)


def decode(
    *,
    system: Path,
    weights: Path,
    text: Path,
    output: Path,
    statistics: Path,
    nbest: Path | None = None,
    nbest_size: int = 0,
    alignment: Path | None = None,
    shard: str = "1-of-1",
    device: str = "cpu",
    threads: int = 1,
) -> None:
    """Translate a tokenised text, one sentence a line.

    system: a searched one, see ``system_folder``; weights: its tuned ones. Writes the translations, with ``nbest`` a
    list of ``nbest_size`` distinct ones per sentence, with ``alignment`` their word alignments (Pharaoh), and
    statistics: sentences, seconds of search, sentences per second, mean model score, unknown words, and what the
    network was asked; or of a shard, named as ``2-of-4``, what ``join_translations`` takes.
    """
    part = Shard.parse(shard)
    decoder = load_decoder(System.load(system), weights, threads, device)
    model, hook = decoder.model, decoder.hook
    sentences = [line.split() for line in read_lines(text)]
    members = list(range(len(sentences))) if part.count == 1 else decoder.plan(sentences).members(part)
    sentences = [sentences[number] for number in members]
    began = time.perf_counter()
    translations = decoder.decode(sentences, nbest_size if nbest else 0)
    seconds = time.perf_counter() - began
    write_lines(output, (" ".join(translation.tokens) for translation in translations))
    if nbest:
        write_nbest(nbest, translations, decoder.feature_set)
    if alignment:
        write_lines(alignment, (" ".join(f"{i}-{j}" for i, j in t.alignment) for t in translations))
    asked = {"cslm" if hook.name == HOOKS["cslm"] else "recurrent": hook.statistics()} if hook else {}
    scores = [translation.score for translation in translations]
    unknown = [sum(token not in model.source_vocabulary for token in tokens) for tokens in sentences]
    if part.count == 1:
        write_json(statistics, summarise(scores, unknown, seconds, threads, asked))
    else:
        write_json(statistics, PartStatistics(members, scores, unknown, seconds, threads, asked).content())
    if hook:
        log.info("%s", hook.describe())
    log.info("translated %d sentences in %.1f s", len(sentences), seconds)


def rescore(
    *,
    nbest: Path,
    cslm: Path,
    language_model: Path,
    target_vocabulary: Path,
    output: Path,
    settings: dict | None = None,
    weights: Path | None = None,
    shard: str = "1-of-1",
    device: str = "cpu",
) -> None:
    """Score n-best lists (in the format of Moses) with a CSLM: the same lists with the feature Cslm0.

    cslm: model folder; language_model: the n-gram model for words outside the CSLM's shortlist; settings: see
    ``CslmSettings``. With weights the lists are also reordered (see ``reorder``). shard: the share of the lists that is
    read and written, as ``2-of-4`` (see ``join_scores``).
    """
    part = Shard.parse(shard)
    vocabulary = Vocabulary.load(target_vocabulary)
    from neural_smt.decoding.cslm import CslmHook  # loads PyTorch, which most systems need none of

    hook = CslmHook.load(cslm, NgramModel.load(language_model, vocabulary), vocabulary, settings or {}, device)
    vector = Weights.load(weights).values if weights else None
    blocks = (add_feature(block, hook, vocabulary) for block in read_blocks(nbest, part))
    write_entries(output, chain.from_iterable(sort_lists(b, vector) if weights else b for b in blocks))
    log.info("%s", hook.describe())


def reorder(*, nbest: Path, weights: Path, output: Path, statistics: Path) -> None:
    """Write the best translations of scored n-best lists under the weights, and statistics: sentences, entries and mean
    score.
    """
    listed = read_nbest(nbest)
    entries = sort_lists(listed, Weights.load(weights).values)
    write_lines(output, (" ".join(tokens) for tokens in best_of_each(entries)))
    best = {entry.sentence: entry.score for entry in reversed(entries)}
    mean = float(np.mean(list(best.values()))) if best else 0.0
    write_json(statistics, {"sentences": len(best), "entries": len(entries), "mean_score": mean})
