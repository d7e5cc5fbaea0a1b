"""Where the results of an experiment lie that its systems translate with: what rules and translators both must know.

All paths are relative to the folder that Snakemake runs in.
"""

from collections.abc import Mapping
from typing import Any

from neural_smt.declared_networks import ALL_WORDS, joint_inputs, kind_of, sentence_vocabularies
from neural_smt.decoding.features import is_column
from neural_smt.systems import feature_groups, resolve_data, resolve_table, searched_network

TABLES = {"extracted": "phrases/table", "proposed": "rescoring/proposed/table"}
"""Where the folder of a phrase table lies among the results of its data."""


class Layout:
    """The files of an experiment, given its complete configuration."""

    def __init__(self, config: Mapping[str, Any]):
        self.config = config
        self.systems: Mapping[str, Mapping[str, Any]] = config["systems"]
        self.folder = f"results/{config['experiment']}"
        self.source, self.target = config["languages"]["source"], config["languages"]["target"]

    def data_folder(self, system: str) -> str:
        """Where the phrase table and the language model of a system's data lie."""
        data = resolve_data(self.systems, system)
        return self.folder if data == "selected" else f"{self.folder}/data/{data}"

    def phrase_table(self, system: str) -> str:
        """The phrase table of a system."""
        return f"{self.data_folder(system)}/{TABLES[resolve_table(self.systems, system)]}"

    def language_model(self, system: str) -> str:
        """The language model of a system."""
        return f"{self.data_folder(system)}/language_model/model"

    def vocabulary(self, language: str) -> str:
        """The words of a language, with their ids."""
        return f"{self.folder}/corpus/vocabulary.{language}.tsv"

    def columns(self, system: str) -> dict[str, str]:
        """Phrase-table columns a system adds to the classic features: feature name -> file."""
        place = f"{self.folder}/rescoring/{resolve_table(self.systems, system)}"
        extra = [name for name in feature_groups(self.config, system) if is_column(name)]
        return {name: f"{place}/{name}.safetensors" for name in extra}

    def network(self, name: str) -> str:
        """The model folder of a trained network."""
        return f"{self.folder}/training/{name}/model"

    def representation(self, network: str) -> str:
        """The folder of what a joint model reads."""
        return f"{self.folder}/representations/{network}/model"

    def cslm(self, system: str) -> str | None:
        """The CSLM of a system that is searched with it."""
        network = searched_network(self.config, system)
        return self.network(network) if network and kind_of(self.config, network) == "cslm" else None

    def searched_model(self, system: str) -> str | None:
        """The recurrent model that a system is searched with."""
        network = searched_network(self.config, system)
        return self.network(network) if network and kind_of(self.config, network) == "recurrent" else None

    def searched_representation(self, system: str) -> str | None:
        """What this model reads."""
        network = searched_network(self.config, system)
        return self.representation(network) if network and network in joint_inputs(self.config) else None

    def weights(self, system: str, run: int | str) -> str:
        """The tuned weights of a system."""
        return f"{self.folder}/tuning/{system}/run{run}/weights.json"

    def network_vocabulary(self, words: int, language: str) -> str:
        """The words of a language that an attention network knows: the most frequent ones of the training text."""
        return f"{self.folder}/vocabularies/{words}/network.{language}.tsv"

    @property
    def dictionary(self) -> dict[str, str]:
        """What is known of words' translations, with the words of its ids."""
        return {
            "lexical": f"{self.folder}/alignment/lexical",
            "source_vocabulary": self.vocabulary(self.source),
            "target_vocabulary": self.vocabulary(self.target),
        }

    @property
    def candidate_tables(self) -> dict[str, str]:
        """What target vocabularies of sentences are drawn from."""
        return {**self.dictionary, "phrase_table": f"{self.folder}/{TABLES['extracted']}"}

    def sentence_sets(self, network: str, vocabulary: str, text: str) -> str | None:
        """The target vocabularies of a text's sentences for an attention network; None where it takes all words."""
        words = self.config["networks"][network]["target_words"]
        return None if vocabulary == ALL_WORDS else f"{self.folder}/vocabularies/{words}/{vocabulary}/{text}"

    def set_sizes(self, vocabulary: str) -> dict[str, int] | None:
        """The sizes that such vocabularies are made with, see ``VocabularySettings``; None for all words."""
        return None if vocabulary == ALL_WORDS else sentence_vocabularies(self.config)[vocabulary]
