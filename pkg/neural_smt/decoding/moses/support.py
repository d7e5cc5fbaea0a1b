"""What of a ``moses.ini`` is supported, and the checks that refuse everything else by file and line."""

from neural_smt.decoding.features import DISTORTION, UNKNOWN_WORD
from neural_smt.decoding.moses.sections import FeatureLine, Sections

SIMPLE = {
    "UnknownWordPenalty": UNKNOWN_WORD,
    "WordPenalty": "WordPenalty0",
    "PhrasePenalty": "PhrasePenalty0",
    "Distortion": DISTORTION,
}
"""Features with one score and no file: kind in the ini -> name here."""

REORDERING_TYPES = ("wbe-msd-bidirectional-fe-allff", "wbe-msd-bidirectional-fe", "msd-bidirectional-fe")

ARGUMENTS = {
    "PhraseDictionaryMemory": {"num-features", "path", "table-limit"},
    "LexicalReordering": {"num-features", "path", "type"},
    "KENLM": {"path", "order", "lazyken", "load"},
    **{kind: {"num-features"} for kind in SIMPLE},
}
"""Arguments that are honoured, or without effect on translations (``order`` and the ways of loading, for KenLM)."""

SEARCH = {
    "stack": ("stack_size", int),
    "beam-threshold": ("beam_threshold", float),
    "distortion-limit": ("distortion_limit", int),
    "cube-pruning-pop-limit": ("pop_limit", int),
    "ttable-limit": ("table_limit", int),
}
"""Section -> search setting."""

SILENT = ("verbose", "threads")
"""Sections that do not change translations; ``threads`` is read apart."""

HARMLESS = {
    **dict.fromkeys(("input-factor", "output-factor", "factor"), ("0",)),
    "tuneable": ("true", "1"),
    "filterable": ("true", "false", "1", "0"),
}
"""Arguments of any feature -> the values that change nothing."""

REPLACEMENTS = {
    "PhraseDictionaryCompact": "give PhraseDictionaryMemory and the text table it was made from",
    "PhraseDictionaryBinary": "give PhraseDictionaryMemory and the text table it was made from",
    "PhraseDictionaryOnDisk": "give PhraseDictionaryMemory and the text table it was made from",
    "ProbingPT": "give PhraseDictionaryMemory and the text table it was made from",
    "SRILM": "write KENLM, which reads the same ARPA file",
    "IRSTLM": "write KENLM and give the model as an ARPA file",
}


def check_sections(sections: Sections) -> None:
    """``UserError`` for a section whose effect would be missing here."""
    known = {*SEARCH, *SILENT, "search-algorithm", "max-phrase-length", "input-factors", "mapping", "feature", "weight"}
    for name, lines in sections.items():
        if name not in known and lines:
            raise lines[0].fail(f"the section [{name}] is not supported; remove it")
    for name, only in (("input-factors", "0"), ("mapping", "0 T 0")):
        for line in sections.get(name, []):
            if " ".join(line.text.split()) != only:
                raise line.fail(f"[{name}] can only be '{only}', not '{line.text}'; use a model of one factor")


def check_feature(feature: FeatureLine) -> None:
    """``UserError`` for a feature, or an argument of one, that is not supported."""
    if feature.kind not in ARGUMENTS:
        advice = REPLACEMENTS.get(feature.kind, "remove it")
        raise feature.fail(f"the feature {feature.kind} is not supported; {advice}")
    for key, value in feature.arguments.items():
        if key not in ARGUMENTS[feature.kind] and value not in HARMLESS.get(key, ()):
            raise feature.fail(f"the argument {key}={value} of {feature.kind} is not supported; remove it")
    scores = feature.arguments.get("num-features")
    expected = {"LexicalReordering": "6"}.get(feature.kind, "1")
    if scores is not None and feature.kind != "PhraseDictionaryMemory" and scores != expected:
        raise feature.fail(f"num-features={scores} is not supported, {feature.kind} has {expected}; correct it")
    if feature.kind == "LexicalReordering" and feature.arguments.get("type") not in REORDERING_TYPES:
        kind = feature.arguments.get("type", "(none)")
        raise feature.fail(f"the reordering type {kind} is not supported; use a model of type {REORDERING_TYPES[0]}")
