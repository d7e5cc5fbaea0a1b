"""What an experiment declares as text: published sources, the archives they are in, and sacreBLEU's test sets by name.

sacreBLEU would download test sets itself, but into a cache of its own, without a mirror, and it unpacks whole archives;
what it knows of them is taken from it, and they are fetched as all other text is.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from neural_smt.errors import UserError

ALIGNMENT = "alignment"
"""The side of a gold set that holds its links."""


def published_sources(config: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Every source of published text that an experiment uses, those that are joined one by one, and its sides."""
    corpus, languages = config["corpus"], [config["languages"][side] for side in ("source", "target")]
    both = [*corpus["train"], *corpus["in_domain"], *config["selection"].get("compare_with", [])]
    both += [corpus["dev"], *corpus["test"], *corpus["gold"]]
    sides = dict.fromkeys(corpus["monolingual"], languages[1:]) | dict.fromkeys(both, languages)
    sides |= {name: [*languages, ALIGNMENT] for name in corpus["gold"]}
    wanted: dict[str, list[str]] = {}
    for name, needed in sides.items():
        for part in corpus["sources"][name].get("join", [name]):
            if "part" not in corpus["sources"][part] and len(needed) > len(wanted.get(part, ())):
                wanted[part] = needed
    yield from wanted.items()


def archive_name(side: Mapping[str, Any]) -> str:
    """A relative path to keep an archive under: its URL without the scheme, or its path; safe in any file system."""
    url = urlsplit(side["url"]) if side.get("url") else None
    whole = f"{url.netloc}/{url.path}{url.query and '?'}{url.query}" if url else str(side["path"])
    parts = (re.sub(r"[^A-Za-z0-9._-]", "_", part) for part in whole.split("/"))
    return "/".join(part for part in parts if part.strip("."))


def collect_archives(sources: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Every archive that sides of ``sources`` are members of, once: its name -> its declaration.

    A checksum may stand at one side only. ``UserError`` where sides declare different things of one archive, or a
    member that leaves its folder.
    """
    archives: dict[str, dict[str, Any]] = {}
    for name, source in sources.items():
        for key, side in source.items():
            if not isinstance(side, Mapping) or "member" not in side:
                continue
            try:
                member_name(side["member"])
            except UserError as error:
                raise UserError(f"corpus.sources.{name}.{key}.member: {error}") from None
            known = archives.setdefault(archive_name(side), {})
            for what, value in side.items():
                if what not in ("member", "unescape") and known.setdefault(what, value) != value:
                    raise UserError(
                        f"corpus.sources.{name}.{key}.{what}: {value} here, but {known[what]} at another side of the "
                        "same archive; declare one of them"
                    )
    return archives


def member_name(declared: str) -> str:
    """The path of a member as it is compared with those in an archive; ``UserError`` for one that leaves its folder."""
    parts = declared.split("/")
    if not declared.strip("./") or declared.startswith("/") or ".." in parts or "\\" in declared or "\0" in declared:
        raise UserError(
            f"'{declared}' would leave the folder of its archive; name the file by its path inside the archive"
        )
    return posixpath.normpath(declared)


def expand_test_set(name: str, source: str, target: str) -> dict[str, dict[str, Any]]:
    """Declarations of both sides of a test set, language -> ``url``, ``md5``, ``member``, ``mirror_path``.

    A mirror keeps its archive as ``<name>/<file>``, as those of several years have one name. ``UserError`` when
    sacreBLEU has no such set, not in these languages, or not as members of one archive.
    """
    from sacrebleu.dataset import DATASETS  # reads much that experiments without test sets do not need

    pair = f"{source}-{target}"
    usable = {key: members for key, found in DATASETS.items() if (members := _members(found, pair))}
    if name not in usable:
        raise UserError(
            f"sacreBLEU has no test set '{name}' for {pair} in one archive; it has {', '.join(sorted(usable))}"
        )
    declared: Any = DATASETS[name]
    url = declared.data[0]
    archive = {"url": url, "mirror_path": f"{name}/{PurePosixPath(url).name}"}
    if declared.md5:
        archive["md5"] = declared.md5[0]
    return {side: archive | {"member": member} for side, member in zip((source, target), usable[name], strict=True)}


def _members(declared: Any, pair: str) -> list[str]:
    """The members of the one archive of a set, source first; none where it is published in another way."""
    members = (declared.langpairs or {}).get(pair) or []
    if len(members) != 2 or len(declared.data or []) != 1:
        return []
    in_archive = declared.data[0].endswith((".tgz", ".tar.gz", ".tar", ".zip"))
    return members if in_archive and all(member.endswith(".sgm") for member in members) else []
