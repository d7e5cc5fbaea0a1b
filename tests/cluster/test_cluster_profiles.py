"""What the profiles of clusters name exists: Snakemake passes over names of rules that it does not know."""

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from checkouts import plan
from slurm_daemons import CONFIGURATION

PROFILES = ["slurm", "cluster-generic"]


def read_profile(repository: Path, name: str) -> dict:
    return yaml.safe_load((repository / "profiles" / name / "profile.yaml").read_text(encoding="utf-8"))


def rule_names(repository: Path) -> set[str]:
    text = "".join(path.read_text(encoding="utf-8") for path in (repository / "rules").rglob("*.smk"))
    return set(re.findall(r"^ *(?:use )?rule (?:\w+ as )?(\w+)", text, flags=re.MULTILINE))


@pytest.mark.parametrize("profile", PROFILES)
def test_rules_of_profiles_exist(repository: Path, profile: str) -> None:
    content = read_profile(repository, profile)
    named = {name for key in ("set-threads", "set-resources", "groups") for name in content.get(key, {})}
    assert {"decode", "tune"} <= named
    assert named <= rule_names(repository)


def test_commented_rules_exist_too(repository: Path) -> None:
    text = (repository / "profiles" / "slurm" / "profile.yaml").read_text(encoding="utf-8")
    examples = re.findall(r"^#   (\w+): \{", text, flags=re.MULTILINE)
    assert examples == ["train_network"]
    assert set(examples) <= rule_names(repository)


def test_profiles_agree(repository: Path) -> None:
    slurm, generic = (read_profile(repository, name) for name in PROFILES)
    for key in ("set-threads", "retries", "latency-wait", "rerun-triggers", "rerun-incomplete", "jobs", "local-cores"):
        assert slurm[key] == generic[key], key


def test_rules_that_name_no_resources_have_the_same_everywhere(repository: Path) -> None:
    """The plan takes them from the default profile, clusters each from its own."""
    named = [read_profile(repository, name)["default-resources"] for name in ("default", *PROFILES)]
    assert len({(one["mem_mb"], one["runtime"]) for one in named}) == 1


def test_partitions_are_those_of_the_cluster_that_is_tested(repository: Path) -> None:
    content = yaml.safe_load((repository / "profiles" / "slurm" / "partitions.yaml").read_text(encoding="utf-8"))
    assert set(content["partitions"]) == set(re.findall(r"^PartitionName=(\w+)", CONFIGURATION, flags=re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize(("experiment", "most"), [("wmt14", 338), ("wmt12", 1400), ("multi30k", 400)])
def test_short_jobs_are_submitted_together(repository: Path, experiment: str, most: int) -> None:
    """There are no more submissions than so many, and of jobs of one rule in a group one runs at a time."""
    configured = ["--workflow-profile", "profiles/slurm", "--configfile", f"experiments/{experiment}.yaml"]
    status, printed = plan(repository, *configured)
    assert status == 0, printed[-4000:]
    local = {name for name, (_, is_local) in read_rules(repository).items() if is_local}
    alone = [name for name in re.findall(r"^rule (\w+):$", printed, flags=re.MULTILINE) if name not in local]
    # the jobs of a group are indented below it
    groups = re.findall(r"Group job \w+ .*\n((?:\n| .*\n|\[.*\] *\n(?= ))*)", printed)
    together = [re.findall(r"^ +rule (\w+):\n((?: {8}.*\n)*)", group, flags=re.MULTILINE) for group in groups]
    assert len(alone) + len(together) <= most
    for jobs in together:
        count = Counter(rule for rule, _ in jobs)
        assert [rule for rule, told in jobs if count[rule] > 1 and "turn=1" not in told] == []


def read_rules(repository: Path) -> dict[str, tuple[str | None, bool]]:
    """Of every rule the one it is made of, and whether it says that it is local."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (repository / "rules").rglob("*.smk"))
    rules = {}
    for block in re.split(r"^ *(?=(?:use )?rule )", text, flags=re.MULTILINE):
        if found := re.match(r"(?:use rule (\w+) as|rule) (\w+)", block):
            rules[found[2]] = found[1], "localrule: True" in block
    return rules


def test_what_a_local_rule_lends_is_local(repository: Path) -> None:
    """Rules made of a local one say so again: Snakemake does not take it over, and clusters would download."""
    rules = read_rules(repository)
    assert rules["fetch_archive"] == ("fetch", True)
    assert [name for name, (lent, local) in rules.items() if lent and rules[lent][1] != local] == []
