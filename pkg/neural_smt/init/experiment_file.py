"""The experiment file: YAML as a person would write it, with what can be changed said beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from neural_smt.init.settings import BATCH, NGRAMS, Settings

SOURCES = {"train": "corpus", "dev": "dev", "test": "test"}
"""Part of the split text -> the source that it is in the experiment."""


@dataclass(frozen=True)
class TextFile:
    """One side of a part: its name inside the folder, and its SHA-256."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Content:
    """What an experiment file says. parts: of each source the two sides; pairs: how many it has."""

    name: str
    languages: tuple[str, str]
    folder: Path
    origin: tuple[Path, Path]
    parts: Mapping[str, tuple[TextFile, TextFile]]
    pairs: Mapping[str, int]
    settings: Settings
    tokenised: bool
    seed: int


def render(content: Content) -> str:
    """The text of the experiment file."""
    return "\n".join([*_head(content), *_corpus(content), *_stages(content), *_systems(content), ""])


def _quoted(value: str) -> str:
    """A string in double quotes as YAML reads it, whatever is in it."""
    inside = (f"\\{c}" if c in '"\\' else c if c.isprintable() else f"\\U{ord(c):08x}" for c in value)
    return '"' + "".join(inside) + '"'


def _shown(path: Path) -> str:
    """A path for a comment: on one line."""
    return "".join(c if c.isprintable() else "?" for c in str(path))


def _head(content: Content) -> list[str]:
    source, target = content.languages
    sizes = ", ".join(f"{content.pairs[part]:,} {SOURCES[part]}" for part in SOURCES)
    return [
        f"# {_shown(content.origin[0])} and {_shown(content.origin[1])}, {source} to {target}: {sizes} pairs.",
        "# Every setting is described in pkg/neural_smt/schema.yaml; what is not here has its default.",
        f"experiment: {_quoted(content.name)}",
        f"seed: {content.seed}",
        f"languages: {{source: {_quoted(source)}, target: {_quoted(target)}}}",
        "# where the text below lies, whatever folder Snakemake runs in; change it when you move the folder",
        f"data_mirror: {_quoted(str(content.folder))}",
        *(
            [
                "# jobs that share the work of a stage, each within its own memory",
                f"shards: {content.settings.shards}",
            ]
            if content.settings.shards > 1
            else []
        ),
        "",
    ]


def _corpus(content: Content) -> list[str]:
    lines = ["corpus:", "  sources:"]
    for part, source in SOURCES.items():
        lines.append(f"    {source}:")
        if content.tokenised:
            lines.append("      tokenised: true")
        for language, file in zip(content.languages, content.parts[part], strict=True):
            lines += [
                f"      {_quoted(language)}:",
                f"        path: {_quoted(file.name)}",
                f"        sha256: {file.sha256}",
            ]
    return [
        *lines,
        "  train: [corpus]",
        f"  # further {content.languages[1]} text for the language model: a source with that side, and",
        "  # monolingual: [its name]",
        "  dev: dev",
        "  test: [test]",
        "",
        "# one kind of text, so nothing is chosen from it; see experiments/news.yaml for a pool of several",
        "selection: {method: none}",
    ]


def _stages(content: Content) -> list[str]:
    settings = content.settings
    networks = settings.networks
    units = ", ".join(f"{name}: {value}" for name, value in networks.encoder_decoder.items())
    return [
        "# eflomal aligns better and differs a little from run to run; fast_align is quicker and repeats itself",
        f"alignment: {{aligner: {settings.aligner}}}",
        "shortlist: {size: 15000}",
        "",
        "# Small enough for two cores; the paper's sizes are 1,000 units and, for the CSLM, 512, [1536, 1024].",
        "# With a GPU (device: cuda) take more units; where held-out perplexity still falls at the end, more updates.",
        "networks:",
        "  encoder_decoder:",
        f"    {{{units}, clip: 100, batch: {BATCH},",
        f"    updates: {settings.updates}, validate_every: {max(settings.updates // 6, 100)}, "
        f"validation_pairs: {settings.validation_pairs}}}",
        "  cslm:",
        f"    {{projection: {networks.projection}, layers: {list(networks.layers)}, initial_range: 0.1,",
        f"    batch: {NGRAMS}, updates: {settings.cslm_updates}, validation: {settings.held_out}, "
        f"validate_every: {max(settings.cslm_updates // 6, 100)}, patience: 3}}",
        "  # for the row of an attention network below",
        f"  # attention: {{hidden: {networks.units}, embedding: {networks.units // 2}, attention: {networks.units}, "
        f"maxout: {networks.units // 2}, rank: {networks.units // 2},",
        f"  #   clip: 100, epochs: {networks.epochs}, average: {min(4, networks.epochs - 1)}}}",
        "",
    ]


def _systems(content: Content) -> list[str]:
    return [
        "# the rows of the table; README.md tells what else a row may be made of",
        "systems:",
        "  baseline: {label: Baseline, features: [phrase, language_model, reordering]}",
        "  rnn: {label: Baseline + RNN, base: baseline, features: [encoder_decoder]}",
        "  cslm_rnn: {label: Baseline + CSLM + RNN, base: rnn, features: [cslm]}",
        "  # translates by itself and takes hours; with it, name the target mi2016",
        "  # attention: {label: Attention network, features: [], translate: {}}",
        "",
        "# MERT is unstable: several runs, of which the table has the mean and the spread",
        f"tuning: {{runs: {content.settings.runs}, iterations: 8}}",
        "decoding:",
        "  tuning: {algorithm: cube, pop_limit: 400, stack_size: 100}",
    ]
