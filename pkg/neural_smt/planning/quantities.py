"""What a job goes through, from an experiment's settings and sizes: words, phrase pairs, hypotheses, MACs."""

import ast
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from neural_smt.corpus.sources import archive_name
from neural_smt.experiment.networks import ALL_WORDS, joint_inputs, sentence_vocabularies
from neural_smt.experiment.systems import rescoring_network, resolve_data, searched_network, used_networks
from neural_smt.io.files import read_yaml
from neural_smt.planning import network_sizes
from neural_smt.planning.jobs import Job
from neural_smt.planning.sizes import Sizes, Text, joined
from neural_smt.vocabulary_selection.candidates import PIECE

HAZARDS = {"tuning": 0.15, "choosing": 0.15, "epochs": 0.12}
"""Chance that a loop ends with an iteration before its last: MERT with searches, MERT among candidates that are there,
and epochs of a recurrent model.
"""

RENEWAL = 0.75
"""Of the candidates that an iteration adds, as many as this share are new again in the next one."""

HELD = 45.0
"""Bytes of an n-gram while a language model is estimated."""

CURVE_MEMORY = float(2 << 30)
"""Bytes that the language models of a curve are estimated in, see ``selection.curve``."""

CSLM_EPOCHS = 20
"""Passes of a CSLM over its text after which it has surely learnt all it can."""

LISTING, OPTIONS = 500.0, 100.0
"""Hypotheses a word that take as long as listing the best of whole sentences, and as collecting translations."""


def expected_iterations(most: int, hazard: float) -> float:
    """Mean number of iterations of a loop that ends after each with the chance ``hazard`` and after ``most`` anyway."""
    return sum((1 - hazard) ** before for before in range(most))


def read_lists(iterations: int) -> float:
    """Lists that so many iterations read together: each its own new candidates and all those before."""
    return expected_lists(iterations, 0.0)


def expected_lists(most: int, hazard: float) -> float:
    """Mean of the same over a loop that ends after each iteration with the chance ``hazard``."""
    return sum((1 - RENEWAL ** (before + 1)) / (1 - RENEWAL) * (1 - hazard) ** before for before in range(most))


@dataclass(frozen=True)
class Experiment:
    """A complete configuration with its sizes.

    iterations: measured ones of single runs, by outputs' folder (``tuning/baseline/run1``, ``training/recurrent``);
    hazards: for all others, see ``HAZARDS``.
    """

    config: Mapping[str, Any]
    sizes: Sizes
    hazards: Mapping[str, float]
    iterations: Mapping[str, int]

    @cached_property
    def sections(self) -> "Section":
        """The configuration, with settings as attributes."""
        return Section.of(self.config)

    @property
    def networks(self) -> dict[str, dict[str, Any]]:
        """Settings of every network with its kind, by name."""
        return self.config["networks"]

    def text(self, name: str) -> Text:
        """A set, or the training text."""
        return self.sizes.data["selected"] if name == "train" else self.sizes.sources[name]

    @property
    def length(self) -> float:
        """Words of a source sentence of the training text."""
        selected = self.sizes.data["selected"]
        return selected.words[self.sizes.source] / max(selected.lines, 1)

    def known_words(self, network: str) -> tuple[float, float]:
        """Words that a network knows: of what it reads, and of what it writes."""
        settings, languages = self.networks[network], [self.sizes.source, self.sizes.target]
        types = [self.sizes.types[language] for language in languages]
        match settings["kind"]:
            case "attention":
                return min(settings["source_words"], types[0]), min(settings["target_words"], types[1])
            case "recurrent":
                return 0.0, types[settings["language"] != "source"]
            case _:
                source, target = (min(self.config["shortlist"]["size"], count) for count in types)
                return (target, source) if settings.get("direction") == "backward" else (source, target)

    def weights(self, network: str) -> float:
        """Weights of a network."""
        return network_sizes.count_weights(self.networks[network], *self.known_words(network))

    def inputs(self, network: str) -> float:
        """What a joint model reads beside its words: dimensions of its vectors; 0 for one of target words alone."""
        declared = joint_inputs(self.config).get(network)
        if not declared:
            return 0
        width = 50 if declared["kind"] == "word_rnn" else declared["dimensions"]
        if declared["kind"] in ("sentence_lsa", "projected_lsa"):
            return width
        return width * sum(map(int, declared["window"].replace("p", " ").replace("n", " ").replace("c", " ").split()))

    def vocabulary(self, network: str, training: bool) -> float:
        """Target words that an attention network chooses among: those of a batch while it trains, else of a sentence.

        A batch's sentences share their frequent words and add some for each word that they have.
        """
        settings, (_, words) = self.networks[network], self.known_words(network)
        if settings["tau"] and training:
            return min(settings["tau"], words)
        if settings["vocabulary"] == ALL_WORDS:
            return words
        sets = sentence_vocabularies(self.config)[settings["vocabulary"]]
        added = self.length * (sets["dictionary"] + 0.3 * sets["phrases"])
        return min(sets["frequent"] + added * (settings["batch"] if training else 1) ** 0.7, words)

    def loop(self, key: str, most: int, hazard: str) -> tuple[float, float]:
        """Iterations of a loop, measured or expected, and lists of candidates that they read (``read_lists``)."""
        if count := self.iterations.get(key):
            return count, read_lists(count)
        return expected_iterations(most, self.hazards[hazard]), expected_lists(most, self.hazards[hazard])

    def gpu_needs(self) -> list[network_sizes.Need]:
        """The memory of every network that the experiment trains on a GPU."""
        needs, processes = [], self.config["training"]["processes"]
        for name in used_networks(self.config, "encoder_decoder", "cslm", "attention"):
            settings, weights = self.networks[name], self.weights(name)
            outputs = self.vocabulary(name, True) if settings["kind"] == "attention" else self.known_words(name)[1]
            where = f"networks.{name}"
            needs.append(network_sizes.gpu_need(settings, where, weights, self.length, outputs, processes))
        return needs


