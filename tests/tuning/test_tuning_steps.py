"""The step ``tune`` with the real decoder, on a lexicon whose extra column knows the right translations."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_refused
from tiny_models import build_table, describe_system
from tuning_world import CASES

from neural_smt.decoding.scorers import load_feature
from neural_smt.decoding.scorers.cslm import CslmFeature
from neural_smt.io.files import read_csv, read_json, write_json, write_lines
from neural_smt.language_model.steps import build_language_model
from neural_smt.networks.cslm import CslmConfig, CslmNetwork
from neural_smt.networks.folder import Trained
from neural_smt.phrases.table import save_column
from neural_smt.tuning.methods import ListMethod
from neural_smt.tuning.steps import tune
from neural_smt.vocabulary import Vocabulary

WORDS, CHOICES = 12, 4


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Source word ``s3`` has translations ``t3_0`` (right) to ``t3_3``; their probabilities are random."""
    folder = tmp_path_factory.mktemp("model")
    generator = np.random.default_rng(11)
    drawn = [generator.integers(0, WORDS, generator.integers(5, 9)) for _ in range(25)]
    lines = {
        "source": [" ".join(f"s{i}" for i in ids) for ids in drawn],
        "reference": [" ".join(f"t{i}_0" for i in ids) for ids in drawn],
        "lexicon": [f"t{i}_{choice}" for i in range(WORDS) for choice in range(CHOICES)],
    }
    source_words = Vocabulary.from_sentences(f"s{i}" for i in range(WORDS))
    target_words = Vocabulary.from_sentences(lines["lexicon"])
    targets = [[(target_words.index[f"t{w[1:]}_{c}"],) for c in range(CHOICES)] for w in source_words.words[3:]]
    rows = WORDS * CHOICES
    scores = generator.uniform(0.1, 0.9, (rows, 4)).astype(np.float32)
    table = build_table([[3 + i] for i in range(WORDS)], targets, scores, np.full((rows, 6), 1 / 3))
    table = replace(table, source_digest=source_words.digest, target_digest=target_words.digest)
    table.save(folder / "table")
    knowing = -1.5 * (np.arange(rows) % CHOICES > 0) + generator.normal(0, 0.3, rows)
    save_column(folder / "column.safetensors", knowing, table)
    source_words.save(folder / "source.tsv")
    target_words.save(folder / "target.tsv")
    for name, text in lines.items():
        write_lines(folder / name, text)
    settings = {"order": 1, "prune": [], "estimator": "internal"}
    texts = {"texts": [folder / "lexicon"], "vocabulary": folder / "target.tsv"}
    build_language_model(**texts, settings=settings, output=folder / "lm")
    features = ["phrase", "language_model", "encoder_decoder"]
    system = describe_system(folder, features=features, columns={"encoder_decoder": "column.safetensors"})
    return {"system": system, "source": folder / "source", "reference": folder / "reference", **CASES["arguments"]}


def changed(arguments: dict[str, Any], name: str, **entries: Any) -> Path:
    """The description of another system of the same files."""
    file = arguments["system"].with_name(f"{name}.json")
    write_json(file, read_json(arguments["system"]) | entries)
    return file


def run(arguments: dict[str, Any], folder: Path, settings: dict[str, Any] | None = None, **changes: Any) -> None:
    """Tune; settings: in place of some of those of the arguments; changes: other arguments."""
    folder.mkdir(exist_ok=True)
    outputs = {name: folder / name for name in ("weights", "history", "plot", "state")}
    tune(**arguments | {"settings": arguments["settings"] | (settings or {})} | changes, **outputs)


@pytest.mark.parametrize(("kind", "least"), CASES["ways"])
def test_tuning_trusts_the_column_that_knows_and_repeats_itself(
    arguments: dict[str, Any], tmp_path: Path, kind: dict, least: float
) -> None:
    for name, threads in (("a", 1), ("b", 2)):
        run(arguments, tmp_path / name, kind, threads=threads)
    assert (tmp_path / "a" / "weights").read_bytes() == (tmp_path / "b" / "weights").read_bytes()
    rows = read_csv(tmp_path / "a" / "history")
    weights = read_json(tmp_path / "a" / "weights")
    assert max(float(row["decoder_bleu"]) for row in rows) > float(rows[0]["decoder_bleu"]) + 20
    assert weights["EncoderDecoder0"][0] > least
    assert weights.pop("UnknownWordPenalty0") == [1.0]
    assert np.abs(np.concatenate(list(weights.values()))).sum() == pytest.approx(1.0)
    assert (tmp_path / "a" / "plot").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "a" / "state").exists()


def test_wrong_settings_and_texts_are_refused(arguments: dict[str, Any], tmp_path: Path) -> None:
    for wrong, pieces in CASES["refused"]:
        check_refused(pieces, run, arguments, tmp_path, wrong)
    write_lines(tmp_path / "short", ["t0_0"])
    check_refused(["25 lines", "short", "1"], run, arguments, tmp_path, reference=tmp_path / "short")
    write_lines(tmp_path / "empty", [])
    check_refused("development set", run, arguments, tmp_path, source=tmp_path / "empty", reference=tmp_path / "empty")
    assert not (tmp_path / "weights").exists()


def test_a_network_in_the_search_is_tuned_like_any_feature(
    arguments: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread or two; what the network scored under the first weights is known under the others."""
    words = Vocabulary.load(arguments["system"].with_name("target.tsv"))
    shortlist = Vocabulary(words.words[:30], words.counts[:30])  # the n-gram model scores the others
    config = CslmConfig(len(shortlist), order=4, projection=6, layers=(8, 5), initial_range=1.0)
    Trained(CslmNetwork(config, 2), shortlist).save(tmp_path / "cslm")
    monkeypatch.setattr("neural_smt.decoding.search.FEATURE_BATCH", 4)
    gather, loaded, counts = ListMethod.gather, [], []

    def load_and_keep(*given: Any) -> CslmFeature:
        loaded.append(load_feature(*given))
        return loaded[-1]

    def gather_and_count(*given: Any) -> Any:
        result, caches = gather(*given), (loaded[-1].score, loaded[-1].exact)
        counts.append([(cache.counts["ngrams"], cache.counts["cache_hits"]) for cache in caches])
        return result

    monkeypatch.setattr("neural_smt.tuning.steps.load_feature", load_and_keep)
    monkeypatch.setattr(ListMethod, "gather", gather_and_count)
    features = ["phrase", "language_model", "encoder_decoder", "cslm"]
    network = {"kind": "cslm", "model": str(tmp_path / "cslm")}
    searched = changed(arguments, "searched", features=features, network=network)
    tuned = []
    for threads in (1, 2):
        counts.clear()
        run(arguments, tmp_path / str(threads), {"min_gain": 0.0}, system=searched, threads=threads)
        tuned.append(read_json(tmp_path / str(threads) / "weights"))
        rows = read_csv(tmp_path / str(threads) / "history")
        assert len(counts) == len(rows) > 1
        assert len({row["Cslm0"] for row in rows}) > 1
        for before, after in zip(counts[0], counts[1], strict=True):
            asked, found = np.subtract(after, before)
            assert found / asked > before[1] / before[0] + 0.1
    assert len(loaded) == 2
    assert tuned[0].keys() == tuned[1].keys()
    for name, values in tuned[0].items():
        np.testing.assert_allclose(tuned[1][name], values, rtol=1e-3, err_msg=name)
    assert len(tuned[0]["Cslm0"]) == 1
