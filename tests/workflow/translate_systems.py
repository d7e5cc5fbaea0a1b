"""Run in a checkout: translate a text with systems of an experiment, and compare with what its rules wrote.

Arguments: text, pattern of the files with a place for the system, configuration files, ``--``, systems.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from neural_smt.experiment.system_folder import System, pack_system
from neural_smt.io.files import read_lines
from neural_smt.translation.experiment import Experiment
from neural_smt.translation.text import TextTranslator
from neural_smt.translation.translators import load_translator


def main(text: str, pattern: str, *names: str) -> None:
    """Print each system, how many lines differ, and whether lists are as asked for and the packed system agrees."""
    first, *further = names[: names.index("--")]
    experiment = Experiment.load(first, [Path(file) for file in further])
    lines = read_lines(Path(text))
    for system in names[names.index("--") + 1 :]:
        opened = experiment.open(system)
        translator = load_translator(opened)
        found = TextTranslator(translator, "en", "fr").translate(lines)
        written = read_lines(Path(pattern.format(system)))
        different = sum(sentence.best.text != line for sentence, line in zip(found, written, strict=True))
        listed = TextTranslator(translator, "en", "fr").translate(lines[:3], nbest=4, explained=True)
        scores = [[candidate.score for candidate in sentence.candidates] for sentence in listed]
        good = all(row == sorted(row, reverse=True) for row in scores) and any(len(row) == 4 for row in scores)
        same = all(one.best.text == other.best.text for one, other in zip(listed, found, strict=False))
        with TemporaryDirectory() as folder:
            pack_system(opened, Path(folder, "packed"))
            elsewhere = load_translator(System.load(Path(folder, "packed").rename(Path(folder, "moved"))))
            packed = TextTranslator(elsewhere, "en", "fr").translate(lines)
        same = same and [sentence.best.text for sentence in packed] == [sentence.best.text for sentence in found]
        print(system, different, good and same)


if __name__ == "__main__":
    main(*sys.argv[1:])
