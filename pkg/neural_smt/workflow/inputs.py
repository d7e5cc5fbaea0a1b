"""What rules read and with which settings, where that depends on wildcards: input functions of Snakemake."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

from neural_smt.corpus.sources import archive_name
from neural_smt.experiment.layout import TABLES, Layout


class Inputs:
    """Input functions of the rules of one experiment, given where its files lie.

    Methods take the wildcards of a job and give paths, or mappings of names to paths for ``unpack``.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout, self.folder, self.config = layout, layout.folder, layout.config
        self.corpus: Mapping[str, Any] = layout.config["corpus"]
        self.systems = layout.systems

    # texts

    def raw_text(self, source: str, side: str) -> str:
        """One side of a source (a language, or ``alignment``) before tokenisation."""
        declared = self.corpus["sources"][source]
        if "join" in declared:
            return f"{self.folder}/corpus/joined/{source}.{side}.gz"
        if "part" not in declared:
            return f"{self.folder}/corpus/{'extracted' if 'member' in declared[side] else 'raw'}/{source}.{side}.gz"
        suffix = "align" if side == "alignment" else f"{side}.gz"
        return f"{self.folder}/corpus/generated/{declared['part']}.{suffix}"

    def gold(self, turned: bool = False) -> list[str]:
        """The links of the gold sets; turned: of those alone that give positions of the target language first."""
        sources, target = self.corpus["sources"], self.layout.target
        chosen = [name for name in self.corpus["gold"] if not turned or sources[name].get("links_from") == target]
        return [self.raw_text(name, "alignment") for name in chosen]

    def references(self, wildcards: Any) -> list[str]:
        """The published references of what systems are compared on."""
        return [self.raw_text(name, self.layout.target) for name in self.layout.compared[wildcards.set]]

    def archive(self, wildcards: Any) -> str:
        """The archive that one side of a source is a member of."""
        declared = self.corpus["sources"][wildcards.source][wildcards.side]
        return f"{self.folder}/corpus/archives/{archive_name(declared)}"

    def in_domain(self, *languages: str) -> list[str]:
        """In-domain text after cleaning; nothing where the experiment names none."""
        return [f"{self.folder}/corpus/in_domain.{side}" for side in languages] if self.corpus["in_domain"] else []

    def compared(self, *languages: str) -> list[str]:
        """What selection compares a pool with, where that is not the in-domain text: all of one language first."""
        names = self.config["selection"].get("compare_with", [])
        return [f"{self.folder}/corpus/tokenised/{name}.{side}" for side in languages for name in names]

    def _sides(self, text: str) -> list[str]:
        """The languages of a text that lines are selected from: extra text has the target language alone."""
        return [*self.layout.sides.values()] if text == "train" else [self.layout.target]

    def pool(self, wildcards: Any) -> list[str]:
        """The sides of a text that lines are selected from."""
        return [f"{self.folder}/corpus/{wildcards.text}.{side}" for side in self._sides(wildcards.text)]

    def pool_in_domain(self, wildcards: Any) -> list[str]:
        """The same sides of what it is compared with."""
        sides = self._sides(wildcards.text)
        return self.compared(*sides) or self.in_domain(*sides)

    @property
    def selection(self) -> dict[str, dict[str, Any]]:
        """The texts that lines are selected from, and how."""
        settings = self.config["selection"]
        texts = {"train": settings}
        if self.corpus["monolingual"]:
            method, words = settings["monolingual_method"], settings["monolingual_words"]
            texts["monolingual"] = settings | {"method": method, "words": words}
        return texts

    def scores(self, wildcards: Any, text: str) -> list[str]:
        """The scores of the lines of a text, where as many are drawn at random as selection kept."""
        return [f"{self.folder}/selection/{text}.scores.tsv.gz"] if wildcards.variant == "random" else []

    def vocabulary_texts(self, wildcards: Any) -> list[str]:
        """All cleaned text of a language, before selection: ids do not depend on what is selected."""
        language = wildcards.language
        extra = self.corpus["monolingual"] and language == self.layout.target
        monolingual = [f"{self.folder}/corpus/monolingual.{language}"] if extra else []
        return [f"{self.folder}/corpus/train.{language}", *self.in_domain(language), *monolingual]

    # networks

    def training(self, wildcards: Any) -> dict[str, Any]:
        """What a network is trained on."""
        return self.layout.kind(wildcards.network).inputs(self.layout, wildcards.network)

    def measuring(self, wildcards: Any) -> dict[str, Any]:
        """What its perplexity is measured with."""
        measured = self.layout.kind(wildcards.network).measured
        files = {} if measured is None else measured(self.layout, wildcards.network)
        return {"model": self.layout.network(wildcards.network)} | files

    def trainers(self, wildcards: Any) -> list[str]:
        """The modules that a step of the stage finds by name: its kind's, and the one that workers run."""
        return [f"training.{self.layout.kind_of(wildcards.network)}", "training.worker"]

    def scorers(self, wildcards: Any) -> list[str]:
        """The modules of the kinds of a system's networks, of its search and of what it reranks with."""
        layout, system = self.layout, wildcards.system
        kinds = {layout.kind_of(layout.searched_network(system)), *layout.rescoring_kinds(system)}
        return [f"decoding.scorers.{kind}" for kind in sorted(filter(None, kinds))]

    # systems

    def table(self, wildcards: Any) -> str:
        """A phrase table of the selected data, ``extracted`` or ``proposed``."""
        return f"{self.folder}/{TABLES[wildcards.table]}"

    def system(self, wildcards: Any) -> dict[str, Any]:
        """A system and all that it is made of."""
        return self.layout.system_inputs(wildcards.system)

    def tuned_system(self, wildcards: Any) -> dict[str, Any]:
        """The same for tuning, which searches with settings of its own."""
        return self.layout.system_inputs(wildcards.system, searched=False)

    def gpus(self, wildcards: Any) -> int:
        """GPUs of a job that scores or translates with a system's networks: recurrent models compute on the processor,
        and what encoder-decoders say is in the phrase table.
        """
        kinds = {self.layout.kind_of(name) for name in self.layout.networks_of(wildcards.system)}
        return int(self.config["device"] == "cuda" and not kinds <= {"encoder_decoder", "recurrent"})

    def arpas(self, wildcards: Any) -> list[str]:
        """The n-gram models of a system as ARPA."""
        return [f"{model}.arpa.gz" for model in self.layout.language_models(wildcards.system)]

    def modelled_texts(self, wildcards: Any) -> list[str]:
        """What an n-gram model is estimated on."""
        texts = self.layout.declared_ngram_models[wildcards.model]["texts"]
        return [f"results/{wildcards.data}/selection/{name}.{self.layout.target}" for name in texts]

    def ngram_settings(self, wildcards: Any) -> dict[str, Any]:
        """How it is estimated."""
        declared = self.layout.declared_ngram_models[wildcards.model]
        return {key: value for key, value in declared.items() if key != "texts"}

    def dev_model(self, wildcards: Any) -> str:
        """The n-gram model of some data that is measured on the dev set."""
        return self.layout.dev_model(wildcards.data.partition("/data/")[2] or "selected")

    def base_weights(self, wildcards: Any) -> str:
        """The tuned weights of a system's base."""
        return self.layout.weights(self.systems[wildcards.system]["base"], wildcards.run)

    def seed(self, wildcards: Any) -> int:
        """A seed of its own for every tuning run."""
        return 1000 * self.config["seed"] + int(wildcards.run)

    # reranking

    def candidates(self, wildcards: Any, text: str | None = None) -> dict[str, Any]:
        """A system that reranks, what it chooses among for a set, and what its network reads; lists that are drawn from
        lattices come from lattices that are less pruned.
        """
        text = text or wildcards.set
        networks, base = self.layout.rescoring_networks(wildcards.system), self.systems[wildcards.system]["base"]
        files: dict[str | None, str] = {"lists": "nbest.gz", "lattice": "lattices", "nbest": "dense"}
        end = files[self.layout.rescored_candidates(wildcards.system)]
        argument = "nbest" if end == "nbest.gz" else "lattices"
        found = {argument: f"{self.folder}/decoding/{base}/run{wildcards.run}/{text}.{end}"}
        for network in networks:
            found |= self.layout.scored_text(network, text)
        return found | self.system(wildcards)

    def tuning_candidates(self, wildcards: Any) -> dict[str, Any]:
        """The same for the development set: lists are tuned on once they are scored."""
        dev = self.corpus["dev"]
        if self.layout.rescores_lattices(wildcards.system):
            return self.candidates(wildcards, dev)
        scored = f"{self.folder}/decoding/{wildcards.system}/run{wildcards.run}/{dev}.scored.nbest.gz"
        return self.system(wildcards) | {"nbest": scored}

    def lists_need_alignment(self, wildcards: Any) -> bool:
        """Whether a joint model scores the lists of a system: it reads what words are aligned to."""
        scoring = map(self.layout.rescoring_networks, self.layout.list_systems(wildcards.system))
        return not self.layout.joint_inputs.keys().isdisjoint(chain.from_iterable(scoring))

    def tuning_settings(self, wildcards: Any) -> dict[str, Any]:
        """How the weights of a system are tuned. Of one that reranks on lists random points are enough, lattices
        iterate.
        """
        settings, system = self.config["tuning"], wildcards.system
        if not self.layout.is_rescored(system):
            return {key: value for key, value in settings.items() if key != "runs"}
        keys = ["restarts", "refinements"]
        if self.layout.rescores_lattices(system):
            keys += ["nbest", "iterations", "min_gain", "select"]
        if self.systems[system]["rescoring"]["optimiser"] == "mira":
            settings, keys = settings | {"optimiser": "mira"}, [*keys, "optimiser", "mira"]
        return {key: settings[key] for key in keys}

    # attention networks

    def attention_translation(self, wildcards: Any) -> dict[str, Any]:
        """What a system that is an attention network translates a set with."""
        network = self.systems[wildcards.system]["translate"]["network"]
        vocabulary = self.layout.translating_words(wildcards.system)
        return self.system(wildcards) | {
            "text": self.layout.text(wildcards.set, self.layout.source),
            "candidates": self.layout.sentence_sets(network, vocabulary, wildcards.set) or [],
        }

    def epochs(self, wildcards: Any) -> dict[str, Any]:
        """What the BLEU of every epoch of a network is measured with."""
        dev, layout = self.corpus["dev"], self.layout
        folder = f"{self.folder}/training/{wildcards.network}"
        vocabulary = self.config["networks"][wildcards.network]["vocabulary"]
        return {
            "epochs": f"{folder}/epochs",
            "curve": f"{folder}/curve.csv",
            "text": layout.text(dev, layout.source),
            "reference": layout.text(dev, layout.target),
            "candidates": layout.sentence_sets(wildcards.network, vocabulary, dev) or [],
        }
