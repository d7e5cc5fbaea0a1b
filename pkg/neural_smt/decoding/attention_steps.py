"""Steps of attention networks alone: translating with one, and following one from epoch to epoch."""

import logging
import time
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.bleu import bleu, corpus_statistics
from neural_smt.decoding.attention.results import AttentionStatistics
from neural_smt.decoding.attention.search import Translator, shard_members
from neural_smt.decoding.nbest import write_entries
from neural_smt.errors import UserError
from neural_smt.experiment.settings import section_settings
from neural_smt.experiment.system_folder import System
from neural_smt.io.files import digest_file, digest_json, read_json, read_lines, read_parallel, write_json, write_lines
from neural_smt.io.tables import read_frame, write_rows
from neural_smt.shards import Shard
from neural_smt.vocabulary_selection.candidates import CandidateSets, read_sets
from neural_smt.workflow.code_digest import code_digest

log = logging.getLogger(__name__)

HEADER = ("epoch", "updates", "perplexity", "bleu", "seconds")


def translate_attention(
    *,
    system: Path,
    text: Path,
    output: Path,
    statistics: Path,
    candidates: Path | None = None,
    alignment: Path | None = None,
    nbest: Path | None = None,
    nbest_size: int = 0,
    shard: str | None = None,
    device: str = "cpu",
) -> None:
    """Translate a tokenised text, one sentence a line, with an attention network alone.

    system: one that is an attention network, see ``system_folder``; candidates: the target vocabularies of the
    sentences (Mi et al. 2016), all target words without. Writes the translations, with ``alignment`` the source word
    that each word looked at most (Pharaoh; none for the end symbol), with ``nbest`` a list of at most ``nbest_size``
    translations per sentence (0: all that were found), and statistics; of a shard, named as ``2-of-4``, all of that is
    of its sentences (``AttentionStatistics``), for ``join_translations``.
    """
    part = Shard.parse(shard)
    if nbest_size < 0:
        raise UserError(f"the n-best size is {nbest_size}; set it to 0 or more")
    from neural_smt.networks.device import describe_device, select_device

    translator = Translator.load(System.load(system), device)
    lines = read_lines(text)
    sets = None if candidates is None else read_sets(candidates, translator.model.target, lines, text)
    sources = [line.split() for line in lines]
    members = shard_members([len(source) for source in sources], translator.settings.batch, part)
    lines, sources = [lines[number] for number in members], [sources[number] for number in members]
    sets = None if sets is None else sets.take(np.array(members, dtype=np.int64))
    log.info("%d sentences to translate, on %s", len(lines), describe_device(select_device(device)))
    began = time.perf_counter()
    found = translator.search(lines, sets)
    result = AttentionStatistics.of(found, members, time.perf_counter() - began)
    best = [hypotheses[0] for hypotheses in found.hypotheses]
    write_lines(output, (" ".join(translator.tokens(h, s)) for h, s in zip(best, sources, strict=True)))
    if alignment:
        links = (h.links(len(source)) for h, source in zip(best, sources, strict=True))
        write_lines(alignment, (" ".join(f"{i}-{j}" for i, j in sentence) for sentence in links))
    if nbest:
        shown = [hypotheses[: nbest_size or None] for hypotheses in found.hypotheses]
        listed = zip(members, shown, sources, strict=True)
        write_entries(nbest, (translator.listed(n, h, source) for n, all_of, source in listed for h in all_of))
    result.save(statistics, shard)
    result.log_result()


def measure_epochs(
    *,
    epochs: Path,
    curve: Path,
    text: Path,
    reference: Path,
    settings: dict[str, Any],
    output: Path,
    state: Path,
    candidates: Path | None = None,
    device: str = "cpu",
) -> None:
    """Translate a tokenised text with the model of every epoch and measure BLEU (Figure 2 of Mi et al. 2016).

    epochs, curve: folder and learning curve that ``train_network`` wrote; reference: the translations of ``text``,
    tokenised; settings: of the section ``decoding.attention``; candidates: as for ``translate_attention``. Unknown
    words are never replaced, as in the figure. Writes a CSV: epoch, updates, held-out perplexity of the weights after
    these (empty where training did not measure it), BLEU on tokens (0 to 100) and seconds of search of the epoch's
    model, which may be a mean of weights (``average`` of its settings). What is measured is kept in the JSON file
    ``state`` and not translated again while models, texts, settings and program are the same.
    """
    from neural_smt.networks.attention.network import AttentionNetwork
    from neural_smt.networks.device import select_device
    from neural_smt.networks.folder import Trained, read_training
    from neural_smt.training.snapshots import read_snapshots

    chosen = section_settings("decoding.attention", settings).replace(replace_unknown=False)
    place = select_device(device)
    lines, references = read_parallel(text, reference)
    answers = [line.split() for line in references]
    perplexities = read_frame(curve, "updates validation_perplexity").set_index("updates")["validation_perplexity"]
    sets = None if candidates is None else CandidateSets.load(candidates).digest
    inputs = digest_json([chosen.as_dict(), place.type, lines, references, sets, code_digest(__name__)])
    known: dict[str, list[float]] = read_json(state) if state.exists() else {}
    rows, kept = [], {}
    for epoch, folder in read_snapshots(epochs):
        updates = read_training(folder).get("updates")
        if updates is None:
            raise UserError(f"{folder}: does not say after how many updates it was kept; train the model again")
        key = digest_json([inputs, *map(digest_file, sorted(folder.iterdir()))])
        if key not in known:
            translator = Translator(Trained.load(folder, AttentionNetwork, place), chosen)
            own = None if candidates is None else read_sets(candidates, translator.model.target, lines, text)
            began = time.perf_counter()
            found = translator.search(lines, own)
            seconds = time.perf_counter() - began
            best = [translator.tokens(hypotheses[0], ()) for hypotheses in found.hypotheses]
            known[key] = [100.0 * bleu(corpus_statistics(best, answers)), seconds]
            write_json(state, known)  # at once, so that a run that is killed finds it
        score, seconds = kept[key] = known[key]
        perplexity = perplexities.get(str(updates), "")
        rows.append((epoch, updates, perplexity, f"{score:.4f}", f"{seconds:.3f}"))
        log.info("epoch %d: BLEU %.2f, perplexity %s", epoch, score, perplexity or "not measured")
    write_json(state, kept)
    write_rows(output, HEADER, rows)
