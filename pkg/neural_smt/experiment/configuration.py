"""An experiment's configuration: defaults filled in, checked against the schema."""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from neural_smt.corpus.languages import check_language
from neural_smt.corpus.sources import collect_archives, expand_test_set
from neural_smt.errors import UserError
from neural_smt.experiment.checks import check_experiment
from neural_smt.experiment.networks import inherit_networks, networks_schema
from neural_smt.experiment.settings import check_section, fill_defaults, load_schema, read_texts
from neural_smt.experiment.systems import Systems
from neural_smt.io.files import digest_json, read_yaml

MOVED: dict[str, str] = read_yaml(Path(__file__).with_name("moved.yaml"))
"""Settings that had another place or name once, and what to do about them."""


def read_configuration_file(path: Path) -> dict[str, Any]:
    """The settings of a file of YAML or JSON; ``UserError`` names file and line of what is none."""
    if not Path(path).exists():
        raise UserError(f"{path}: no such file; name a configuration file of Snakemake")
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise UserError(f"{path}: not a configuration file; it must hold keys and values")
    return content


def read_configuration(paths: Iterable[Path], changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings of such files, each put over those before, and ``changes`` over all, section by section as Snakemake
    does it.

    ``UserError`` where two of the files have all that an experiment needs.
    """
    merged: dict[str, Any] = {}
    files = {Path(path): read_configuration_file(path) for path in paths}
    whole = [str(path) for path, one in files.items() if one.keys() >= set(load_schema()["required"])]
    if len(whole) > 1:
        raise UserError(f"{' and '.join(whole)}: each is a whole experiment; give one, then files that change settings")
    for settings in (*files.values(), changes or {}):
        _update(merged, settings)
    return merged


def _update(settings: dict[str, Any], others: Mapping[str, Any]) -> None:
    for key, value in others.items():
        if isinstance(value, Mapping) and isinstance(settings.get(key), dict):
            _update(settings[key], value)
        else:
            settings[key] = deepcopy(value)


def complete(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of ``config`` with every default of the schema filled in, checked.

    Raises ``UserError`` with one sentence for the first fault: an unknown key (with the nearest known one), a wrong
    type, a value out of range, or a name that is used but not defined.
    """
    if not isinstance(config, Mapping):
        raise UserError("configuration: expected keys and values; give the experiment's settings")
    _check_keys(config, "")
    completed = deepcopy(dict(config))
    for path, advice in MOVED.items():
        _refuse_moved(completed, path.split("."), advice)
    inherit_networks(completed)
    schema = networks_schema(completed["networks"], load_schema())
    fill_defaults(completed, schema, schema)
    read_texts(completed, schema)
    check_section(completed, schema)
    _expand_test_sets(completed)
    _check_languages(completed)
    _check_names(completed)
    collect_archives(completed["corpus"]["sources"])
    return completed


def _check_keys(section: Any, where: str) -> None:
    """Raise ``UserError`` for a name that YAML reads as something else than a text."""
    items = section.items() if isinstance(section, Mapping) else enumerate(section) if isinstance(section, list) else ()
    for key, value in items:
        if isinstance(section, Mapping) and not isinstance(key, str):
            raise UserError(f"{where or 'configuration'}: the key {key} must be a string; put it in quotes")
        _check_keys(value, f"{where}.{key}".lstrip("."))


def _refuse_moved(section: Any, path: list[str], advice: str, where: str = "") -> None:
    """Raise ``UserError`` for a setting of ``MOVED``."""
    first, *rest = path
    for key, value in section.items() if isinstance(section, Mapping) else ():
        if first in ("*", key):
            here = f"{where}.{key}".lstrip(".")
            if not rest:
                raise UserError(f"{here}: there is no such setting any more; {advice}")
            _refuse_moved(value, rest, advice, here)


def _named_sources(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    corpus = config["corpus"]
    for role in ("train", "in_domain", "monolingual", "test", "gold"):
        for position, name in enumerate(corpus[role]):
            yield f"corpus.{role}.{position}", name
    yield "corpus.dev", corpus["dev"]
    for position, name in enumerate(config["selection"].get("compare_with", ())):
        yield f"selection.compare_with.{position}", name


def _expand_test_sets(config: Mapping[str, Any]) -> None:
    """Put declarations of both sides in the place of a test set's name."""
    languages = config["languages"]
    for name, source in config["corpus"]["sources"].items():
        if "test_set" not in source:
            continue
        where = f"corpus.sources.{name}"
        if further := sorted(source.keys() - {"test_set", "tokenised", "size", "licence"}):
            raise UserError(f"{where}: a test_set has both its sides already; leave out {', '.join(further)}")
        try:
            sides = expand_test_set(source.pop("test_set"), languages["source"], languages["target"])
        except UserError as error:
            raise UserError(f"{where}.test_set: {error}") from None
        source.update(sides)


def _check_join(where: str, source: Mapping[str, Any], sources: Mapping[str, Any], sides: list[str]) -> None:
    if further := sorted(source.keys() - {"join", "tokenised", "size", "licence"}):
        raise UserError(f"{where}: a join has the sides of what is joined; leave out {', '.join(further)}")
    for position, part in enumerate(source["join"]):
        joined = sources.get(part, {})
        if "join" in joined or not ("part" in joined or joined.keys() >= set(sides)):
            raise UserError(
                f"{where}.join.{position}: '{part}' is no source with {' and '.join(sides)} of its own; define them"
            )
        if joined["tokenised"] != source["tokenised"]:
            raise UserError(f"{where}.join.{position}: '{part}' is not tokenised as the join is; set tokenised alike")


def _check_languages(config: Mapping[str, Any]) -> None:
    sources, languages = config["corpus"]["sources"], config["languages"]
    if languages["source"] == languages["target"]:
        raise UserError(f"languages: source and target are both '{languages['source']}'; name two languages")
    if any("part" in source for source in sources.values()) and languages != {"source": "en", "target": "fr"}:
        raise UserError("corpus.sources: the generator writes English-French; set languages: {source: en, target: fr}")
    for name, source in sources.items():
        if (first := source.get("links_from", languages["source"])) not in languages.values():
            known = " or ".join(map(repr, languages.values()))
            raise UserError(f"corpus.sources.{name}.links_from: no text is in '{first}'; name {known}")
    if not all(source["tokenised"] for source in sources.values()):
        for side, language in languages.items():
            check_language(language, f"languages.{side}")


def _check_held_out(config: Mapping[str, Any]) -> None:
    """Raise ``UserError`` where a set that scores or tuning are of is also what systems learn from, or where one that
    scores are of is what they are tuned on, or what text is selected by.
    """
    corpus, languages = config["corpus"], config["languages"].values()

    def parts(name: str) -> dict[str, str]:
        """The sources that a set is made of, by where each of their sides comes from."""
        sources = corpus["sources"]
        sides = [(part, side) for part in sources[name].get("join", [name]) for side in sources[part].items()]
        return {digest_json(side): part for part, side in sides if side[0] in ("part", *languages)}

    roles = ("train", "in_domain", "monolingual")
    used = {part: f"corpus.{role}" for role in roles for name in corpus[role] for part in parts(name)}
    sets = {f"corpus.test.{position}": name for position, name in enumerate(corpus["test"])}
    for where, name in {"corpus.dev": corpus["dev"], **sets}.items():
        for origin, part in parts(name).items():
            if origin in used:
                advice = "name text of its own, or set check: {texts: false}"
                raise UserError(f"{where}: '{part}' is in {used[origin]} too; {advice}")
        if where == "corpus.dev":
            used |= dict.fromkeys(parts(name), where)
            compared = config["selection"].get("compare_with", [])
            used |= {part: "selection.compare_with" for one in compared for part in parts(one)}


def _check_names(config: Mapping[str, Any]) -> None:
    sources, languages = config["corpus"]["sources"], config["languages"]
    for where, name in _named_sources(config):
        if name not in sources:
            raise UserError(f"{where}: there is no source '{name}'; define it under corpus.sources")
        if name == "train" and where.startswith(("corpus.dev", "corpus.test", "corpus.gold")):
            raise UserError(f"{where}: 'train' is what the training text is called; give this source another name")
        source = sources[name]
        sides = ["part"] if "part" in source else list(languages.values())
        if where.startswith("corpus.monolingual") and "part" not in source:
            sides = [languages["target"]]
        if "join" in source:
            if where.startswith("corpus.gold"):
                raise UserError(f"{where}: '{name}' joins other sources, without their alignments; name these instead")
            _check_join(f"corpus.sources.{name}", source, sources, sides)
            continue
        for side in sides:
            if side not in source:
                raise UserError(f"corpus.sources.{name}: the side '{side}' is missing; give its url or path")
        if where.startswith("corpus.gold") and "part" not in source and "alignment" not in source:
            raise UserError(f"corpus.sources.{name}: a gold set needs 'alignment'; give its url or path")
    if config["check"]["texts"]:
        _check_held_out(config)
    check_experiment(Systems(config))
    if config["evaluation"]["baseline"] not in config["systems"]:
        raise UserError(
            f"evaluation.baseline: there is no system '{config['evaluation']['baseline']}'; name one of systems"
        )
    compared = config["corpus"]["in_domain"] or config["selection"].get("compare_with")
    if config["selection"]["method"] != "none" and not compared:
        raise UserError("selection.method: selection needs in-domain text; name corpus.in_domain or set method: none")
