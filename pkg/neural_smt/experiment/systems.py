"""What an experiment consists of: its networks and its systems, the rows of its table, and which of them need what."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from neural_smt.errors import UserError
from neural_smt.experiment.networks import DEFAULT_SETS, KINDS, SIZES, Kind, Networks, kinds_that_score
from neural_smt.experiment.settings import base_chain

SEARCH_KINDS = kinds_that_score("search")

GROUPS = ("phrase", "language_model", "reordering", "unknown_penalty")
"""Feature groups that are no network."""

TAKEN = {*GROUPS, "distortion", "lexical_reordering", "word_penalty", "phrase_penalty"}
TAKEN |= {"unknown_word_penalty", "translation_model", "model", "statistics"}
"""Names that a network cannot have: features and files are called so."""

POOLED = "model"
"""The n-gram model of all target text, the feature group ``language_model``; others are called as in the settings."""

PAPER_ROWS = ("baseline", "rnn", "cslm_rnn", "cslm_rnn_wp")
"""The rows of Table 1 of Cho et al. (2014)."""


def drawn_pairs(data: str) -> int | None:
    """How many pairs are drawn at random for data as ``Systems.data`` names them; None where no number is given."""
    _, _, pairs = data.partition("_")
    return int(pairs) if pairs else None


class Systems:
    """The networks and systems of a complete configuration; methods take the name of a network or of a system."""

    def __init__(self, config: Mapping[str, Any]):
        self.config = config
        self.networks: Networks = config["networks"]
        self.systems: Mapping[str, Mapping[str, Any]] = config["systems"]

    # networks

    def kind_of(self, network: str | None) -> str | None:
        """The kind of a network; None for a name that is no network's."""
        return self.networks.get(network or "", {}).get("kind")

    def kind(self, network: str) -> Kind:
        """What is known of the kind of a network."""
        return KINDS[self.networks[network]["kind"]]

    def networks_of_kind(self, *kinds: str) -> Networks:
        """The networks of some kinds, by name, with all their settings."""
        return {name: own for name, own in self.networks.items() if own["kind"] in kinds}

    def training_settings(self, network: str) -> dict[str, Any]:
        """The settings of a network that its training step takes."""
        others = ("kind", "base", *self.kind(network).role)
        return {key: value for key, value in self.networks[network].items() if key not in others}

    def predicts_source(self, network: str) -> bool:
        """Whether a network predicts source words, so that it can only lend others its word vectors."""
        return self.networks[network].get("language") == "source"

    def scoring_networks(self, *kinds: str) -> list[str]:
        """The names of those networks of some kinds that predict target words."""
        return [name for name in self.networks_of_kind(*kinds) if not self.predicts_source(name)]

    @cached_property
    def joint_inputs(self) -> Networks:
        """The representation of the source that each joint model reads, see ``representation_settings``."""
        found = {name: own["input"] for name, own in self.networks.items() if "input" in own}
        return {name: {key: value for key, value in own.items() if key != "network"} for name, own in found.items()}

    @cached_property
    def parallel_sources(self) -> set[str]:
        """The sources of the parallel training text."""
        return {*self.config["corpus"]["in_domain"], *self.config["corpus"]["train"]}

    def lending_network(self, network: str) -> str | None:
        """The recurrent model whose word vectors a joint model reads; None for all other networks."""
        declared = self.networks[network].get("input", {})
        return declared["network"] if declared.get("kind") == "word_rnn" else None

    @cached_property
    def sentence_vocabularies(self) -> dict[str, dict[str, int]]:
        """The sizes that target vocabularies of sentences are made with: ``default``, and the named ones."""
        section = self.config["vocabulary_selection"]
        named = {DEFAULT_SETS: section, **section["sets"]}
        return {name: {key: own[key] for key in SIZES} for name, own in named.items()}

    def used_networks(self, *kinds: str) -> list[str]:
        """The networks that are trained, of some kinds or of all.

        Those that a system uses; that lend another one their word vectors; whose classes are compared; wherever there
        is an encoder-decoder, ``encoder_decoder`` itself, which is analysed and proposes phrases; and wherever there is
        an attention network, all whose learning curve is drawn.
        """
        used = set(self.config["report"]["word_classes"]).union(*map(self.networks_of, self.systems))
        if any(self.table(name) == "proposed" for name in self.systems):
            used.add("encoder_decoder")
        used &= self.networks.keys()
        used |= {"encoder_decoder"} if used & self.networks_of_kind("encoder_decoder").keys() else set()
        attention = self.networks_of_kind("attention")
        if used & attention.keys():
            used |= {name for name, network in attention.items() if network["learning_curve"]}
        used |= {lender for name in used if (lender := self.lending_network(name))}
        return [name for name in self.networks if name in used and (not kinds or self.kind_of(name) in kinds)]

    def training_threads(self, network: str) -> int:
        """Threads that a network is trained with: networks that train side by side take less time than one after the
        other with more threads.
        """
        beside = self.kind(network).beside
        return 2 if beside and len(self.used_networks(*beside)) == 1 else 1

    # systems

    def _chain(self, name: str) -> list[str]:
        return base_chain(self.systems, name, "systems", "system")

    def _owner(self, name: str, key: str) -> Mapping[str, Any]:
        """The system itself or its nearest base that has a key; nothing where none has."""
        return next((self.systems[one] for one in self._chain(name) if key in self.systems[one]), {})

    def features(self, name: str) -> list[str]:
        """Feature groups of a system: those of its ``base`` (recursively), then its own, without repeats."""
        groups = [group for system in reversed(self._chain(name)) for group in self.systems[system]["features"]]
        return list(dict.fromkeys(groups))

    def table(self, name: str) -> str:
        """The phrase table of a system, ``extracted`` or ``proposed``: its own, or its nearest base's."""
        return self._owner(name, "table").get("table", "extracted")

    def data(self, name: str) -> str:
        """The data of a system's phrase table and language model: its own, or those of the nearest base with some.

        ``selected``; ``all``: the whole pool; ``random``: as many pairs of the pool as selection keeps;
        ``random_50000``: so many (``pairs`` of the system that names the data).
        """
        system = self._owner(name, "data")
        data = system.get("data", "selected")
        return f"{data}_{system['pairs']}" if "pairs" in system else data

    @cached_property
    def variants(self) -> list[str]:
        """Data that systems are built from besides the selected ones."""
        return sorted({self.data(name) for name in self.systems} - {"selected"})

    def networks_of(self, name: str) -> set[str]:
        """The networks that a system names: in its features and its bases', to rescore or to translate with."""
        named = {*self.features(name), *self.rescoring_networks(name)}
        return self.networks.keys() & {*named, self.systems[name].get("translate", {}).get("network")}

    def searched_network(self, name: str) -> str | None:
        """The network that scores words in a system's search; None for a system without."""
        return next((group for group in self.features(name) if self.kind_of(group) in SEARCH_KINDS), None)

    def feature_groups(self, name: str) -> list[str]:
        """Feature groups as ``build_feature_set`` takes them: a network of the search is called by its kind, and all
        n-gram models are one group.
        """
        names = dict.fromkeys(self.declared_ngram_models, "language_model")
        names |= {group: kind for group in self.networks if (kind := self.kind_of(group)) in SEARCH_KINDS}
        return list(dict.fromkeys(names.get(group, group) for group in self.features(name)))

    @cached_property
    def declared_ngram_models(self) -> dict[str, dict[str, Any]]:
        """The n-gram models that there can be, by name, with their ``texts`` and settings."""
        texts = ["train", "monolingual"] if self.config["corpus"]["monolingual"] else ["train"]
        return {POOLED: self.config["language_model"] | {"texts": texts}} | self.config["language_models"]

    @staticmethod
    def stand_in(models: Sequence[str]) -> str:
        """The n-gram model that stands for several: that of all text if it is among them, else the first."""
        return POOLED if POOLED in models else next(iter(models), POOLED)

    def ngram_models(self, name: str) -> list[str]:
        """The n-gram models of a system, in the order of its features: ``LM0``, ``LM1``, ..."""
        groups = (POOLED if group == "language_model" else group for group in self.features(name))
        return [group for group in groups if group in self.declared_ngram_models]

    def used_ngram_models(self, data: str) -> list[str]:
        """The n-gram models of all systems of some data."""
        systems = [name for name in self.searched if self.data(name) == data]
        return list(dict.fromkeys(model for name in systems for model in self.ngram_models(name)))

    def translating_words(self, name: str) -> str:
        """The target vocabularies that an attention network translates with: the system's own, or its network's."""
        chosen = self.systems[name]["translate"]
        return chosen.get("vocabulary") or self.networks[chosen["network"]]["vocabulary"]

    def rescoring_networks(self, name: str) -> list[str]:
        """The networks that rescore the candidates of a system's base; none where only weights are tuned anew."""
        return list(self.systems[name].get("rescore", ()))

    def rescoring_kinds(self, name: str) -> set[str | None]:
        """The kinds of these networks."""
        return {self.kind_of(network) for network in self.rescoring_networks(name)}

    def is_rescored(self, name: str) -> bool:
        """Whether a system chooses among what its base found, and is not searched itself."""
        own = self.systems[name].get("rescoring", {})
        chosen = own.get("candidates", "auto") != "auto" or own.get("drop_features")
        return bool(self.rescoring_networks(name) or chosen)

    def control(self, name: str) -> str | None:
        """The system that a system is tested against: its own, or for one that is not rescored the baseline of the
        evaluation; None for the baseline, and for a system that is rescored and names none: there is no p-value then.
        """
        usual = None if self.is_rescored(name) else self.config["evaluation"]["baseline"]
        control = self.systems[name].get("control", usual)
        return None if control == name else control

    def rescored_candidates(self, name: str) -> str | None:
        """What a system chooses among: ``lists`` of its base's search, its ``lattice``s, or ``nbest`` lists drawn from
        these; None for a system that is searched itself. Where it does not say so, what its network's kind scores
        first, and lists for several networks.
        """
        if not self.is_rescored(name):
            return None
        chosen, networks = self.systems[name]["rescoring"]["candidates"], self.rescoring_networks(name)
        if chosen != "auto":
            return chosen
        if len(networks) > 1:
            return "lists"
        known = [network for network in networks if network in self.networks]
        scores = self.kind(known[0]).scores if known else ("lattices",)
        return "lists" if next(what for what in scores if what in ("lists", "lattices")) == "lists" else "lattice"

    def rescores_lattices(self, name: str) -> bool:
        """Whether a system chooses among the lattices of its base, with a network or with other weights."""
        return self.rescored_candidates(name) in ("lattice", "nbest")

    def scored_entries(self, name: str) -> int:
        """How many translations of each list a system that is rescored chooses among, see ``rescoring.nbest`` of the
        schema.
        """
        many = self.rescored_candidates(name) == "lists" and self.rescoring_kinds(name) == {"cslm"}
        return self.systems[name]["rescoring"].get("nbest", 1000 if many else 100)

    def list_systems(self, base: str) -> list[str]:
        """The systems that choose among the lists of a system's search."""
        own = [name for name in self.tuned if self.systems[name].get("base") == base]
        return [name for name in own if self.rescored_candidates(name) == "lists"]

    def listed_entries(self, base: str) -> int:
        """How many translations the lists of a system's search have: as many as the system that reads most of them."""
        return max(map(self.scored_entries, self.list_systems(base)))

    @cached_property
    def translated(self) -> list[str]:
        """The systems that are an attention network alone."""
        return [name for name, system in self.systems.items() if system.get("translate")]

    @cached_property
    def tuned(self) -> list[str]:
        """The systems with weights, all others."""
        return [name for name in self.systems if name not in self.translated]

    @cached_property
    def searched(self) -> list[str]:
        """The systems with a search of their own."""
        return [name for name in self.tuned if not self.is_rescored(name)]

    def runs(self, name: str) -> list[int]:
        """The numbers of a system's runs: an attention network has one, since nothing of it is tuned."""
        return [1] if name in self.translated else list(range(1, self.config["tuning"]["runs"] + 1))

    def paper_rows(self) -> dict[str, str]:
        """Rows of Table 1 of Cho et al. (2014) -> the system that stands for each, in the paper's order.

        Those of ``report.paper_rows``; where it names none, the systems of the same names.
        """
        declared = self.config["report"]["paper_rows"]
        for row, system in declared.items():
            if system not in self.systems:
                raise UserError(f"report.paper_rows.{row}: there is no system '{system}'; define it or name another")
        chosen = declared or {row: row for row in PAPER_ROWS if row in self.systems}
        return {row: chosen[row] for row in PAPER_ROWS if row in chosen}