class Section(dict):
    """A section of a configuration, whose settings are attributes."""

    __getattr__ = dict.__getitem__

    @classmethod
    def of(cls, value: Any) -> Any:
        """The same with all sections in it; what is no mapping stays as it is."""
        return cls({key: cls.of(item) for key, item in value.items()}) if isinstance(value, Mapping) else value


class Words(NamedTuple):
    """Lines of a text, and words of its sides."""

    lines: float
    source: float
    target: float

    @property
    def both(self) -> float:
        """Words of both sides."""
        return self.source + self.target


@cache
def table() -> dict[str, dict[str, Any]]:
    """What ``costs.yaml`` says: quantities by name, and entries by rule."""
    return read_yaml(Path(__file__).with_name("costs.yaml"))


@cache
def _parsed(expression: str) -> ast.expr:
    return ast.parse(" ".join(expression.split()), mode="eval").body


def evaluate(node: ast.expr, names: "Quantities") -> Any:
    """The value of a parsed expression; a syntax that ``costs.yaml`` has no use for is a ``ValueError``.

    Numbers, names, attributes, items, arithmetic, comparisons, conditions and calls of ``FUNCTIONS``.
    """
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return CONSTANTS[name] if name in CONSTANTS else names[name]
        case ast.Attribute(of, name):
            return getattr(evaluate(of, names), name)
        case ast.Subscript(of, key):
            return evaluate(of, names)[evaluate(key, names)]
        case ast.Tuple(items):
            return tuple(evaluate(item, names) for item in items)
        case ast.BinOp(left, operation, right):
            return OPERATIONS[type(operation)](evaluate(left, names), evaluate(right, names))
        case ast.Compare(left, [comparison], [right]):
            return OPERATIONS[type(comparison)](evaluate(left, names), evaluate(right, names))
        case ast.BoolOp(ast.Or(), [first, second]):
            return evaluate(first, names) or evaluate(second, names)
        case ast.IfExp(test, then, otherwise):
            return evaluate(then if evaluate(test, names) else otherwise, names)
        case ast.Call(ast.Name(name), arguments, []):
            return FUNCTIONS[name](*(evaluate(argument, names) for argument in arguments))
    raise ValueError(f"{ast.unparse(node)}: not an expression that quantities are given by")


OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Gt: operator.gt,
    ast.In: lambda value, values: value in values,
}
FUNCTIONS = {"len": len, "max": max, "min": min, "sum": sum, "read_lists": read_lists}
CONSTANTS = {"HELD": HELD, "CURVE_MEMORY": CURVE_MEMORY}


class Quantities:
    """What expressions of ``costs.yaml`` may name of a job: public methods, sections of the configuration, and the
    job's wildcards."""

    def __init__(self, job: Job, experiment: Experiment) -> None:
        self.x, self.job, self.of = experiment, job, job.wildcards
        self.config, self.sizes = experiment.sections, experiment.sizes
        self.names = [self.sizes.source, self.sizes.target]
        self.known: dict[str, Any] = {}

    @property
    def entry(self) -> str:
        """The entry of the job's rule, which may be one for a kind of network."""
        network = self.of.get("network") or rescoring_network(self._system())
        kind = self.x.networks.get(network, {}).get("kind")
        by_kind = f"{self.job.rule}/{kind}"
        return by_kind if by_kind in table()["rules"] else self.job.rule

    def value(self, expression: str) -> float:
        """What an expression amounts to for this job; '' to nothing."""
        return float(evaluate(_parsed(expression), self)) if expression else 0.0

    def __getitem__(self, name: str) -> Any:
        if name not in self.known:
            if name in table()["quantities"]:
                self.known[name] = self.value(table()["quantities"][name])
            elif hasattr(Quantities, name):
                self.known[name] = getattr(self, name)()
            else:
                self.known[name] = {"sizes": self.sizes, **self.config, **self.of}[name]
        return self.known[name]

    # texts

    def _words(self, text: Text) -> Words:
        return Words(text.lines, *(text.words.get(name, 0.0) for name in self.names))

    def shards(self) -> int:
        """Shards that work is divided into."""
        return self.config["shards"]

    def part(self) -> float:
        """Share of the work of its rule that a job does."""
        return 1 / self.shards() if self.of.get("scatteritem") else 1.0

    def side(self) -> float:
        """Words of one side of a source, or of its text in one language."""
        text = self.sizes.sources.get(self.of["source"])
        return text.words.get(self.of.get("side") or self.of["language"], 0.0) if text else 0.0

    def untokenised(self) -> bool:
        """Whether a source is still to be tokenised."""
        return not self.config["corpus"]["sources"][self.of["source"]]["tokenised"]

    def archive_words(self) -> float:
        """Words of all members of an archive that the experiment takes."""
        sources, archive = self.config["corpus"]["sources"], self.of["archive"]
        members = [
            (sources[name].get(language, {}), words)
            for name, text in self.sizes.sources.items()
            for language, words in text.words.items()
        ]
        return sum(words for side, words in members if "member" in side and archive_name(side) == archive)

    def is_downloaded(self) -> bool:
        """Whether what a job fetches is neither in a file nor on a mirror."""
        side = self.config["corpus"]["sources"].get(self.of.get("source"), {}).get(self.of.get("side"), {})
        return "path" not in side and not self.config["data_mirror"]

    def source_words(self) -> float:
        """Words of all sources."""
        return sum(text.both for text in self.sizes.sources.values())

    def types(self) -> float:
        """Distinct words of both languages."""
        return sum(self.sizes.types.values())

    def language_words(self) -> float:
        """Words of all training texts in a language."""
        texts = (self.sizes.pool, self.sizes.in_domain, self.sizes.monolingual)
        return sum(text.words.get(self.of["language"], 0.0) for text in texts)

    def training_words(self) -> float:
        """Words of the selected training text in a language."""
        return self.sizes.data["selected"].words[self.of["language"]]

    def _role(self) -> str:
        return self.of.get("role", "monolingual")

    def read_texts(self) -> Words:
        """All sources of a role (training, in-domain, monolingual)."""
        return self._words(joined(self.sizes.sources[name] for name in self.config["corpus"][self._role()]))

    def kept_texts(self) -> Words:
        """What cleaning keeps of them."""
        return self._words({"train": self.sizes.pool}.get(self._role()) or getattr(self.sizes, self._role()))

    # selection, training data

    def _is_monolingual(self) -> bool:
        return self.job.rule in ("select_text", "take_text") or self.of.get("text") == "monolingual"

    def selects(self) -> bool:
        """Whether anything is selected."""
        return self.config["selection"]["monolingual_method" if self._is_monolingual() else "method"] != "none"

    def pool(self) -> Words:
        """The text that is selected from."""
        return self._words(self.sizes.monolingual if self._is_monolingual() else self.sizes.pool)

    def chosen(self) -> Words:
        """What is selected."""
        return self._words((self.sizes.extra if self._is_monolingual() else self.sizes.data)[self.data()])

    def data(self) -> str:
        """The choice of data that the job works on."""
        if "system" in self.of:
            return resolve_data(self.x.config["systems"], self.of["system"])
        _, _, chosen = self.of.get("data", "").partition("/data/")
        return chosen or self.of.get("variant", "selected")

    def pairs(self) -> Words:
        """The training pairs of that choice."""
        return self._words(self.sizes.data[self.data()])

    def train(self) -> Words:
        """The selected training pairs."""
        return self._words(self.sizes.data["selected"])

    def language_model_words(self) -> float:
        """Words of the text of a language model of that choice."""
        return self.sizes.language_model_words(self.data())

    def memory_bytes(self) -> float:
        """Memory of a language model; without end for shares of the machine's."""
        amount, scale = self.config["language_model"]["memory"], {"b": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
        return float(amount[:-1]) * scale[amount[-1]] if amount[-1] in scale else math.inf

    # sets, target vocabularies

    def set(self) -> Words:
        """The set that a job works on: the dev set where none is named."""
        return self._words(self.x.text(self.of.get("set", self.config["corpus"]["dev"])))

    def _all_sets(self) -> list[Text]:
        return [self.x.text(name) for name in (self.config["corpus"]["dev"], *self.config["corpus"]["test"])]

    def sets(self) -> Words:
        """All sets together."""
        return self._words(joined(self._all_sets()))

    def _texts(self) -> list[Words]:
        texts = [self.x.text(self.of["text"])] if "text" in self.of else [self.x.text("train"), *self._all_sets()]
        return [self._words(text) for text in texts]

    def text_words(self) -> float:
        """Source words of the text, or of all texts, whose target vocabularies a job makes."""
        return sum(text.source for text in self._texts())

    def held_words(self) -> float:
        """Those in a piece of a text, whose target vocabularies are in memory together."""
        return max(text.source * min(PIECE / max(text.lines, 1), 1.0) for text in self._texts())

    def looked_up(self) -> float:
        """Those that are looked up in the dictionary."""
        return self.text_words() * (sentence_vocabularies(self.x.config)[self.of["sets"]]["dictionary"] > 0)

    def input(self) -> Section:
        """What a joint model reads of the source."""
        return Section(joint_inputs(self.x.config)[self.of["network"]])

    # networks

    def _system(self) -> Mapping[str, Any]:
        return self.config["systems"].get(self.of.get("system"), {})

    def _network(self) -> str:
        """The network that a job trains or works with; '' for none."""
        if "network" in self.of or "system" not in self.of:
            return self.of.get("network", "encoder_decoder")
        translate = self._system().get("translate", {}).get("network")
        return translate or rescoring_network(self._system()) or self._searching_network()

    def network(self) -> Section:
        """Settings of that network, with its kind; nothing where there is none."""
        return Section.of(self.x.networks.get(self._network(), {}))

    def _searching_network(self) -> str:
        return searched_network(self.x.config, self.of["system"]) or ""

    def has_network(self) -> bool:
        """Whether a network takes part in the search."""
        return bool(self._searching_network())

    def rescored(self) -> bool:
        """Whether a system chooses with a network."""
        return bool(rescoring_network(self._system()))

    def rescoring(self) -> Section:
        """How a system chooses among the translations of its base."""
        return self._system()["rescoring"]

    def weights(self) -> float:
        """Weights of the network."""
        return self.x.weights(self._network())

    def outputs(self) -> float:
        """Words that it predicts one of."""
        return self.x.known_words(self._network())[1]

    def inputs(self) -> float:
        """Numbers that it reads beside words."""
        return self.x.inputs(self._network())

    def _macs(self) -> tuple[float, float]:
        """Source words' MACs, or layers', or all; and target words', or outputs'."""
        match self.network().get("kind"):
            case "encoder_decoder":
                return network_sizes.encoder_decoder(self.network(), self.outputs())
            case "cslm":
                return network_sizes.cslm(self.network(), self.outputs())
            case "attention":
                trains = self.job.rule.startswith("train_")
                length = self.x.length if trains else self.set().source / self.set().lines
                return network_sizes.attention(self.network(), length, self.x.vocabulary(self._network(), trains))
            case "recurrent":
                return network_sizes.recurrent(self.network(), self.inputs(), self.outputs()), 0.0
        return 0.0, 0.0

    def read(self) -> float:
        """MACs for each source word; those of a CSLM's layers, all of a recurrent network."""
        return self._macs()[0]

    def written(self) -> float:
        """MACs for each target word; those of a CSLM's outputs."""
        return self._macs()[1]

    def epochs(self) -> float:
        """Epochs whose weights are kept, or measured; 1 for what translates a set."""
        return 1.0 if "set" in self.of else self.network().get("epochs") or 1.0

    def learned_words(self) -> float:
        """Words of the text that a recurrent network learns from."""
        words = self.train().source if self.network()["language"] == "source" else self.train().target
        return words * min((self.network()["sentences"] or math.inf) / self.train().lines, 1.0)

    def _updates(self) -> tuple[float, float]:
        """Examples (words or n-grams) of all updates, and time steps."""
        updates, batch = self.network().get("updates", 0), self.network()["batch"]
        match self.network()["kind"]:
            case "encoder_decoder":
                return updates * batch * network_sizes.PHRASE_WORDS, updates * 2 * network_sizes.PHRASE_WORDS
            case "cslm":
                # it stops early where validations no longer gain; the papers' sizes are far from it
                updates = min(updates, CSLM_EPOCHS * self.train().target / batch)
                return updates * batch, updates
            case "attention":
                updates = min(updates, (self.network()["epochs"] or math.inf) * self.train().lines / batch)
                return updates * batch * self.x.length, updates * 2 * self.x.length
            case _:
                epochs, _ = self.x.loop(f"training/{self._network()}", self.network()["epochs"], "epochs")
                return epochs * self.learned_words(), 2 * epochs * self.learned_words() / batch

    def examples(self) -> float:
        """Words or n-grams of all updates."""
        return self._updates()[0]

    def steps(self) -> float:
        """Time steps of all updates."""
        return self._updates()[1]

    # search, lists and tuning

    def _loop(self) -> tuple[float, float]:
        if "set" in self.of:
            return 1.0, 1.0
        key = f"tuning/{self.of['system']}/run{self.of['run']}"
        return self.x.loop(
            key, self.config["tuning"]["iterations"], "tuning" if self.job.rule == "tune" else "choosing"
        )

    def iterations(self) -> float:
        """Iterations of tuning; 1 for what goes once over a set."""
        return self._loop()[0]

    def lists(self) -> float:
        """Lists that tuning reads in all, see ``read_lists``; 1 for what goes once over a set."""
        return self._loop()[1]

    def search(self) -> Section:
        """Settings of the search, of a set or for tuning."""
        return self.config["decoding"]["test" if "set" in self.of else "tuning"]

    def overhead(self) -> float:
        """Hypotheses a word that take as long as what is done beside the search."""
        return OPTIONS if "set" in self.of else OPTIONS + LISTING

    def entries(self) -> float:
        """Entries of the n-best lists that a network scores."""
        most = self.config["decoding"]["rescored_nbest"]
        return (
            min(self.rescoring()["nbest"], most) if self.rescored() and self.network()["kind"] == "attention" else most
        )
