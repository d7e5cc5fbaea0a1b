"""The step of the decoding stage that follows an attention network from epoch to epoch."""

import hashlib
import json
import logging
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neural_smt.bleu import bleu, corpus_statistics
from neural_smt.decoding.attention.settings import AttentionDecodingSettings
from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, read_json, read_parallel, write_csv, write_json
from neural_smt.settings import read_settings
from neural_smt.vocabulary_selection.candidates import CandidateSets, text_digest
from neural_smt.workflow.code_digest import code_digest

if TYPE_CHECKING:
    from neural_smt.decoding.attention.translator import Translator

log = logging.getLogger(__name__)

HEADER = ("epoch", "updates", "perplexity", "bleu", "seconds")


class Measured(NamedTuple):
    """bleu: 0 to 100, on tokens; seconds: of search."""

    bleu: float
    seconds: float


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
    tokenised; settings, candidates: as for ``translate_attention``, but that unknown words are never replaced, as in
    the figure. Writes a CSV: epoch, updates, held-out perplexity of the weights after these (empty where training did
    not measure it), BLEU on tokens (0 to 100) and seconds of search of the epoch's model, which may be a mean of
    weights (``AttentionSettings.average``). What is measured is kept in the JSON file ``state`` and not
    translated again while models, texts, settings and program are the same.
    """
    # They load PyTorch, which most systems need none of.
    from neural_smt.decoding.attention.translator import Translator
    from neural_smt.networks.attention.folder import read_training
    from neural_smt.networks.device import select_device
    from neural_smt.training.snapshots import read_snapshots

    chosen = replace(read_settings(AttentionDecodingSettings, settings, "decoding.attention"), replace_unknown=False)
    place = select_device(device)
    lines, references = read_parallel(text, reference)
    answers = [line.split() for line in references]
    perplexities = {row["updates"]: row["validation_perplexity"] for row in read_csv(curve)}
    sets = None if candidates is None else CandidateSets.load(candidates).digest
    results = _Results(state, [asdict(chosen), place.type, text_digest(lines), text_digest(references), sets])
    rows = []
    for epoch, folder in read_snapshots(epochs):
        updates = read_training(folder).get("updates")
        if updates is None:
            raise UserError(f"{folder}: does not say after how many updates it was kept; train the model again")
        key = results.key(folder)
        if key not in results.known:
            translator = Translator.load(folder, chosen, place, None, None, None)
            own = None if candidates is None else translator.read_sets(candidates, lines, text)
            results.add(key, _measure(translator, lines, own, answers))
        measured, perplexity = results.take(key), perplexities.get(str(updates), "")
        rows.append((epoch, updates, perplexity, f"{measured.bleu:.4f}", f"{measured.seconds:.3f}"))
        log.info("epoch %d: BLEU %.2f, perplexity %s", epoch, measured.bleu, perplexity or "not measured")
    results.forget_others()
    write_csv(output, HEADER, rows)


def _measure(
    translator: "Translator", lines: list[str], sets: CandidateSets | None, references: list[list[str]]
) -> Measured:
    began = time.perf_counter()
    found = translator.search(lines, sets)
    seconds = time.perf_counter() - began
    best = [translator.tokens(hypotheses[0], ()) for hypotheses in found.hypotheses]
    return Measured(100.0 * bleu(corpus_statistics(best, references)), seconds)


class _Results:
    """Measurements in a file, each under the digest of what it depends on; inputs: JSON values, besides the model."""

    def __init__(self, path: Path, inputs: list[Any]):
        self.path = Path(path)
        self.inputs = json.dumps([inputs, code_digest(__name__)], sort_keys=True)
        self.known: dict[str, list[float]] = read_json(self.path) if self.path.exists() else {}
        self.taken: set[str] = set()

    def key(self, model: Path) -> str:
        """SHA-256 (hex) of the files of a model's folder and of the inputs."""
        digest = hashlib.sha256(self.inputs.encode())
        for file in sorted(model.iterdir()):
            with open(file, "rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()

    def add(self, key: str, measured: Measured) -> None:
        """Write it down at once, so that a run that is killed finds it."""
        self.known[key] = list(measured)
        write_json(self.path, self.known)

    def take(self, key: str) -> Measured:
        self.taken.add(key)
        return Measured(*self.known[key])

    def forget_others(self) -> None:
        """Keep those alone that were taken."""
        write_json(self.path, {key: self.known[key] for key in self.taken})
