"""Where the results of an experiment lie, and which of them its systems are made of.

All paths are relative to the folder that Snakemake runs in.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neural_smt.decoding.features import is_column
from neural_smt.experiment.networks import ALL_WORDS
from neural_smt.experiment.system_folder import FILE, System, map_paths
from neural_smt.experiment.systems import SEARCH_KINDS, Systems

TABLES = {"extracted": "phrases/table", "proposed": "rescoring/proposed/table"}
"""Where the folder of a phrase table lies among the results of its data."""

TESTS = "all.tests"
"""All test sets taken together, among the names of what systems are compared on."""


class Layout(Systems):
    """The files of an experiment, given its complete configuration."""

    def __init__(self, config: Mapping[str, Any]):
        super().__init__(config)
        self.folder = f"results/{config['experiment']}"
        self.source, self.target = config["languages"]["source"], config["languages"]["target"]
        self.sides = {"source": self.source, "target": self.target}

    def data_folder(self, system: str) -> str:
        """Where the phrase table and the language models of a system's data lie."""
        return self.folder_of(self.data(system))

    def folder_of(self, data: str) -> str:
        """Where what is made of some data lies."""
        return self.folder if data == "selected" else f"{self.folder}/data/{data}"

    def phrase_table(self, system: str) -> str:
        """The phrase table of a system."""
        return f"{self.data_folder(system)}/{TABLES[self.table(system)]}"

    def language_models(self, system: str) -> list[str]:
        """The n-gram models of a system."""
        return [f"{self.data_folder(system)}/language_model/{model}" for model in self.ngram_models(system)]

    def dev_model(self, data: str) -> str:
        """The n-gram model that stands for those of some data where one is measured."""
        return f"{self.folder_of(data)}/language_model/{self.stand_in(self.used_ngram_models(data))}"

    def vocabulary(self, language: str) -> str:
        """The words of a language, with their ids."""
        return f"{self.folder}/corpus/vocabulary.{language}.tsv"

    @property
    def vocabularies(self) -> dict[str, str]:
        """The words of both languages, by the names of the steps' arguments."""
        return {f"{side}_vocabulary": self.vocabulary(language) for side, language in self.sides.items()}

    def shortlist(self, language: str) -> str:
        """The most frequent words of a language."""
        return f"{self.folder}/shortlist/shortlist.{language}.tsv"

    @property
    def sets(self) -> list[str]:
        """The dev set and the test sets."""
        return [self.config["corpus"]["dev"], *self.config["corpus"]["test"]]

    @property
    def compared(self) -> dict[str, list[str]]:
        """What systems are compared on, with its texts: each set, and where there are several test sets all of them."""
        tests = self.sets[1:]
        return {name: [name] for name in self.sets} | ({TESTS: tests} if len(tests) > 1 else {})

    def text(self, name: str, language: str) -> str:
        """One side of the training text (``train``) or of a set."""
        part = f"selection/train.{language}" if name == "train" else f"corpus/tokenised/{name}.{language}"
        return f"{self.folder}/{part}"

    @property
    def monolingual(self) -> str:
        """The extra text of the target language that is selected."""
        return f"{self.folder}/selection/monolingual.{self.target}"

    def origins(self, monolingual: bool) -> list[list[str]]:
        """What tells the source of each line of the training text, and of the extra text behind it; see
        ``lines_of_sources``.
        """
        selection, methods = self.config["selection"], {"train": "method", "monolingual": "monolingual_method"}
        roles = ["train", "monolingual"] if monolingual else ["train"]
        found = [[f"{self.folder}/corpus/cleaning.in_domain.csv"]] if self.config["corpus"]["in_domain"] else []
        for role in roles:
            scores = [f"{self.folder}/selection/{role}.scores.tsv.gz"] * (selection[methods[role]] != "none")
            found.append([f"{self.folder}/corpus/cleaning.{role}.csv", *scores])
        return found

    @property
    def texts(self) -> dict[str, list[str]]:
        """Both sides of the training text and of every set, the source first."""
        return {name: [self.text(name, side) for side in self.sides.values()] for name in ("train", *self.sets)}

    def read_language(self, network: str) -> str:
        """The language of the sentences that a joint model reads: an oracle reads the reference."""
        return self.target if self.joint_inputs.get(network, {}).get("side") == "target" else self.source

    def columns(self, system: str) -> dict[str, str]:
        """Phrase-table columns a system adds to the classic features: feature name -> file."""
        place = f"{self.folder}/rescoring/{self.table(system)}"
        extra = [name for name in self.feature_groups(system) if is_column(name) and name not in SEARCH_KINDS]
        return {name: f"{place}/{name}.safetensors" for name in extra}

    def network(self, name: str) -> str:
        """The model folder of a trained network."""
        return f"{self.folder}/training/{name}/model"

    def representation(self, network: str) -> str:
        """The folder of what a joint model reads."""
        return f"{self.folder}/representations/{network}/model"

    def system(self, name: str) -> str:
        """The folder of a system."""
        return f"{self.folder}/systems/{name}"

    @property
    def search(self) -> str:
        """The settings that text is searched with."""
        return f"{self.folder}/systems/search.json"

    def weights(self, system: str, run: int | str) -> str:
        """The tuned weights of a system."""
        return f"{self.folder}/tuning/{system}/run{run}/weights.json"

    def network_vocabulary(self, words: int, language: str) -> str:
        """The words of a language that an attention network knows: the most frequent ones of the training text."""
        return f"{self.folder}/vocabulary_selection/{words}/network.{language}.tsv"

    @property
    def dictionary(self) -> dict[str, str]:
        """What is known of words' translations, with the words of its ids."""
        tables = {"fast_align": "translations", "lexical": "lexical"}
        table = tables[self.config["vocabulary_selection"]["translations"]]
        return {"lexical": f"{self.folder}/alignment/{table}", **self.vocabularies}

    @property
    def candidate_tables(self) -> dict[str, str]:
        """What target vocabularies of sentences are drawn from."""
        return {**self.dictionary, "phrase_table": f"{self.folder}/{TABLES['extracted']}"}

    def sentence_sets(self, network: str, vocabulary: str, text: str) -> str | None:
        """The target vocabularies of a text's sentences for an attention network; None where it takes all words."""
        words = self.networks[network]["target_words"]
        return None if vocabulary == ALL_WORDS else f"{self.folder}/vocabulary_selection/{words}/{vocabulary}/{text}"

    def scored_text(self, network: str, text: str) -> dict[str, str]:
        """What a network reads of a set ``text`` whose candidates it scores, by the names of the steps' arguments."""
        files: dict[str, str | None] = {}
        if self.kind_of(network) != "recurrent" or network in self.joint_inputs:
            files["text"] = self.text(text, self.read_language(network))
        if vocabulary := self.networks[network].get("vocabulary"):
            files["candidates"] = self.sentence_sets(network, vocabulary, text)
        return {key: path for key, path in files.items() if path}

    def description(self, name: str) -> dict[str, Any]:
        """What ``system.json`` says of a system, see ``system_folder``."""
        system, place = self.systems[name], self.system(name)
        if chosen := system.get("translate"):
            network = self._network(chosen["network"], name, self.translating_words(name))
            settings = self.config["decoding"]["attention"] | {"replace_unknown": chosen["replace_unknown"]}
            dictionary = self.dictionary if chosen["replace_unknown"] else {}
            content = {"kind": "attention", "network": network, "settings": settings, "dictionary": dictionary}
        elif self.is_rescored(name):
            content = self._reranking(name) | {"base": self.system(system["base"])}
        else:
            content = self._searching(name) | {"search": self.search}
        if not chosen:
            content["weights"] = self.weights(name, "{run}")
        described = {"name": name, "languages": self.sides, **content}
        return map_paths(described, lambda path: os.path.relpath(path, place))

    def _searching(self, name: str) -> dict[str, Any]:
        network = self.searched_network(name)
        return {
            "kind": "search",
            "features": self.feature_groups(name),
            "phrase_table": self.phrase_table(name),
            "language_models": self.language_models(name),
            **self.vocabularies,
            "columns": self.columns(name),
            "network": self._network(network, name) if network else None,
        }

    def _reranking(self, name: str) -> dict[str, Any]:
        system, decoding = self.systems[name], self.config["decoding"]
        own, entries = system["rescoring"], self.scored_entries(name)
        networks = [self._network(network, name) for network in self.rescoring_networks(name)]
        if not self.rescores_lattices(name):
            size = self.listed_entries(system["base"])
            return {"kind": "lists", "networks": networks, "list_size": size, "nbest": entries}
        made_of = next(iter(networks), None)
        candidates = self.rescored_candidates(name)
        density = decoding["list_density" if candidates == "nbest" else "lattice_density"]
        settings = {"nbest": entries, **{key: own[key] for key in ("beam", "drop_features")}}
        return {"kind": "lattices", "network": made_of, "density": density, "candidates": candidates, **settings}

    def _network(self, name: str, system: str, vocabulary: str | None = None) -> dict[str, Any]:
        """A network as the description of a system names it; vocabulary: the target vocabularies that an attention
        network uses.
        """
        kind, inputs = self.kind_of(name), self.joint_inputs
        made_of: dict[str, Any] = {"name": name, "kind": kind, "model": self.network(name)}
        if kind == "cslm":
            made_of["settings"] = self.config["decoding"]["cslm"]
            made_of["language_model"] = f"{self.folder}/language_model/{self.stand_in(self.ngram_models(system))}"
        elif kind == "attention":
            made_of["precision"] = self.config["decoding"]["attention"]["precision"]
            made_of["candidates"] = self._candidates(vocabulary or self.networks[name]["vocabulary"])
        elif name in inputs:
            made_of |= {"representation": self.representation(name), "reads": inputs[name]["side"]}
        return made_of

    def _candidates(self, vocabulary: str) -> dict[str, Any] | None:
        """What target vocabularies of new sentences are made with; None for all words."""
        if vocabulary == ALL_WORDS:
            return None
        sizes, tables = self.sentence_vocabularies[vocabulary], self.candidate_tables
        needed = {"lexical": sizes["dictionary"], "phrase_table": sizes["phrases"]}
        return {"sizes": sizes, **{key: path for key, path in tables.items() if needed.get(key, True)}}

    def system_inputs(self, name: str, searched: bool = True) -> dict[str, Any]:
        """The inputs of a job that uses a system; searched: as its translations are, and not while it is tuned."""
        names = System(Path(), self.description(name))
        depends = [os.path.normpath(f"{self.system(name)}/{path}") for path in names.files()]
        if names["kind"] in ("lists", "lattices"):
            base = self.system_inputs(self.systems[name]["base"])
            depends += [base["system"], *base["depends"]]
        elif names["kind"] == "search" and searched:
            depends.append(self.search)
        return {"system": f"{self.system(name)}/{FILE}", "depends": list(dict.fromkeys(depends))}
