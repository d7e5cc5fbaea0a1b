"""An attention network with all that it translates a text with.

What is written for the unknown words of a translation (Jean et al. 2015, section 4.1; ``replace_UNK.py``): the source
word with the largest attention, the end symbol left out, is copied or looked up:

- heuristic 0: copied;
- heuristic 1: its most probable translation, copied if the dictionary has none;
- heuristic 2: as 1 where it starts with a lowercase letter, copied otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from neural_smt.decoding.attention.results import Found, Hypothesis
from neural_smt.decoding.attention.search import search
from neural_smt.decoding.nbest import ListedTranslation
from neural_smt.decoding.scorers.attention import FEATURE
from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.experiment.system_folder import System
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.device import select_device
from neural_smt.networks.folder import VOCABULARY, Trained
from neural_smt.vocabulary import RESERVED, UNK, Vocabulary
from neural_smt.vocabulary_selection.building import Sources, load_sources
from neural_smt.vocabulary_selection.candidates import CandidateSets


@dataclass(frozen=True)
class Translator:
    """model: network and vocabularies; dictionary: what unknown words are replaced by, see ``replacement``."""

    model: Trained[AttentionNetwork]
    settings: Settings
    dictionary: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, system: System, device: str) -> "Translator":
        """The network of a system that is one. Raises ``UserError`` where a dictionary is needed and not given."""
        model, values = system.of_network("model"), dict(system["settings"])
        replaced = values.pop("replace_unknown", False)
        settings = section_settings("decoding.attention", values).replace(replace_unknown=replaced)
        loaded = Trained.load(model, AttentionNetwork, select_device(device))
        if not replaced or settings.heuristic == 0:
            return cls(loaded, settings)
        if not system["dictionary"]:
            raise UserError(
                f"{system.file}: heuristic {settings.heuristic} needs a dictionary; write the folder of the system "
                "again, or set decoding.attention.heuristic to 0"
            )
        words = model / f"{VOCABULARY}.target"
        sources = load_sources(network_vocabulary=words, **system["dictionary"])
        return cls(loaded, settings, best_translations(sources))

    def search(self, lines: list[str], sets: CandidateSets | None = None) -> Found:
        """Translations of tokenised sentences."""
        return search(self.model.network, self.model.source.encode_words(lines), self.settings, sets)

    def tokens(self, hypothesis: Hypothesis, source: Sequence[str]) -> list[str]:
        """The words of a translation of ``source``, unknown ones replaced if the settings say so."""
        heuristic = self.settings.heuristic if self.settings.replace_unknown else None
        return spell(hypothesis, source, self.model.target, heuristic, self.dictionary)

    def listed(self, sentence: int, hypothesis: Hypothesis, source: Sequence[str]) -> ListedTranslation:
        """A translation as a line of an n-best list; its total is what the list is ordered by."""
        total = hypothesis.ranked_by(self.settings.normalise)
        return ListedTranslation(sentence, self.tokens(hypothesis, source), {FEATURE: [hypothesis.score]}, total)


def best_translations(sources: Sources) -> dict[str, str]:
    """The target word with the largest w(t|s) of each source word that has one, ties by id, network's or not."""
    assert sources.lexical is not None
    ranked = sources.lexical.top_translations(1 + len(RESERVED))
    found = {}
    for source, words in zip(sources.source.words, ranked, strict=True):
        known = [word for word in words.tolist() if word >= len(RESERVED)]
        if known and source not in RESERVED:
            found[source] = sources.target.words[known[0]]
    return found


def replacement(word: str, heuristic: int, dictionary: Mapping[str, str]) -> str:
    """What is written for an unknown word that looks at the source word ``word``."""
    if heuristic == 1 or (heuristic == 2 and word[0].islower()):
        return dictionary.get(word, word)
    return word


def spell(
    hypothesis: Hypothesis,
    source: Sequence[str],
    vocabulary: Vocabulary,
    heuristic: int | None = None,
    dictionary: Mapping[str, str] | None = None,
) -> list[str]:
    """The words of a translation of the tokens ``source``; with a heuristic the unknown ones are replaced.

    An unknown word stays as it is (``<unk>``) without a heuristic.
    """
    words = [vocabulary.words[word] for word in hypothesis.words.tolist()]
    if heuristic is not None:
        for position, word in enumerate(hypothesis.words.tolist()):
            if word == UNK:
                words[position] = replacement(source[hypothesis.aligned[position]], heuristic, dictionary or {})
    return words
