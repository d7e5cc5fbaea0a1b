"""Files that the report is made from, and the pages that it has, by the complete configuration of an experiment.

All paths are relative to the folder that Snakemake runs in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import yaml

from neural_smt.experiment.layout import Layout
from neural_smt.experiment.networks import KINDS
from neural_smt.experiment.systems import drawn_pairs
from neural_smt.report.papers import FOLDER, load_paper

EXPLAINED, DRAWN = 8, 4
"""How many systems, the first ones declared, tell how they translate (each of them is loaded for it), and of how many
lattices or attention weights are drawn.
"""


def listed_paths(*files: Any) -> list[str]:
    """All paths of results in nested mappings and lists, where other strings may be too."""
    found: list[str] = []
    for part in files:
        if isinstance(part, str):
            found += [part] if part.startswith("results/") else []
        elif isinstance(part, Mapping | list):
            found += listed_paths(*(part.values() if isinstance(part, Mapping) else part))
    return found


def every(pattern: str, **values: Iterable[Any]) -> list[str]:
    """The pattern with every combination of the values, those named last changing fastest."""
    return [pattern.format(**dict(zip(values, found, strict=True))) for found in product(*values.values())]


class ReportFiles:
    """Files of an experiment's results, given its complete configuration, by the arguments of the report's steps."""

    def __init__(self, config: Mapping[str, Any]):
        self.config, self.layout = config, Layout(config)
        self.folder = f"results/{config['experiment']}"
        self.systems: Mapping[str, Mapping[str, Any]] = config["systems"]
        self.sets = [config["corpus"]["dev"], *config["corpus"]["test"]]
        self.labels = {name: system.get("label", name) for name, system in self.systems.items()}
        self.translated, self.tuned = self.layout.translated, self.layout.tuned
        self.searched, self.variants = self.layout.searched, self.layout.variants
        self.paper_rows, self.runs = self.layout.paper_rows(), self.layout.runs
        self.joint_systems = [name for name in load_paper("auli2013.yaml").systems if name in self.systems]
        self.attention_systems = [name for name in load_paper("mi2016.yaml").systems if name in self.systems]

    def results(self, pattern: str, **values: Iterable[Any]) -> list[str]:
        """Paths of results: every combination of the values."""
        return every(f"{self.folder}/{pattern}", **values)

    def scores(self, systems: Iterable[str] | None = None) -> dict[str, dict[str, list[str]]]:
        """Evaluation files: system -> set -> one per run; of all systems if none are given."""
        chosen = self.systems if systems is None else systems
        return {
            system: {name: self._of_runs("evaluation", system, f"{name}.json") for name in self.sets}
            for system in chosen
        }

    def translations(self, systems: Iterable[str], name: str) -> dict[str, list[str]]:
        """Detokenised translations of a set: system -> one per run."""
        return {system: self._of_runs("evaluation", system, f"{name}.txt") for system in systems}

    def first_translations(self, name: str) -> dict[str, str]:
        """Detokenised translations of a set by the first run: system -> file."""
        return {system: f"{self.folder}/evaluation/{system}/run1/{name}.txt" for system in self.systems}

    def _of_runs(self, stage: str, system: str, name: str) -> list[str]:
        return self.results(f"{stage}/{system}/run{{run}}/{name}", run=self.runs(system))

    def of_sets(self, pattern: str) -> dict[str, str]:
        """Set -> file."""
        return {name: f"{self.folder}/{pattern.format(set=name)}" for name in self.sets}

    def significance(self) -> dict[str, str]:
        """Comparisons with the baseline: set -> file."""
        return self.of_sets("evaluation/significance/{set}.json")

    def histories(self) -> dict[str, list[str]]:
        """Tuning histories: system -> one per run."""
        return {system: self._of_runs("tuning", system, "history.csv") for system in self.tuned}

    def trained(self, network: str) -> dict[str, Any]:
        """The model and the learning curve of a network, and which weights it kept, ``last`` or ``best``; a recurrent
        one is trained until it is at its best.
        """
        folder = f"{self.folder}/training/{network}"
        keep = self.config["networks"][network].get("keep", "best")
        return {"model": f"{folder}/model", "curve": f"{folder}/curve.csv", "keep": keep}

    def networks(self) -> dict[str, dict[str, Any]]:
        """What the table of networks is made from: network -> its files, and which weights it kept."""
        found: dict[str, dict[str, Any]] = {}
        for kind in sorted(KINDS, key=lambda kind: kind == "cslm"):
            for name in self.layout.used_networks(kind):
                found[name] = self.trained(name)
                if kind == "encoder_decoder":
                    found[name]["rescoring"] = f"{self.folder}/rescoring/extracted/{name}.json"
                if kind == "cslm":
                    searched = [system for system in self.searched if self.layout.searched_network(system) == name]
                    pattern = "decoding/{system}/run1/{set}.json"
                    found[name]["searches"] = self.results(pattern, system=searched, set=self.sets)
        return found

    def data(self) -> dict[str, dict[str, str]]:
        """What the table of data is made from: the baseline and systems of other data -> their data and its files."""
        baseline = self.config["evaluation"]["baseline"]
        shown = [name for name in self.systems if name == baseline]
        shown += [name for name in self.systems if name not in shown and self.layout.data(name) != "selected"]
        return {
            name: {
                "data": self.layout.data(name),
                "text": f"{self.layout.data_folder(name)}/selection/train.{self.layout.target}",
                "perplexity": f"{self.layout.data_folder(name)}/language_model/perplexity.json",
                "phrase_table": f"{self.layout.data_folder(name)}/phrases/table",
            }
            for name in shown
        }

    def joint(self) -> dict[str, Any]:
        """What the tables of joint models are made from."""
        chosen = [name for name in self.joint_systems if self.layout.rescores_lattices(name)]
        networks = {name: self.layout.rescoring_network(name) for name in chosen}
        base = sorted({self.systems[name]["base"] for name in chosen})[:1]
        tested = "recurrent" in self.joint_systems
        perplexity = f"{self.folder}/training/{{}}/perplexity.json"
        return {
            "scores": self.scores([name for name in self.systems if name in self.joint_systems]),
            "significance": self.of_sets("evaluation/joint/{set}.json") if tested else {},
            "perplexities": {name: perplexity.format(network) for name, network in networks.items() if network},
            "choices": {
                system: {name: self._of_runs("decoding", system, f"{name}.json") for name in self.sets}
                for system in chosen
            },
            "searches": {
                name: [file for system in base for file in self._of_runs("decoding", system, f"{name}.lattices.json")]
                for name in self.sets
            },
            "oracles": self.of_sets(f"decoding/{base[0]}/run1/{{set}}.oracles.csv") if base else {},
        }

    def classes(self) -> dict[str, dict[str, Any]]:
        """What the table of word classes is made from: model -> its settings of classes, and its files."""
        names = {"curve": "curve.csv", "held_out": "held_out.json", "perplexity": "perplexity.json"}
        return {
            network: {"classes": self.config["networks"][network]["classes"]}
            | {key: f"{self.folder}/training/{network}/{name}" for key, name in names.items()}
            for network in self.config["report"]["word_classes"]
        }

    def attention(self) -> dict[str, Any]:
        """What the tables of attention networks are made from."""
        used = self.layout.used_networks("attention")
        curves = [name for name in used if self.config["networks"][name]["learning_curve"]]
        return {
            "systems": {name: self._attention_row(name) for name in self.attention_systems},
            "scores": self.scores([name for name in self.systems if name in self.attention_systems]),
            "significance": self.significance(),
            "translations": {
                system: {name: [f"{self.folder}/decoding/{system}/run1/{name}.json"] for name in self.sets}
                for system in self.attention_systems
                if system in self.translated
            },
            "curves": {name: self.trained(name) for name in used},
            "epochs": {name: f"{self.folder}/training/{name}/epochs.csv" for name in curves},
            "coverage": f"{self.folder}/vocabulary_selection/coverage.csv",
        }

    def _attention_row(self, name: str) -> dict[str, Any]:
        """How a system is made: its label, and of an attention network what it translates with."""
        row, chosen = {"label": self.labels[name]}, self.systems[name].get("translate")
        if not chosen:
            return row
        vocabulary = self.layout.translating_words(name)
        return row | {
            "network": chosen["network"],
            "vocabulary": vocabulary,
            "replace_unknown": chosen["replace_unknown"],
            "frequent": self.layout.sentence_vocabularies.get(vocabulary, {}).get("frequent"),
        }

    def shards(self, name: str, always: bool = True) -> list[str]:
        """The jobs of the shards that share some work; one that is not ``always`` in shards is named without."""
        count = self.config["shards"]
        return [f"{name}.{shard}-of-{count}" for shard in range(1, count + 1)] if always or count > 1 else [name]

    def _data_jobs(self) -> list[str]:
        """Jobs that build what is made from the training text alone."""
        rules = ("extract_phrases", "consolidate_phrases", "count_targets", "score_phrases")
        in_shards = [job for rule in rules for job in self.shards(f"phrases/{rule}")]
        return [
            *every("alignment/align.{direction}", direction=("forward", "backward")),
            *("alignment/symmetrise", "alignment/build_lexical_tables", "phrases/build_phrase_table"),
            *(in_shards if self.config["shards"] > 1 else []),
            "language_model/build_language_model",
        ]

    def scaling(self) -> dict[int, list[str]]:
        """Number of pairs drawn -> benchmarks of its first system, from taking the pairs to translating the sets."""
        found: dict[int, list[str]] = {}
        for system in self.searched:
            data = self.layout.data(system)
            pairs = drawn_pairs(data)
            if pairs is not None:
                jobs = ["selection/take_pairs", *self._data_jobs()]
                names = every("data/{data}/benchmarks/{job}", data=[data], job=jobs)
                names += [f"benchmarks/tuning/tune/{system}.run1"]
                names += every("benchmarks/decoding/decode/{system}.run1.{set}", system=[system], set=self.sets)
                found.setdefault(pairs, self.results("{name}.tsv", name=names))
        return found

    def benchmarks(self) -> list[str]:
        """Snakemake's time and memory of the jobs that cost most; one stage per folder."""
        config, data = self.config, self._data_jobs()
        languages = (self.layout.source, self.layout.target)
        encoder_decoders = self.layout.used_networks("encoder_decoder")
        decode = "decoding/decode/{system}.run{run}.{set}"
        jobs = [
            *self._shared("corpus/tokenise/{source}.{language}", source=config["corpus"]["train"], language=languages),
            *(self.shards("selection/score_pool/train") if self._scores_pool_in_shards() else []),
            *("selection/select_pairs", *data),
            *every("training/train_network.{network}", network=self.layout.used_networks()),
            *every("representations/build_representation.{network}", network=self._joint_networks()),
            *self._shared("rescoring/score_phrase_table.{network}.extracted", True, network=encoder_decoders),
        ]
        for system in self.systems:
            runs = {"system": [system], "run": self.runs(system), "set": self.sets}
            if system in self.tuned:
                jobs += every("tuning/tune/{system}.run{run}", system=[system], run=runs["run"])
            reranked = system in self.tuned and system not in self.searched
            jobs += every(decode, **runs) if reranked else self._shared(decode, system in self.translated, **runs)
        found = self.results("benchmarks/{job}.tsv", job=jobs)
        return found + self.results("data/{variant}/benchmarks/{job}.tsv", variant=self.variants, job=data)

    def _shared(self, pattern: str, always: bool = False, **values: Iterable[Any]) -> list[str]:
        return [job for name in every(pattern, **values) for job in self.shards(name, always)]

    def _scores_pool_in_shards(self) -> bool:
        return self.config["shards"] > 1 and self.config["selection"]["method"] != "none"

    def _joint_networks(self) -> list[str]:
        used = self.layout.used_networks("recurrent")
        return [name for name in self.layout.joint_inputs if name in used]

    def explanations(self, systems: Iterable[str], name: str) -> dict[str, str]:
        """How systems made translations of sentences of a set: label -> file."""
        return {self.labels[system]: f"{self.folder}/report/sentences/{name}.{system}.json" for system in systems}

    @property
    def explained(self) -> list[str]:
        """The systems that tell how they translate."""
        return list(self.systems)[:EXPLAINED]

    def drawn(self, systems: Iterable[str]) -> dict[str, str]:
        """The same of the first of these systems, of the set that a sentence is drawn from: the first test set."""
        return self.explanations(list(systems)[:DRAWN], self.sets[1])

    def aligned_text(self, side: str) -> list[str]:
        """The text whose alignments are drawn: what was aligned by hand, else the training text."""
        gold = self.config["corpus"]["gold"]
        by_hand = self.results("corpus/tokenised/{gold}.{side}", gold=gold, side=[side])
        return by_hand or [f"{self.folder}/selection/train.{side}"]

    def pages(self) -> dict[str, dict[str, Any]]:
        """The pages of figures and tables that the experiment has: name -> ``part``, ``title``, ``about``, ``figures``
        and ``tables``.
        """
        corpus = self.config["corpus"]
        has = {
            "variants": self.variants,
            "table1": {"baseline", "rnn"} <= set(self.paper_rows),
            "encoder_decoder": self.layout.used_networks("encoder_decoder"),
            "lattices": any(self.layout.rescores_lattices(name) for name in self.systems),
            "classes": self.config["report"]["word_classes"],
            "attention": self.translated,
            "monolingual": corpus["monolingual"],
            "gold": corpus["gold"],
            "tuned": self.tuned,
            "scaling": len(self.scaling()) > 1,
        }
        roles = ["train", *(role for role in ("in_domain", "monolingual") if corpus[role])]
        pages = {}
        for name, page in read_pages().items():
            if not {"figures", "tables"} & page.keys() or ("needs" in page and not has[page["needs"]]):
                continue
            curve = name.startswith("curve_")
            for network in self.layout.used_networks(name.removeprefix("curve_")) if curve else [""]:
                files = {
                    key: [path for pattern in page.get(key, ()) for path in _filled(pattern, network, roles)]
                    for key in ("figures", "tables")
                }
                title = page["title"].format(network=network)
                pages[f"curve_{network}" if network else name] = page | files | {"title": title}
        return pages


def _filled(pattern: str, network: str, roles: list[str]) -> list[str]:
    return every(pattern, role=roles) if "{role}" in pattern else [pattern.format(network=network)]


def read_pages() -> dict[str, dict[str, Any]]:
    """All pages that a report can have, as ``data/pages.yaml`` declares them."""
    return yaml.safe_load((FOLDER / "pages.yaml").read_text(encoding="utf-8"))
