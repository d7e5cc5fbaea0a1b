"""A tiny model as the files of Moses, written by hand."""

import math
from pathlib import Path

PHRASE_TABLE = """\
a ||| x ||| 0.5 0.4 0.5 0.5 ||| 0-0 ||| 2 2 1 ||| |||
a ||| y ||| 0.5 0.2 0.5 0.25 ||| 0-0 ||| 2 2 1 ||| |||
a b ||| y x ||| 1 0.1 0.5 0.125 ||| 0-1 1-0 ||| 1 2 1 ||| |||
b ||| z ||| 0.25 0.5 1 1 ||| 0-0 ||| 4 1 1 ||| |||
"""

REORDERING_TABLE = """\
a ||| x ||| 0.6 0.2 0.2 0.6 0.2 0.2
a ||| y ||| 0.2 0.2 0.6 0.2 0.6 0.2
a b ||| y x ||| 0.4 0.4 0.2 0.5 0.25 0.25
b ||| z ||| 0.6 0.3 0.1 0.3 0.3 0.4
"""

ARPA = """\
\\data\\
ngram 1=6
ngram 2=3

\\1-grams:
-1.5\t<unk>
-99\t<s>\t-0.3
-1\t</s>
-0.7\tx\t-0.2
-0.8\ty\t-0.25
-0.9\tz\t-0.1

\\2-grams:
-0.4\t<s> x
-0.5\tx z
-0.3\tz </s>

\\end\\
"""

FEATURES = """\
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path=phrase-table input-factor=0 output-factor=0
LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff path=reordering-table
Distortion
KENLM name=LM0 factor=0 path=lm.arpa order=2
"""

WEIGHTS = """\
UnknownWordPenalty0= 1
WordPenalty0= -0.5
PhrasePenalty0= 0.2
TranslationModel0= 0.1 0.2 0.3 0.4
LexicalReordering0= 0.3 0.3 0.3 0.3 0.3 0.3
Distortion0= 0.3
LM0= 0.5
"""


def write_model(
    folder: Path, features: str = FEATURES, weights: str = WEIGHTS, sections: str = "[distortion-limit]\n6\n"
) -> Path:
    """Write the model into a folder; returns its ``moses.ini``."""
    folder.mkdir(exist_ok=True)
    (folder / "phrase-table").write_text(PHRASE_TABLE)
    (folder / "reordering-table").write_text(REORDERING_TABLE)
    (folder / "lm.arpa").write_text(ARPA)
    ini = folder / "moses.ini"
    ini.write_text(
        f"[input-factors]\n0\n[mapping]\n0 T 0\n{sections}\n[feature]  # comment\n{features}\n[weight]\n{weights}"
    )
    return ini


def score_of_x_z() -> float:
    """The total of ``a b`` -> ``x z`` by two phrases, computed by hand with ``WEIGHTS``."""
    translation = 0.1 * math.log(0.5 * 0.25) + 0.2 * math.log(0.4 * 0.5) + 0.3 * math.log(0.5) + 0.4 * math.log(0.5)
    reordering = 0.3 * math.log(0.6 * 0.6 * 0.6)
    language = 0.5 * math.log(10) * (-0.4 - 0.5 - 0.3)
    return translation + reordering + language - 0.5 * -2 + 0.2 * 2
