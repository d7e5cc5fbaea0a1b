"""The steps of the decoding stage with an attention network: translating, and scoring n-best lists."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.alignment.pharaoh import write_alignments
from neural_smt.decoding.attention.batching import shard_members
from neural_smt.decoding.attention.hypotheses import Hypothesis
from neural_smt.decoding.attention.settings import AttentionDecodingSettings
from neural_smt.decoding.attention.statistics import AttentionStatistics
from neural_smt.decoding.nbest import ListedTranslation, read_blocks, write_entries
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_json, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.settings import read_settings
from neural_smt.shards import Shard

log = logging.getLogger(__name__)


def translate_attention(
    *,
    text: Path,
    model: Path,
    output: Path,
    statistics: Path,
    settings: dict[str, Any],
    candidates: Path | None = None,
    lexical: Path | None = None,
    source_vocabulary: Path | None = None,
    target_vocabulary: Path | None = None,
    alignment: Path | None = None,
    nbest: Path | None = None,
    nbest_size: int = 0,
    shard: str = "1-of-1",
    device: str = "cpu",
) -> None:
    """Translate a tokenised text, one sentence a line, with an attention network alone.

    model: its folder; settings: see ``AttentionDecodingSettings``; candidates: the target vocabularies of the sentences
    (Mi et al. 2016), all target words without; lexical: tables of word translations, with their vocabularies, that
    unknown words are replaced from. Writes the translations, with ``alignment`` the source word that each word looked
    at most (Pharaoh; none for the end symbol), with ``nbest`` a list of at most ``nbest_size`` translations per
    sentence (0: all that were found), and statistics (see ``AttentionStatistics.summarise``); or of a shard, named as
    ``2-of-4``, what ``join_attention`` takes.
    """
    part = Shard.parse(shard)
    chosen = read_settings(AttentionDecodingSettings, settings, "decoding.attention")
    if nbest_size < 0:
        raise UserError(f"the n-best size is {nbest_size}; set it to 0 or more")
    # They load PyTorch, which most systems need none of.
    from neural_smt.decoding.attention.translator import Translator
    from neural_smt.networks.device import describe_device, select_device

    place = select_device(device)
    translator = Translator.load(model, chosen, place, lexical, source_vocabulary, target_vocabulary)
    lines = read_lines(text)
    sets = None if candidates is None else translator.read_sets(candidates, lines, text)
    sources = [line.split() for line in lines]
    members = shard_members([len(source) for source in sources], chosen.batch, part)
    lines, sources = [lines[number] for number in members], [sources[number] for number in members]
    sets = None if sets is None else sets.take(np.array(members, dtype=np.int64))
    log.info("%d sentences to translate, on %s", len(lines), describe_device(place))
    began = time.perf_counter()
    found = translator.search(lines, sets)
    result = AttentionStatistics.of(found, members, time.perf_counter() - began)
    best = [hypotheses[0] for hypotheses in found.hypotheses]
    write_lines(output, (" ".join(translator.tokens(h, s)) for h, s in zip(best, sources, strict=True)))
    if alignment:
        write_alignments(alignment, _links(best, sources))
    if nbest:
        shown = [hypotheses[: nbest_size or None] for hypotheses in found.hypotheses]
        listed = zip(members, shown, sources, strict=True)
        write_entries(nbest, (translator.listed(n, h, source) for n, all_of, source in listed for h in all_of))
    write_json(statistics, result.summarise() if part.count == 1 else result.content())
    result.log_result()


def score_lists(
    *,
    nbest: Path,
    text: Path,
    model: Path,
    output: Path,
    candidates: Path | None = None,
    nbest_size: int = 0,
    precision: str = "fp32",
    shard: str = "1-of-1",
    device: str = "cpu",
) -> None:
    """Score n-best lists (in the format of Moses) with an attention network: the same with the feature Attention0.

    nbest: the lists of a phrase-based system, sentence by sentence; text: the tokenised sentences that they translate;
    nbest_size: the first so many of each sentence are kept (0: all); precision: fp32, bf16, or auto (bf16 on CUDA). The
    feature is the natural log of p(translation | sentence), end symbol included; words that the network does not know
    count as the unknown word, and the empty translation of an empty sentence has 0. With candidates, the softmax of a
    sentence is over its target vocabulary and all words of its list, so that its translations can be compared; without,
    over all target words. Totals stay as they are (see ``reorder``). shard: the share of the lists that is read and
    written, as ``2-of-4`` (see ``join_scores``).
    """
    part = Shard.parse(shard)
    if nbest_size < 0:
        raise UserError(f"the n-best size is {nbest_size}; set it to 0 or more")
    # They load PyTorch, which most systems need none of.
    from neural_smt.decoding.attention.lists import add_scores, first_of_each
    from neural_smt.decoding.attention.translator import read_sets
    from neural_smt.networks.attention.folder import load_attention
    from neural_smt.networks.device import select_device

    loaded, lines = load_attention(model, select_device(device)), read_lines(text)
    sets = None if candidates is None else read_sets(candidates, loaded.target, lines, text)
    count, began = 0, time.perf_counter()

    def scored() -> Iterator[ListedTranslation]:
        nonlocal count
        for block in read_blocks(nbest, part):
            entries = first_of_each(block, nbest_size)
            strange = next((entry.sentence for entry in entries if not 0 <= entry.sentence < len(lines)), None)
            if strange is not None:
                raise UserError(
                    f"{nbest}: a list of sentence {strange}, but {text} has {len(lines)}; give the text of the lists"
                )
            count += len(entries)
            yield from add_scores(entries, loaded, lines, sets, precision)

    write_entries(output, scored())
    seconds = time.perf_counter() - began
    log.info("scored %d translations in %.1f s, %.0f a second", count, seconds, count / max(seconds, 1e-9))


def _links(best: list[Hypothesis], sources: list[list[str]]) -> Ragged:
    links = [hypothesis.links(len(source)) for hypothesis, source in zip(best, sources, strict=True)]
    flat = Ragged.from_lists([np.array(sentence).reshape(-1) for sentence in links], dtype=np.int16)
    return Ragged(flat.values.reshape(-1, 2), flat.offsets // 2)
