"""Files that the report is made from, and the pages that it has, by the complete configuration of an experiment.

All paths are relative to the folder that Snakemake runs in.
"""

from collections.abc import Iterable, Mapping
from itertools import chain, product
from typing import Any

from neural_smt.experiment.layout import Layout
from neural_smt.experiment.networks import KINDS
from neural_smt.experiment.systems import drawn_pairs
from neural_smt.io.files import read_yaml
from neural_smt.report.papers import FOLDER, load_paper

EVERY_PAGE: dict[str, dict[str, Any]] = read_yaml(FOLDER / "pages.yaml")
"""All pages that a report can have: name -> what ``data/pages.yaml`` declares of it."""

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


class ReportFiles(Layout):
    """Files of an experiment's results, given its complete configuration, by the arguments of the report's steps."""

    def __init__(self, config: Mapping[str, Any]):
        super().__init__(config)
        self.labels = {name: system.get("label", name) for name, system in self.systems.items()}
        self.joint_systems, self.attention_systems = (
            [name for name in load_paper(paper).systems if name in self.systems]
            for paper in ("auli2013.yaml", "mi2016.yaml")
        )

    @property
    def ours(self) -> list[str]:
        """The systems that no table of the papers has a row for; nothing where none has rows for two of them."""
        papers = {*self.paper_rows().values(), *self.joint_systems, *self.attention_systems}
        papers -= {*load_paper("auli2013.yaml").facts["controls"]}
        return [name for name in self.systems if name not in papers] if len(papers) > 1 else []

    @property
    def oracles(self) -> list[str]:
        """The systems whose network reads the references."""
        read = {name: map(self.read_language, self.rescoring_networks(name)) for name in self.systems}
        return [name for name, languages in read.items() if self.target in languages]

    def results(self, pattern: str, **values: Iterable[Any]) -> list[str]:
        """Paths of results: every combination of the values."""
        return every(f"{self.folder}/{pattern}", **values)

    def of_runs(self, stage: str, system: str, name: str) -> list[str]:
        """A file of each run of a system."""
        return self.results(f"{stage}/{system}/run{{run}}/{name}", run=self.runs(system))

    def of_sets(self, pattern: str) -> dict[str, str]:
        """Set -> file."""
        return {name: f"{self.folder}/{pattern.format(set=name)}" for name in self.sets}

    def measured(self, stage: str, systems: Iterable[str]) -> dict[str, dict[str, list[str]]]:
        """What a stage measured of translations: system -> set -> one file per run."""
        return {system: {name: self.of_runs(stage, system, f"{name}.json") for name in self.sets} for system in systems}

    def scores(self, systems: Iterable[str] | None = None) -> dict[str, dict[str, list[str]]]:
        """Evaluation files: system -> set -> one per run; of all systems if none are given."""
        return self.measured("evaluation", self.systems if systems is None else systems)

    def translations(self, systems: Iterable[str], name: str) -> dict[str, list[list[str]]]:
        """Detokenised translations of what systems are compared on: system -> for each run a file of each text."""
        pattern, texts = "evaluation/{system}/run{run}/{text}.txt", self.compared[name]
        return {
            system: [self.results(pattern, system=[system], run=[run], text=texts) for run in self.runs(system)]
            for system in systems
        }

    def first_translations(self, name: str) -> dict[str, str]:
        """Detokenised translations of a set by the first run: system -> file."""
        return {system: runs[0][0] for system, runs in self.translations(self.systems, name).items()}

    def significance(self) -> dict[str, str]:
        """Comparisons with controls: what systems are compared on -> file."""
        return {name: f"{self.folder}/evaluation/significance/{name}.json" for name in self.compared}

    def histories(self) -> dict[str, list[str]]:
        """Tuning histories: system -> one per run."""
        return {system: self.of_runs("tuning", system, "history.csv") for system in self.tuned}

    def trained(self, network: str) -> dict[str, Any]:
        """The model and the learning curve of a network, and what is told of its held-out perplexity."""
        folder = f"{self.folder}/training/{network}"
        return {"model": self.network(network), "curve": f"{folder}/curve.csv", "held_out": f"{folder}/held_out.json"}

    def network_files(self) -> dict[str, dict[str, Any]]:
        """What the table of networks is made from: network -> its files, and which weights it kept."""
        found: dict[str, dict[str, Any]] = {}
        for kind in sorted(KINDS, key=lambda kind: kind == "cslm"):
            for name in self.used_networks(kind):
                found[name] = self.trained(name)
                if kind == "encoder_decoder":
                    found[name]["rescoring"] = f"{self.folder}/rescoring/extracted/{name}.json"
                if kind == "cslm":
                    searched = [system for system in self.searched if self.searched_network(system) == name]
                    pattern = "decoding/{system}/run1/{set}.json"
                    found[name]["searches"] = self.results(pattern, system=searched, set=self.sets)
        return found

    def data_files(self) -> dict[str, dict[str, str]]:
        """What the table of data is made from: the baseline and systems of other data -> their data and its files."""
        shown = [name for name in self.systems if self.data(name) != "selected"]
        baseline, found = self.config["evaluation"]["baseline"], {}
        for name in dict.fromkeys([baseline, *shown]):
            folder = self.data_folder(name)
            found[name] = {
                "data": self.data(name),
                "text": f"{folder}/selection/train.{self.target}",
                "perplexity": f"{folder}/language_model/perplexity.json",
                "phrase_table": f"{folder}/phrases/table",
            }
        return found

    def training_files(self) -> dict[str, dict[str, Any]]:
        """What the curve of training is made from: the baseline, without anything, and systems -> the network of each
        and its files.
        """
        found = {}
        for name in self.config["report"]["training_curve"]:
            (network,) = self.networks_of(name)
            trained = self.trained(network)
            found[name] = {"network": network, "curve": trained["curve"], "held_out": trained["held_out"]}
        return {self.config["evaluation"]["baseline"]: {}} | found if found else {}

    @property
    def target_only(self) -> str | None:
        """The system that joint models are tested against."""
        return next((name for name in ("target_only", "recurrent") if name in self.joint_systems), None)

    def joint(self) -> dict[str, Any]:
        """What the tables of joint models are made from."""
        chosen = [name for name in self.joint_systems if self.rescores_lattices(name)]
        networks = {name: network for name in chosen for network in self.rescoring_networks(name)}
        base = sorted({self.systems[name]["base"] for name in chosen})[:1]
        perplexity = f"{self.folder}/training/{{}}/perplexity.json"
        return {
            "scores": self.scores([name for name in self.systems if name in self.joint_systems]),
            "significance": self.significance(),
            "target_only": f"{self.folder}/evaluation/joint/{[*self.compared][-1]}.json" if self.target_only else None,
            "perplexities": {name: perplexity.format(network) for name, network in networks.items()},
            "choices": self.measured("decoding", chosen),
            "searches": {
                name: [file for system in base for file in self.of_runs("decoding", system, f"{name}.lattices.json")]
                for name in self.sets
            },
            "oracles": self.of_sets(f"decoding/{base[0]}/run1/{{set}}.oracles.csv") if base else {},
            "languages": [self.source, self.target],
        }

    def classes(self) -> dict[str, dict[str, Any]]:
        """What the table of word classes is made from: model -> its settings of classes, and its files."""
        names = {"curve": "curve.csv", "held_out": "held_out.json", "perplexity": "perplexity.json"}
        return {
            network: {"classes": self.networks[network]["classes"]}
            | {key: f"{self.folder}/training/{network}/{name}" for key, name in names.items()}
            for network in self.config["report"]["word_classes"]
        }

    def attention(self) -> dict[str, Any]:
        """What the tables of attention networks are made from."""
        used = self.used_networks("attention")
        curves = [name for name in used if self.networks[name]["learning_curve"]]
        return {
            "systems": {name: self._attention_row(name) for name in self.attention_systems},
            "scores": self.scores([name for name in self.systems if name in self.attention_systems]),
            "significance": self.significance(),
            "translations": self.measured(
                "decoding", [name for name in self.attention_systems if name in self.translated]
            ),
            "curves": {name: self.trained(name) for name in used},
            "epochs": {name: f"{self.folder}/training/{name}/epochs.csv" for name in curves},
            "coverage": f"{self.folder}/vocabulary_selection/coverage.csv",
        }

    def _attention_row(self, name: str) -> dict[str, Any]:
        """How a system is made: its label, and of an attention network what it translates with."""
        row, chosen = {"label": self.labels[name]}, self.systems[name].get("translate")
        if not chosen:
            return row
        vocabulary = self.translating_words(name)
        return row | {
            "network": chosen["network"],
            "vocabulary": vocabulary,
            "replace_unknown": chosen["replace_unknown"],
            "frequent": self.sentence_vocabularies.get(vocabulary, {}).get("frequent"),
        }

    def _in_shards(self, jobs: Iterable[str]) -> list[str]:
        """The jobs of the shards that share some work, or the one that does all."""
        count = self.config["shards"]
        return (
            list(jobs) if count == 1 else [f"{job}.{shard}-of-{count}" for job in jobs for shard in range(1, count + 1)]
        )

    def _data_jobs(self, data: str) -> list[str]:
        """Jobs that build what is made from the training text of some data alone."""
        rules = ("extract_phrases", "consolidate_phrases", "count_targets", "score_phrases")
        return [
            *every("alignment/align.{direction}", direction=("forward", "backward")),
            *("alignment/symmetrise", "alignment/build_lexical_tables", "phrases/build_phrase_table"),
            *(self._in_shards(every("phrases/{rule}", rule=rules)) if self.config["shards"] > 1 else []),
            *every("language_model/build_language_model.{model}", model=self.used_ngram_models(data)),
        ]

    def scaling(self) -> dict[int, list[str]]:
        """Number of pairs drawn -> benchmarks of its first system, from taking the pairs to translating the sets."""
        found: dict[int, list[str]] = {}
        for system in self.searched:
            data = self.data(system)
            pairs = drawn_pairs(data)
            if pairs is not None:
                jobs = ["selection/take_pairs", *self._data_jobs(data)]
                names = every("data/{data}/benchmarks/{job}", data=[data], job=jobs)
                names += [f"benchmarks/tuning/tune/{system}.run1"]
                names += self._in_shards(every(f"benchmarks/decoding/decode/{system}.run1.{{set}}", set=self.sets))
                found.setdefault(pairs, self.results("{name}.tsv", name=names))
        return found

    def benchmarks(self) -> list[str]:
        """Snakemake's time and memory of the jobs that cost most; one stage per folder."""
        config, data = self.config, self._data_jobs("selected")
        scores_pool = config["shards"] > 1 and config["selection"]["method"] != "none"
        joint = [name for name in self.joint_inputs if name in self.used_networks("recurrent")]
        texts = every("corpus/tokenise/{name}.{side}", name=config["corpus"]["train"], side=(self.source, self.target))
        rescoring = every("{network}.extracted", network=self.used_networks("encoder_decoder"))
        jobs = [
            *self._in_shards(texts),
            *(self._in_shards(["selection/score_pool/train"]) if scores_pool else []),
            *("selection/select_pairs", *data),
            *every("training/train_network.{network}", network=self.used_networks()),
            *every("representations/build_representation.{network}", network=joint),
            *self._in_shards(every("rescoring/score_phrase_table.{table}", table=rescoring)),
        ]
        for system in self.systems:
            names = every("{system}.run{run}", system=[system], run=self.runs(system))
            decode = every("decoding/decode/{name}.{set}", name=names, set=self.sets)
            if system in self.tuned:
                jobs += every("tuning/tune/{name}", name=names)
            jobs += decode if self.is_rescored(system) else self._in_shards(decode)
            jobs += self._candidate_jobs(system)
        found = self.results("benchmarks/{job}.tsv", job=dict.fromkeys(jobs))
        for variant in self.variants:
            found += self.results(f"data/{variant}/benchmarks/{{job}}.tsv", job=self._data_jobs(variant))
        return found

    def _candidate_jobs(self, system: str) -> list[str]:
        """Jobs that find what a system that is rescored chooses among, and score lists; none for others."""
        candidates = self.rescored_candidates(system)
        if candidates is None:
            return []
        base, pattern = self.systems[system]["base"], "decoding/{rule}/{name}.run{run}.{set}"
        searches: dict[str, Any] = {"name": [base], "run": self.runs(base), "set": self.sets}
        if candidates == "lists":
            found = every(pattern, rule=["decode_lists"], **searches)
            found += every(pattern, rule=["score_lists"], name=[system], run=self.runs(system), set=self.sets)
            return self._in_shards(found)
        density = "lattices" if candidates == "lattice" else "dense"
        return every(f"{pattern}.{density}", rule=["decode_lattices"], **searches)

    def heading(self, page: str) -> str:
        """What stands above the main table or figure of a page."""
        return EVERY_PAGE[page]["heading"].format(experiment=self.config["experiment"])

    def explanations(self, systems: Iterable[str], name: str) -> dict[str, str]:
        """How systems made translations of sentences of a set: label -> file."""
        return {self.labels[system]: f"{self.folder}/report/sentences/{name}.{system}.json" for system in systems}

    @property
    def explained(self) -> list[str]:
        """The systems that tell how they translate: no oracles, which read references."""
        oracles = self.oracles
        return [name for name in self.systems if name not in oracles][:EXPLAINED]

    def drawn(self, systems: Iterable[str]) -> dict[str, str]:
        """The same of the first of these systems, of the set that a sentence is drawn from: the first test set."""
        return self.explanations(list(systems)[:DRAWN], self.sets[1])

    def aligned_text(self, side: str) -> list[str]:
        """The text whose alignments are drawn: that whose right alignments are known, else the training text."""
        return [self.text(name, side) for name in self.config["corpus"]["gold"] or ["train"]]

    def pages(self) -> dict[str, dict[str, Any]]:
        """The pages of figures and tables that the experiment has: name -> ``part``, ``title``, ``about``, ``figures``
        and ``tables``.
        """
        corpus = self.config["corpus"]
        has = {
            "variants": self.variants,
            "training": self.training_files(),
            "table1": {"baseline", "rnn"} <= set(self.paper_rows()),
            "encoder_decoder": self.used_networks("encoder_decoder"),
            "lattices": any(map(self.rescores_lattices, self.systems)),
            "classes": self.config["report"]["word_classes"],
            "attention": self.translated,
            "mi2016": {*self.translated} & {*self.attention_systems},
            "monolingual": corpus["monolingual"],
            "gold": corpus["gold"],
            "tuned": self.tuned,
            "scaling": len(self.scaling()) > 1,
        }
        roles = ["train", *(role for role in ("in_domain", "monolingual") if corpus[role])]
        pages = {}
        for name, page in EVERY_PAGE.items():
            if not {"figures", "tables"} & page.keys() or ("needs" in page and not has[page["needs"]]):
                continue
            for network in self.used_networks() if name == "curve" else [""]:
                shown = {"title": page["title"].format(network=network)}
                if network:
                    about = page["about"].format(title=self.kind(network).title)
                    shown["about"] = page["kinds"].get(self.kind_of(network), about)
                for key in ("figures", "tables"):
                    paths = [every(pattern, network=[network], role=roles) for pattern in page.get(key, [])]
                    shown[key] = list(dict.fromkeys(chain.from_iterable(paths)))
                pages[f"{name}_{network}" if network else name] = page | shown
        return {name: page | {"part": self.part(page["part"], pages)} for name, page in pages.items()}

    def part(self, part: str, pages: Mapping[str, Mapping[str, Any]] | None = None) -> str:
        """A part of the report, numbered among those that have ``pages`` (by default all of this report)."""
        shown = self.pages() if pages is None else pages
        # sentences are always shown
        names = {"translations"} | (shown.keys() & EVERY_PAGE.keys())
        parts = sorted({EVERY_PAGE[name]["part"] for name in names} | {part})
        return f"{parts.index(part) + 1} {part.partition(' ')[2]}"
