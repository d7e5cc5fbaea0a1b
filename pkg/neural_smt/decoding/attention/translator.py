"""An attention network with all that it translates a text with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from neural_smt.decoding.attention.growing_sets import search
from neural_smt.decoding.attention.hypotheses import Found, Hypothesis
from neural_smt.decoding.attention.replacement import best_translations, spell
from neural_smt.decoding.attention.settings import AttentionDecodingSettings
from neural_smt.decoding.nbest import ListedTranslation
from neural_smt.errors import UserError
from neural_smt.networks.attention.folder import TrainedAttention, load_attention
from neural_smt.networks.folder import VOCABULARY
from neural_smt.vocabulary import Vocabulary
from neural_smt.vocabulary_selection.candidates import CandidateSets, text_digest
from neural_smt.vocabulary_selection.sources import encode_words, load_sources

FEATURE = "Attention0"
"""log p(target | source) in n-best lists."""


@dataclass(frozen=True)
class Translator:
    """model: network and vocabularies; dictionary: what unknown words are replaced by, see ``replacement``."""

    model: TrainedAttention
    settings: AttentionDecodingSettings
    dictionary: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        model: Path,
        settings: AttentionDecodingSettings,
        device: torch.device,
        lexical: Path | None,
        source_vocabulary: Path | None,
        target_vocabulary: Path | None,
    ) -> "Translator":
        """Raises ``UserError`` where a dictionary is needed and not given."""
        loaded = load_attention(model, device)
        if not settings.replace_unknown or settings.heuristic == 0:
            return cls(loaded, settings)
        if lexical is None or source_vocabulary is None or target_vocabulary is None:
            raise UserError(
                f"decoding: heuristic {settings.heuristic} needs a dictionary; give lexical, source_vocabulary and "
                "target_vocabulary, or set heuristic to 0"
            )
        sources = load_sources(
            source_vocabulary=source_vocabulary,
            target_vocabulary=target_vocabulary,
            network_vocabulary=Path(model) / f"{VOCABULARY}.target",
            lexical=lexical,
            phrase_table=None,
        )
        return cls(loaded, settings, best_translations(sources))

    def read_sets(self, folder: Path, lines: list[str], text: Path) -> CandidateSets:
        """The target vocabularies of a text, see ``read_sets``."""
        return read_sets(folder, self.model.target, lines, text)

    def search(self, lines: list[str], sets: CandidateSets | None = None) -> Found:
        """Translations of tokenised sentences."""
        return search(self.model.network, encode_words(self.model.source, lines), self.settings, sets)

    def tokens(self, hypothesis: Hypothesis, source: Sequence[str]) -> list[str]:
        """The words of a translation of ``source``, unknown ones replaced if the settings say so."""
        heuristic = self.settings.heuristic if self.settings.replace_unknown else None
        return spell(hypothesis, source, self.model.target, heuristic, self.dictionary)

    def listed(self, sentence: int, hypothesis: Hypothesis, source: Sequence[str]) -> ListedTranslation:
        """A translation as a line of an n-best list; its total is what the list is ordered by."""
        total = hypothesis.ranked_by(self.settings.normalise)
        return ListedTranslation(sentence, self.tokens(hypothesis, source), {FEATURE: [hypothesis.score]}, total)


def read_sets(folder: Path, target: Vocabulary, lines: list[str], text: Path) -> CandidateSets:
    """The target vocabularies of the sentences of ``text``, for a network that knows the words ``target``.

    Raises ``UserError`` where they are of another text or of another network, or were made with the references.
    """
    sets = CandidateSets.load(folder, vocabulary=target.digest, source=text_digest(lines))
    if len(sets) != len(lines):
        raise UserError(
            f"{folder}: target vocabularies of {len(sets)} sentences, but {text} has {len(lines)}; "
            "run the vocabularies stage on this text"
        )
    if sets.size != len(target):
        raise UserError(
            f"{folder}: target vocabularies for a network of {sets.size} words, but this one has {len(target)}; "
            "run the vocabularies stage with its vocabulary"
        )
    if "reference" in sets.origins:
        raise UserError(f"{folder}: holds the words of references; make sets without them to translate with")
    return sets
