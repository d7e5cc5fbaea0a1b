"""The files that the features of a ``moses.ini`` name."""

from pathlib import Path

from neural_smt.decoding.moses.sections import FeatureLine


def find_file(feature: FeatureLine) -> Path:
    """The file that a feature names.

    As for Moses, a relative path starts at the working directory, and ``.gz`` is added where the plain file is
    missing. What is not there is looked for beside the ini.
    """
    given = feature.arguments.get("path")
    if given is None:
        raise feature.fail(f"{feature.kind} has no path=; add it")
    found = []
    for folder in (Path(), feature.line.path.parent):
        plain = folder / given
        existing = next((path for path in (plain, plain.with_name(plain.name + ".gz")) if path.is_file()), None)
        if existing is not None:
            found.append(existing)
    if not found:
        raise feature.fail(f"there is no file {given} (nor {given}.gz); correct the path")
    if len(found) == 2 and not found[0].samefile(found[1]):
        raise feature.fail(f"{given} is both {found[0].resolve()} and {found[1]}; give an absolute path")
    return found[-1]


def find_language_model(feature: FeatureLine) -> Path:
    """The ARPA file of a language model; ``UserError`` for a binary of KenLM."""
    path = find_file(feature)
    with open(path, "rb") as stream:
        if stream.read(8) == b"mmap lm ":
            raise feature.fail(f"{path} is a binary of KenLM; give the ARPA file it was made from")
    return path
