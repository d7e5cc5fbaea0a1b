"""BLEU of translations: detokenised text, sacreBLEU's own figures, BLEU on tokens."""

from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from refusals import check_refused
from sacremoses import MosesTokenizer

from neural_smt.evaluation.steps import detokenise_lines, evaluate
from neural_smt.io.files import read_json, read_lines, read_yaml, write_lines


@pytest.mark.parametrize(("language", "tokens", "expected"), read_yaml(Path(__file__).with_name("detokenised.yaml")))
def test_text_as_a_reader_sees_it(language: str, tokens: str, expected: str) -> None:
    text = detokenise_lines([tokens], language)[0]
    assert text.replace("< b >", "<b>") == expected


def scores_of(folder: Path, hypothesis: list[str], tokens: list[str], text: list[str]) -> dict[str, Any]:
    """What the step that evaluates writes, and the text that it compares."""
    for name, lines in (("hypothesis", hypothesis), ("tokens", tokens), ("text.gz", text)):
        write_lines(folder / name, lines)
    files = {"hypothesis": "hypothesis", "reference_tokens": "tokens", "reference_text": "text.gz"}
    files |= {"output": "scores.json", "translation": "translation"}
    evaluate(**{name: folder / file for name, file in files.items()}, language="fr")
    return read_json(folder / "scores.json")


def test_scores_are_those_of_sacrebleu(tmp_path: Path) -> None:
    hypothesis = ["le chat est sur le tapis .", "un homme n&apos; est pas là , dit @-@ il .", "oui"]
    reference = ["Le chat est sur le tapis.", "Un homme n'est pas ici, dit-il.", "oui oui"]
    tokens = [MosesTokenizer("fr").tokenize(line, return_str=True) for line in reference]
    scores = scores_of(tmp_path, hypothesis, tokens, reference)
    text = read_lines(tmp_path / "translation")
    assert text == detokenise_lines(hypothesis, "fr")
    assert scores.pop("signature").startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    plain = sacrebleu.corpus_bleu(hypothesis, [tokens], tokenize="none", force=True, smooth_method="none")
    expected = {
        "sacrebleu": sacrebleu.corpus_bleu(text, [reference]).score,
        "tokenised_bleu": plain.score,
        "brevity_penalty": plain.bp,
        "length_ratio": plain.sys_len / plain.ref_len,
        "sentences": 3,
        "hypothesis_words": plain.sys_len,
        "reference_words": plain.ref_len,
    }
    assert scores == pytest.approx(expected, abs=1e-9)


def test_real_translations_score_as_sacrebleu_says(shared: Path, tmp_path: Path) -> None:
    folder = shared / "oracle" / "decoding"
    # Each line starts with its number, and unknown words are marked.
    hypothesis = [line.replace("|UNK", "").partition(" ")[2].strip() for line in read_lines(folder / "stack200.best")]
    tokens = read_lines(folder / "reference.fr")
    scores = scores_of(tmp_path, hypothesis, tokens, detokenise_lines(tokens, "fr"))
    plain = sacrebleu.corpus_bleu(hypothesis, [tokens], tokenize="none", force=True, smooth_method="none")
    assert scores["tokenised_bleu"] == pytest.approx(plain.score, abs=1e-6)
    assert scores["sacrebleu"] == pytest.approx(scores["tokenised_bleu"], abs=1.5)


def test_texts_of_other_lengths_are_refused(tmp_path: Path) -> None:
    check_refused(["2 lines", "1"], scores_of, tmp_path, ["l&apos; eau", "oui"], ["l&apos; eau", "oui"], ["oui"])
    assert not (tmp_path / "scores.json").exists()
