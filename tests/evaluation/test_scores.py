"""BLEU of translations: detokenised text, sacreBLEU's own figures, BLEU on tokens."""

from pathlib import Path

import pytest
import sacrebleu
from sacremoses import MosesTokenizer

from neural_smt.errors import UserError
from neural_smt.evaluation.steps import detokenise, detokenise_lines, evaluate, score_translation
from neural_smt.io.files import read_json, read_lines, write_lines


@pytest.mark.parametrize(
    ("language", "tokens", "expected"),
    [
        ("fr", "L&apos; homme n&apos; est pas là .", "L'homme n'est pas là."),
        ("fr", "Un &lt; b &gt; &amp; deux , trois", "Un <b> & deux, trois"),
        ("en", "It is the man &apos;s dog , isn &apos;t it ?", "It is the man's dog, isn't it?"),
        ("fr", "", ""),
        # Moses' rules write "1.234,50 €im Jahr", and "3 €(netto)"
        ("de", "Es kostet 1.234,50 € im Jahr , 3 € ( netto ) .", "Es kostet 1.234,50 € im Jahr, 3 € (netto)."),
        ("fr", "50 € par mois , soit 5 € .", "50 € par mois, soit 5 €."),
        ("en", "It costs $ 5 a month or € 6 .", "It costs $5 a month or €6."),
    ],
)
def test_text_as_a_reader_sees_it(language: str, tokens: str, expected: str) -> None:
    text = detokenise_lines([tokens], language)[0]
    assert text.replace("< b >", "<b>") == expected


def test_scores_are_those_of_sacrebleu() -> None:
    hypothesis = ["le chat est sur le tapis .", "un homme n&apos; est pas là , dit @-@ il .", "oui"]
    reference = ["Le chat est sur le tapis.", "Un homme n'est pas ici, dit-il.", "oui oui"]
    tokens = [MosesTokenizer("fr").tokenize(line, return_str=True) for line in reference]
    scores = score_translation(hypothesis, detokenise_lines(hypothesis, "fr"), tokens, reference)
    text = detokenise_lines(hypothesis, "fr")
    assert scores["sacrebleu"] == pytest.approx(sacrebleu.corpus_bleu(text, [reference]).score, abs=1e-9)
    assert scores["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    plain = sacrebleu.corpus_bleu(hypothesis, [tokens], tokenize="none", force=True, smooth_method="none")
    assert scores["tokenised_bleu"] == pytest.approx(plain.score, abs=1e-6)
    assert scores["brevity_penalty"] == pytest.approx(plain.bp, abs=1e-9)
    assert (scores["hypothesis_words"], scores["reference_words"]) == (plain.sys_len, plain.ref_len)
    assert scores["length_ratio"] == pytest.approx(plain.sys_len / plain.ref_len)
    assert scores["sentences"] == 3


def test_real_translations_score_as_sacrebleu_says(shared: Path) -> None:
    folder = shared / "oracle" / "decoding"
    # Each line starts with its number, and unknown words are marked.
    lines = [line.replace("|UNK", "").split()[1:] for line in read_lines(folder / "stack200.best")]
    hypothesis = [" ".join(line) for line in lines]
    tokens = read_lines(folder / "reference.fr")
    scores = score_translation(hypothesis, detokenise_lines(hypothesis, "fr"), tokens, detokenise_lines(tokens, "fr"))
    plain = sacrebleu.corpus_bleu(hypothesis, [tokens], tokenize="none", force=True, smooth_method="none")
    assert scores["tokenised_bleu"] == pytest.approx(plain.score, abs=1e-6)
    assert scores["sacrebleu"] == pytest.approx(scores["tokenised_bleu"], abs=1.5)


def test_steps_write_text_and_scores(tmp_path: Path) -> None:
    write_lines(tmp_path / "hypothesis", ["l&apos; eau est bleue .", "oui"])
    write_lines(tmp_path / "tokens", ["l&apos; eau est bleue .", "oui"])
    write_lines(tmp_path / "text.gz", ["l'eau est bleue.", "oui"])
    detokenise(text=tmp_path / "hypothesis", language="fr", output=tmp_path / "out.txt")
    assert read_lines(tmp_path / "out.txt") == ["l'eau est bleue.", "oui"]
    files = {"hypothesis": "hypothesis", "reference_tokens": "tokens", "reference_text": "text.gz"}
    arguments = {name: tmp_path / file for name, file in files.items()} | {"language": "fr"}
    evaluate(**arguments, output=tmp_path / "scores.json")
    scores = read_json(tmp_path / "scores.json")
    assert scores["sacrebleu"] == pytest.approx(100)
    assert scores["tokenised_bleu"] == pytest.approx(100)
    write_lines(tmp_path / "text.gz", ["oui"])
    with pytest.raises(UserError, match=r"has 2 lines but .* has 1"):
        evaluate(**arguments, output=tmp_path / "other.json")
    assert not (tmp_path / "other.json").exists()
