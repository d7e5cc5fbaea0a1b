"""The training stage: from a phrase table to a trained encoder-decoder."""

import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.networks.configuration import Conventions, EncoderDecoderConfig
from neural_smt.networks.device import describe_device, select_device
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.folder import TrainedModel, save_model
from neural_smt.phrases.table import PhraseTable
from neural_smt.settings import read_settings
from neural_smt.shortlist import shortlist_ids
from neural_smt.training.checkpoint import fingerprint
from neural_smt.training.curve import plot_curve, write_curve
from neural_smt.training.loop import Trainer
from neural_smt.training.pairs import split_pairs, table_pairs
from neural_smt.training.settings import TrainingSettings
from neural_smt.vocabulary import Vocabulary

log = logging.getLogger(__name__)


def train_encoder_decoder(
    *,
    phrase_table: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    source_shortlist: Path,
    target_shortlist: Path,
    settings: dict[str, Any],
    device: str,
    seed: int,
    output: Path,
    curve: Path,
    plot: Path,
    state: Path,
) -> None:
    """Train the RNN encoder-decoder of Cho et al. (2014) on the distinct pairs of a phrase table.

    settings: see ``TrainingSettings``; device: auto, cpu or cuda. Writes the model folder, the learning curve as CSV
    and PNG, and checkpoints into ``state``: a run that was killed goes on from there and ends with the same model.
    """
    chosen = read_settings(TrainingSettings, settings, "training.encoder_decoder")
    place = select_device(device)
    shortlists = Vocabulary.load(source_shortlist), Vocabulary.load(target_shortlist)
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    table = PhraseTable.load(phrase_table)
    table.check_vocabularies(*vocabularies)
    ids = [shortlist_ids(vocabulary, shortlist) for vocabulary, shortlist in zip(vocabularies, shortlists, strict=True)]
    pairs = table_pairs(table, *ids, chosen.max_length)
    pairs, held_out = split_pairs(pairs, chosen.validation_pairs, seed)
    if len(pairs) == 0:
        raise UserError(f"{phrase_table}: no phrase pairs of at most {chosen.max_length} words to train on")
    config = EncoderDecoderConfig(
        source_words=len(shortlists[0]),
        target_words=len(shortlists[1]),
        hidden=chosen.hidden,
        embedding=chosen.embedding,
        maxout=chosen.maxout,
        rank=chosen.rank,
        conventions=Conventions.following(chosen.follow),
    )
    # More updates of the same run: it may go on from where it ended.
    relevant = {name: value for name, value in asdict(chosen).items() if name != "updates"}
    digests = [shortlist.digest for shortlist in shortlists]
    arrays = [a for p in (pairs, held_out) for side in (p.source, p.target) for a in (side.values, side.offsets)]
    run = fingerprint([relevant, seed, place.type, digests], *arrays)
    log.info("%d pairs to train on, %d held out, on %s", len(pairs), len(held_out), describe_device(place))
    network = EncoderDecoder(config, seed).to(place)
    records = Trainer(network, pairs, held_out, chosen, seed, Path(state), run).train()
    save_model(output, TrainedModel(network, *shortlists))
    write_curve(curve, records)
    plot_curve(plot, records)
