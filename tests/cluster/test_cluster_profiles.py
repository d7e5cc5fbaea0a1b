"""What the profiles of clusters name exists: Snakemake passes over names of rules that it does not know."""

import re
from pathlib import Path

import pytest
import yaml
from slurm_daemons import CONFIGURATION

PROFILES = ["slurm", "cluster-generic"]


def read_profile(repository: Path, name: str) -> dict:
    return yaml.safe_load((repository / "profiles" / name / "profile.yaml").read_text(encoding="utf-8"))


def rule_names(repository: Path) -> set[str]:
    text = "".join(path.read_text(encoding="utf-8") for path in (repository / "rules").rglob("*.smk"))
    return set(re.findall(r"^(?:use )?rule (?:\w+ as )?(\w+)", text, flags=re.MULTILINE))


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


def test_no_group_holds_the_shards_of_a_set(repository: Path) -> None:
    assert set(read_profile(repository, "slurm")["groups"]) == {"join_translations", "evaluate"}


def test_what_a_local_rule_lends_is_local(repository: Path) -> None:
    """Rules made of a local one say so again: Snakemake does not take it over, and clusters would download."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (repository / "rules").rglob("*.smk"))
    rules = {}
    for block in re.split(r"^(?=(?:use )?rule )", text, flags=re.MULTILINE):
        if found := re.match(r"(?:use rule (\w+) as|rule) (\w+)", block):
            rules[found[2]] = found[1], "localrule: True" in block
    assert rules["fetch_archive"] == ("fetch", True)
    assert [name for name, (lent, local) in rules.items() if lent and rules[lent][1] != local] == []
