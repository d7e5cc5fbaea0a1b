"""The decoding stage."""

import logging
import time
from pathlib import Path

from neural_smt.decoding.nbest import write_nbest
from neural_smt.decoding.search import Decoder
from neural_smt.decoding.statistics import PartStatistics
from neural_smt.experiment.system_folder import System
from neural_smt.io.files import read_lines, write_lines
from neural_smt.shards import Shard

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
    nbest_alignment: bool = False,
    alignment: Path | None = None,
    shard: str | None = None,
    device: str = "cpu",
    threads: int = 1,
) -> None:
    """Translate a tokenised text, one sentence a line.

    system: a searched one, see ``system_folder``; weights: its tuned ones. Writes the translations, with ``nbest`` a
    list of ``nbest_size`` distinct ones per sentence (and their word alignments, if ``nbest_alignment``), with
    ``alignment`` word alignments (Pharaoh), and statistics; of a shard, named as ``2-of-4``, all of that is of its
    sentences (``PartStatistics``), for ``join_translations``.
    """
    part = Shard.parse(shard)
    described = System.load(system)
    decoder = Decoder.load(described, weights, threads, device)
    model, feature = decoder.model, decoder.feature
    sentences = [line.split() for line in read_lines(text)]
    members = decoder.plan(sentences).members(part)
    sentences = [sentences[number] for number in members]
    began = time.perf_counter()
    traced = nbest_size if nbest and nbest_alignment else int(alignment is not None)
    translations = decoder.decode(sentences, nbest_size if nbest else 0, traced=traced)
    seconds = time.perf_counter() - began
    write_lines(output, (" ".join(translation.tokens) for translation in translations))
    if nbest:
        write_nbest(nbest, translations, decoder.feature_set, nbest_alignment)
    if alignment:
        write_lines(alignment, (" ".join(f"{i}-{j}" for i, j in t.trace.alignment) for t in translations))
    counts = {described.of_network("kind"): feature.statistics()} if feature else {}
    scores = [translation.score for translation in translations]
    unknown = [sum(token not in model.source_vocabulary for token in tokens) for tokens in sentences]
    result = PartStatistics(
        members=members, scores=scores, unknown=unknown, seconds=seconds, threads=threads, counts=counts
    )
    result.save(statistics, shard)
    if feature:
        log.info("%s", feature.describe())
    result.log_result()
