"""What jobs will take: quantities that follow from an experiment's settings and sizes (words, phrase pairs, hypotheses,
MACs), and a fitted line of each rule for CPU seconds, memory and disk over them.
"""

import math
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from neural_smt.corpus.sources import archive_name
from neural_smt.experiment.layout import TESTS
from neural_smt.experiment.settings import read_described
from neural_smt.experiment.systems import Systems
from neural_smt.io.files import read_yaml, write_json
from neural_smt.planning.jobs import Job
from neural_smt.planning.sizes import RATIOS, Sizes, Text, joined

HAZARDS = {"tuning": 0.15, "choosing": 0.15, "epochs": 0.12}
"""Chance that a loop ends with an iteration before its last: MERT with searches, MERT among candidates that are there,
and epochs of a recurrent model.
"""

RENEWAL = 0.75
"""Of the candidates that an iteration adds, as many as this fraction are new again in the next one."""


def expected_iterations(most: int, hazard: float) -> float:
    """Mean number of iterations of a loop that ends after each with the chance ``hazard`` and after ``most`` anyway."""
    return sum((1 - hazard) ** before for before in range(most))


def expected_lists(most: int, hazard: float = 0.0) -> float:
    """Mean number of lists that the iterations of such a loop read together: each its own new candidates and all those
    before.
    """
    return sum((1 - RENEWAL ** (before + 1)) / (1 - RENEWAL) * (1 - hazard) ** before for before in range(most))


@dataclass(frozen=True)
class Experiment:
    """A complete configuration with its sizes.

    iterations: measured ones of single runs, by outputs' folder (``tuning/baseline/run1``, ``training/recurrent``);
    hazards: for all others, see ``HAZARDS``.
    """

    config: Mapping[str, Any]
    sizes: Sizes
    hazards: Mapping[str, float] = field(default_factory=lambda: dict(HAZARDS))
    iterations: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def systems(self) -> Systems:
        """What it consists of."""
        return Systems(self.config)


@cache
def table() -> dict[str, dict[str, Any]]:
    """What ``costs.yaml`` says: quantities by name, those of kinds of networks, what rates are, and entries by rule."""
    return read_yaml(Path(__file__).with_name("costs.yaml"))


FUNCTIONS = {"len": len, "max": max, "min": min, "sum": sum, "expected_lists": expected_lists}
"""What formulas may call besides methods of ``Quantities``."""


@cache
def compile_formula(formula: str) -> tuple[Callable[[Mapping[str, Any]], Any], frozenset[str]]:
    """A formula of ``costs.yaml`` as a function of the values of its names, and the names."""
    from jinja2 import Environment, StrictUndefined, meta  # every dry run imports this module, and few plan

    environment = Environment(undefined=StrictUndefined)
    names = meta.find_undeclared_variables(environment.parse(f"{{{{ {formula} }}}}")) - FUNCTIONS.keys()
    expression = environment.compile_expression(formula, undefined_to_none=False)
    return lambda values: expression(FUNCTIONS, **values), frozenset(names)


