"""Phrase pairs in blocks that are scored one after the other, each in as much memory as the block needs.

Blocks depend on the table alone, and nothing that is computed is shared by two of them: whoever scores them, all at
once or shards of them, scores are the same to the last bit.
"""

import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.errors import UserError
from neural_smt.experiment.settings import section_settings
from neural_smt.io.checkpoint import Checkpoint, fingerprint, load_checkpoint, save_checkpoint
from neural_smt.io.files import digest_file, read_lines, write_json
from neural_smt.io.ragged import Ragged
from neural_smt.io.temporaries import remove_folder
from neural_smt.networks.device import describe_device, select_device
from neural_smt.networks.encoder_decoder import EncoderDecoder, load_forward_model
from neural_smt.networks.folder import WEIGHTS, Trained
from neural_smt.phrases.table import PhraseTable, save_column
from neural_smt.rescoring.column_steps import NOTHING, WorkDone, write_column
from neural_smt.rescoring.proposed_table import propose_table
from neural_smt.rescoring.scorer import PairScorer
from neural_smt.shards import Shard
from neural_smt.shortlist import shortlist_ids

PAIRS = 1 << 20
"""Pairs of a block, about: all of one phrase of the side that the network reads are in the same block."""


class Blocks:
    """The pairs of a table in blocks: rows int64 ``[n]``, and of each the phrase that the network reads and the one
    that it predicts, int32 ``Ragged`` of n in ids of the network's words.

    ids: int32, the network's id of every word of the source and of the target vocabulary. A network that reads source
    phrases has those that follow one another in a block. For one that reads target phrases (``backward``), whose pairs
    a table has all over, a hash of their words puts them together: 4 bytes a pair tell which block each belongs to.
    """

    def __init__(self, table: PhraseTable, ids: Sequence[np.ndarray], backward: bool = False):
        self.table, self.ids, self.backward = table, ids, backward
        if backward:
            self.count = -(-len(table) // PAIRS)
            self.block_of = np.empty(len(table), dtype=np.int32)
            for start in range(0, len(table), PAIRS):
                rows = np.arange(start, min(start + PAIRS, len(table)))
                self.block_of[rows] = hash_phrases(self._phrases(table.target, rows, 1)) % np.uint64(self.count)
        else:
            wanted = np.arange(0, len(table), PAIRS)
            starts = np.unique(np.searchsorted(table.entry_offsets, wanted, side="right") - 1)
            self.bounds = np.append(table.entry_offsets[starts], len(table))
            self.count = len(starts)

    def __getitem__(self, number: int) -> tuple[np.ndarray, Ragged, Ragged]:
        rows = np.flatnonzero(self.block_of == number) if self.backward else np.arange(*self.bounds[number:][:2])
        sources = np.searchsorted(self.table.entry_offsets, rows, side="right") - 1
        pair = self._phrases(self.table.source, sources, 0), self._phrases(self.table.target, rows, 1)
        return rows, *(pair[::-1] if self.backward else pair)

    def _phrases(self, phrases: Ragged, rows: np.ndarray, side: int) -> Ragged:
        chosen = phrases.take(rows)
        return Ragged(self.ids[side][chosen.values], chosen.offsets)


def hash_phrases(phrases: Ragged) -> np.ndarray:
    """uint64 ``[n]``: equal for equal phrases of ids, otherwise spread evenly."""
    positions = np.arange(len(phrases.values)) - np.repeat(phrases.offsets[:-1], phrases.lengths)
    factors = np.uint64(0x9E3779B97F4A7C15) ** np.arange(1, phrases.lengths.max(initial=0) + 1, dtype=np.uint64)
    terms = (phrases.values.astype(np.uint64) + np.uint64(1)) * factors[positions]
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms)])
    hashes = sums[phrases.offsets[1:]] - sums[phrases.offsets[:-1]]  # modulo 2^64, and so is the sum
    hashes = (hashes ^ (hashes >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return hashes >> np.uint64(32)


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BlockScorer:
    """Scores blocks and keeps what it has scored in ``state``, for a run that goes on; model: the digest of the
    network's weights.
    """

    scorer: PairScorer
    batch: int
    state: Path
    model: str

    def score(
        self, number: int, read: Ragged, predicted: Ragged, progress: Callable[[int], object]
    ) -> tuple[np.ndarray, WorkDone, float]:
        """The scores of a block, float32 ``[n]``, what they took, and the seconds."""
        place = self.state / str(number)
        made_with = [self.model, self.batch, self.scorer.precision, self.scorer.device.type]
        run = fingerprint(made_with, read, predicted)
        kept = load_checkpoint(place, run)
        if kept is None:
            began = time.perf_counter()
            scores, work = self.scorer.score(read, predicted, self.batch, progress)
            cost = {"work": work, "seconds": time.perf_counter() - began}
            kept = Checkpoint({"scores": scores}, cost)
            save_checkpoint(place, run, kept)
        else:
            progress(len(read))
        return kept.arrays["scores"], WorkDone(*kept.progress["work"]), kept.progress["seconds"]


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
    state: Path,
    shard: str | None = None,
) -> None:
    """Give every phrase pair log p(target | source) under a trained encoder-decoder.

    A network of the direction ``backward`` gives log p(source | target). settings: of the section ``rescoring``.
    Writes a score column (natural log, end symbol included) and what it cost as JSON; or of a shard, named as
    ``2-of-4``, what ``join_columns`` takes. What was scored meanwhile lies in ``state``: a run that was killed goes on
    from there.
    """
    chosen = section_settings("rescoring", settings)
    part, place = Shard.parse(shard), select_device(device)
    trained = Trained.load(model, EncoderDecoder, place)
    table, vocabularies = PhraseTable.load_checked(phrase_table, source_vocabulary, target_vocabulary)
    backward = trained.network.config.direction == "backward"
    shortlists = (trained.target, trained.source) if backward else (trained.source, trained.target)
    ids = [shortlist_ids(*both) for both in zip(vocabularies, shortlists, strict=True)]
    blocks, work, seconds = Blocks(table, ids, backward), NOTHING, 0.0
    network, weights = PairScorer(trained.network, chosen.precision), digest_file(model / WEIGHTS)
    scorer = BlockScorer(network, chosen.batch, state, weights)
    row_parts, score_parts = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.float32)]
    with tqdm(total=len(table) // part.count, unit="pair", unit_scale=True, disable=not sys.stderr.isatty()) as bar:
        for number in part.range(blocks.count):
            of_block, read, predicted = blocks[number]
            found, done, took = scorer.score(number, read, predicted, bar.update)
            row_parts.append(of_block)
            score_parts.append(found)
            work, seconds = work + done, seconds + took
    rows, scores = np.concatenate(row_parts), np.concatenate(score_parts)
    if not np.isfinite(scores).all():
        raise UserError(f"{model}: the model gives scores that are not finite; train it again with a smaller clip")
    cost = work._asdict() | {"seconds": round(seconds, 3), "device": describe_device(place)}
    if shard is None:
        write_column(output, statistics, [(rows, scores)], cost, table)
    else:
        save_column(output, scores, table, rows)
        write_json(statistics, cost)
    remove_folder(state)
    log.info("%d pairs in %.1f s, %.0f pairs/s", work.pairs, seconds, work.pairs / max(seconds, 1e-9))


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

    texts: tokenised source text that the table is for; settings: of the section ``proposals``. Writes the table (a
    folder) and, as JSON, source phrases, pairs, pairs that are new, seconds.
    """
    chosen = section_settings("proposals", settings)
    trained = load_forward_model(model, select_device(device))
    table, vocabularies = PhraseTable.load_checked(phrase_table, source_vocabulary, target_vocabulary)
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