class Quantities:
    """What formulas of ``costs.yaml`` may name of a job, by name."""

    def __init__(self, job: Job, experiment: Experiment) -> None:
        self.rule, self.wildcards = job.rule, job.wildcards
        self.experiment, self.config, self.sizes = experiment, experiment.config, experiment.sizes
        kinds = table()["kinds"]
        self.formulas = ChainMap(kinds.get(self.network.get("kind", ""), {}), table()["quantities"])
        self.known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.known:
            if name in self.formulas:
                self.known[name] = self.evaluate(str(self.formulas[name]))
            else:
                own = hasattr(type(self), name) or name in vars(self)
                self.known[name] = getattr(self, name) if own else self.config[name]
        return self.known[name]

    def evaluate(self, formula: str) -> Any:
        """What a formula amounts to for this job."""
        expression, names = compile_formula(formula)
        return expression({name: self[name] for name in names})

    def value(self, formula: str) -> float:
        """The same as a number; '' is nothing."""
        return float(self.evaluate(formula)) if formula else 0.0

    @property
    def entry(self) -> str:
        """The entry of the job's rule, which may be one for what is rescored or for a kind of network."""
        rescored = self.experiment.systems.rescored_candidates(self.wildcards["system"]) if self.system else None
        entries = f"{self.rule}/{rescored}", f"{self.rule}/{self.network.get('kind')}"
        return next((entry for entry in entries if entry in table()["rules"]), self.rule)

    # texts

    def text(self, name: str) -> Text:
        """A set, all test sets, or the training text."""
        if name == TESTS:
            return self.joined(self.config["corpus"]["test"])
        return self.sizes.data["selected"] if name == "train" else self.sizes.sources[name]

    def joined(self, names: Iterable[str]) -> Text:
        """Such texts together."""
        return joined(map(self.text, names))

    def joined_sources(self, names: Iterable[str]) -> Text:
        """Sources together."""
        return joined(self.sizes.sources[name] for name in names)

    def spoken_words(self, text: Text | None) -> float:
        """Words of a text in the language, or on the side, that the job works on; 0 where there is no such text."""
        language = self.wildcards.get("side") or self.wildcards["language"]
        sides = {name: side for side, name in self.config["languages"].items()}
        return getattr(text, sides[language]) if text and language in sides else 0.0

    @property
    def archive_words(self) -> float:
        """Words of all members of an archive that the experiment takes."""
        total = 0.0
        for name, text in self.sizes.sources.items():
            for side, language in self.config["languages"].items():
                declared = self.config["corpus"]["sources"][name].get(language, {})
                if "member" in declared and archive_name(declared) == self.wildcards["archive"]:
                    total += getattr(text, side)
        return total

    @property
    def data(self) -> str:
        """The choice of data that the job works on."""
        if "system" in self.wildcards:
            return self.experiment.systems.data(self.wildcards["system"])
        _, _, chosen = self.wildcards.get("data", "").partition("/data/")
        return chosen or self.wildcards.get("variant", "selected")

    @property
    def memory_bytes(self) -> float:
        """Memory of building a language model; infinite where it is given in percent of the machine's."""
        amount, scale = self["ngram_model"]["memory"], {"b": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
        return float(amount[:-1]) * scale.get(amount[-1], math.inf)

    @property
    def modelled_words(self) -> float:
        """Words that the n-gram models that the job builds or works with are estimated on."""
        systems, data = self.experiment.systems, self.data
        models = [self.wildcards.get("model") or systems.stand_in(systems.used_ngram_models(data))]
        if "system" in self.wildcards:
            models = systems.ngram_models(self.wildcards["system"])
        words = {"train": self.sizes.data[data].target, "monolingual": self.sizes.extra[data].target}
        return sum(words[text] for model in models for text in systems.declared_ngram_models[model]["texts"])

    # systems and networks

    @property
    def system(self) -> Mapping[str, Any]:
        """The system that a job works with; nothing where there is none."""
        return self.config["systems"].get(self.wildcards.get("system"), {})

    @property
    def network_name(self) -> str | None:
        """The network that a job trains or works with; None for none."""
        if "network" in self.wildcards or "system" not in self.wildcards:
            return self.wildcards.get("network", "encoder_decoder")
        chosen = self.system.get("translate", {}).get("network") or next(iter(self.system.get("rescore", ())), None)
        return chosen or self.experiment.systems.searched_network(self.wildcards["system"])

    @cached_property
    def network(self) -> Mapping[str, Any]:
        """Settings of that network, with its kind; nothing where there is none."""
        return self.config["networks"].get(self.network_name, {})

    @property
    def input_width(self) -> float:
        """Numbers that a joint model reads beside its words: dimensions of its vectors; 0 for other networks."""
        read = self["input"]
        if not read:
            return 0
        lender = self.experiment.systems.lending_network(self.network_name or "")
        width = self.config["networks"][lender]["hidden"] if lender else read["dimensions"]
        slots = "1" if read["kind"] in ("sentence_lsa", "projected_lsa") else read["window"]
        return width * sum(map(int, re.findall(r"\d+", slots)))

    def loop(self, key: str, most: int, hazard: str) -> tuple[float, float]:
        """Iterations of a loop, measured or expected, and lists of candidates that they read (``expected_lists``)."""
        count, chance = self.experiment.iterations.get(key), self.experiment.hazards[hazard]
        if count:
            return count, expected_lists(count)
        return expected_iterations(most, chance), expected_lists(most, chance)


DOWNLOAD = 10e6
"""Bytes a second from elsewhere, assumed."""

PACKED = 2.5
"""Bytes of a word of published, compressed text, assumed."""


class Line(NamedTuple):
    """A cost: what is fixed, and what each unit of a rule's quantity adds."""

    fixed: float
    rate: float


START = {"cpu": Line(0.8, 0.0), "memory": Line(200.0, 0.0), "disk": Line(1e4, 0.0)}
"""CPU seconds, MB and bytes of a job of which nothing is known but that it starts Python."""

GPU = Line(5e-4, 4e-14)
"""Seconds of one time step, whose kernels are launched forward and backward, and of one MAC on one GPU, assumed: 2.5e13
MACs a second are a twentieth of what an H100's tensor cores do in bf16 at best. Rules measured on a GPU have lines of
their own (cost ``gpu``).
"""


@dataclass(frozen=True)
class Cost:
    """How a rule's costs follow from quantities: expressions of ``costs.yaml``, which says what is what."""

    cpu: str = ""
    memory: str = ""
    disk: str = ""
    parallel: float = 0.0
    like: str = ""
    start: float = 200.0
    gpu: Sequence[str] = ()
    download: str = ""


@cache
def costs() -> dict[str, Cost]:
    """Every rule that makes files -> how its costs follow."""
    return {rule: Cost(**entry) for rule, entry in table()["rules"].items()}


@dataclass(frozen=True)
class Throughputs:
    """Lines by rule and cost, with the ratios that sizes follow by.

    ``experiments``: those that they were measured with; ``machine`` and ``date``: on what, and when; ``gpu``: on which
    GPU lines of this name were measured, "" where there are none.
    """

    lines: Mapping[str, Mapping[str, Line]]
    ratios: Mapping[str, float] = field(default_factory=lambda: dict(RATIOS))
    hazards: Mapping[str, float] = field(default_factory=lambda: dict(HAZARDS))
    experiments: tuple[str, ...] = ()
    machine: str = ""
    date: str = ""
    gpu: str = ""

    def of(self, rule: str, cost: str) -> tuple[Line, str]:
        """The line of a rule, and whose it is: its own, that of a rule like it, or ('') ``START`` or ``GPU``."""
        while rule and cost not in self.lines.get(rule, {}):
            rule = costs()[rule].like
        return (self.lines[rule][cost] if rule else {**START, "gpu": GPU}[cost]), rule

    def save(self, path: Path) -> None:
        """Write as JSON."""
        write_json(path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> "Throughputs":
        """Read what ``save`` wrote; ``UserError`` for another file."""
        read = read_described(path, "throughputs", "write throughputs with `make bench`")
        lines = {rule: {cost: Line(*line) for cost, line in own.items()} for rule, own in read["lines"].items()}
        read |= {name: dict(read[name]) for name in ("ratios", "hazards") if name in read}
        return cls(**{**read, "lines": lines, "experiments": tuple(read.get("experiments", ()))})


@dataclass(frozen=True)
class Forecast:
    """What a job will take.

    seconds: by the clock, on a machine of its own; cpu_seconds: of all its threads; memory: MB, without pages of files
    that it only maps; disk: bytes; basis: what its rate is, one of the ``bases`` of ``costs.yaml``.
    """

    job: Job
    seconds: float
    cpu_seconds: float
    memory: float
    disk: float
    basis: str


def forecast(job: Job, experiment: Experiment, throughputs: Throughputs) -> Forecast:
    """The forecast of a job."""
    quantities = Quantities(job, experiment)
    cost = costs()[quantities.entry]
    amounts = [quantities.value(expression) for expression in (cost.cpu, cost.memory, cost.disk)]
    found = {kind: throughputs.of(quantities.entry, kind) for kind in START}
    cpu, memory, disk = (fixed + rate * x for ((fixed, rate), _), x in zip(found.values(), amounts, strict=True))
    line, origin = found["cpu"]
    seconds = cpu / (1 + (job.threads - 1) * cost.parallel)
    if job.gpus and cost.gpu:
        macs, steps = map(quantities.value, cost.gpu)
        (step, mac), origin = throughputs.of(quantities.entry, "gpu")
        cpu = seconds = line.fixed + steps * step + macs * mac / job.gpus
    measured, alike, assumed = table()["bases"]
    basis = measured if origin == quantities.entry else alike if origin else assumed
    if words := quantities.value(cost.download):
        seconds += words * PACKED / DOWNLOAD
        basis = assumed
    return Forecast(job, seconds, cpu, memory, disk, basis)


def forecast_jobs(
    jobs: Iterable[Job], config: Mapping[str, Any], sizes: Sizes, throughputs: Throughputs
) -> list[Forecast]:
    """The forecasts of jobs of an experiment that is still to run."""
    experiment = Experiment(config, sizes, throughputs.hazards)
    return [forecast(job, experiment, throughputs) for job in jobs]
