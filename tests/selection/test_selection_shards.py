"""Selection in shards: the files of the whole, byte for byte, whatever the number of shards."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from neural_smt.errors import UserError
from neural_smt.io.files import write_lines
from neural_smt.io.streams import TextLines
from neural_smt.selection import cross_entropy, curve
from neural_smt.selection.cross_entropy import cross_entropy_difference
from neural_smt.selection.steps import score_pool, select_pairs, select_text, train_selection_models

SETTINGS = {"method": "axelrod", "order": 3, "fractions": [0.2, 0.5], "random_samples": 1}
WORDS = ["the", "of", "law", "rain", "sun", "wind", "cold", "storm", "court", "shall", "article", "vote"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pool of 90 pairs with empty lines and words that no model knows, in-domain and dev text of its first words."""
    folder, generator = tmp_path_factory.mktemp("texts"), np.random.default_rng(3)
    for name, lines, words in (("pool", 90, WORDS), ("in", 30, WORDS[:7]), ("dev", 20, WORDS[:7])):
        text = [" ".join(generator.choice(words, generator.integers(0, 9))) for _ in range(lines)]
        write_lines(folder / f"{name}.en", text)
        write_lines(folder / f"{name}.fr", [line.upper() for line in text])
    return folder


def scored(texts: Path, folder: Path, languages: list[str], count: int, settings: dict = SETTINGS) -> list[Path]:
    pool = [texts / f"pool.{language}" for language in languages]
    inside = [texts / f"in.{language}" for language in languages]
    train_selection_models(pool=pool, in_domain=inside, settings=settings, seed=7, output=folder / "models")
    parts = [folder / f"{number}-of-{count}.npy" for number in range(1, count + 1)]
    for part in parts:
        score_pool(pool=pool, models=folder / "models", output=part, shard=part.stem)
    return parts


def selected_pairs(texts: Path, folder: Path, parts: list[Path] | None) -> dict[str, bytes]:
    outputs = {"source_output": "o.en", "target_output": "o.fr", "scores": "s.gz", "curve": "c.csv", "plot": "c.png"}
    select_pairs(
        **{f"{name}_{side}": texts / f"{file}.{language}" for name, file in FILES for side, language in SIDES},
        **{name: folder / file for name, file in outputs.items()},
        settings=SETTINGS,
        seed=7,
        scored=parts,
    )
    return {file: (folder / file).read_bytes() for file in outputs.values()}


FILES = (("pool", "pool"), ("in_domain", "in"), ("dev", "dev"))
SIDES = (("source", "en"), ("target", "fr"))


@pytest.mark.parametrize("count", [1, 4, 16, 100])
def test_pairs_are_those_of_the_whole(texts: Path, tmp_path: Path, count: int) -> None:
    (tmp_path / "whole").mkdir()
    whole = selected_pairs(texts, tmp_path / "whole", None)
    assert selected_pairs(texts, tmp_path, scored(texts, tmp_path, ["en", "fr"], count)) == whole
    assert 30 < len(whole["o.en"].splitlines()) < 120


@pytest.mark.parametrize("count", [1, 4, 16])
def test_lines_are_those_of_the_whole(texts: Path, tmp_path: Path, count: int) -> None:
    settings = SETTINGS | {"method": "moore_lewis"}
    parts = scored(texts, tmp_path, ["fr"], count, settings)
    found = []
    for name, given in (("whole", None), ("shards", parts)):
        outputs = {
            key: tmp_path / f"{name}.{suffix}"
            for key, suffix in {"output": "fr", "scores": "npy", "curve": "csv", "plot": "png"}.items()
        }
        sides = {"pool": texts / "pool.fr", "in_domain": texts / "in.fr", "dev": texts / "dev.fr"}
        select_text(**sides, **outputs, settings=settings, seed=7, scored=given)
        found.append([path.read_bytes() for path in outputs.values()])
    assert found[0] == found[1]


def test_scores_do_not_depend_on_the_pieces_that_are_read(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = [TextLines(texts / f"pool.{language}") for language in ("en", "fr")]
    inside = [list(TextLines(texts / f"in.{language}")) for language in ("en", "fr")]
    whole = cross_entropy_difference(pool, inside, 3, np.random.default_rng(7), 1)
    monkeypatch.setattr(cross_entropy, "LINES", 7)
    np.testing.assert_array_equal(cross_entropy_difference(pool, inside, 3, np.random.default_rng(7), 2), whole)
    assert len(whole) == 90 and len(set(whole.tolist())) > 50


def test_models_estimated_on_disk_draw_the_same_curve(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = selected_pairs(texts, tmp_path, None)
    monkeypatch.setattr(curve, "MEMORY", 1)
    monkeypatch.setattr(curve, "LINES", 11)
    assert selected_pairs(texts, tmp_path, None) == whole


def test_what_is_missing_is_said(texts: Path, tmp_path: Path) -> None:
    parts = scored(texts, tmp_path, ["en", "fr"], 4)
    with pytest.raises(UserError, match=r"1-of-4\.npy and other shards: 67 scores of 90 lines; score them again"):
        selected_pairs(texts, tmp_path, parts[:3])
    settings = {"pool": [texts / "pool.fr"], "settings": SETTINGS, "seed": 1, "output": tmp_path / "m"}
    with pytest.raises(UserError, match="in_domain names none"):
        train_selection_models(in_domain=[], **settings)
    write_lines(tmp_path / "empty", ["", ""])
    with pytest.raises(UserError, match="empty: no text"):
        train_selection_models(in_domain=[texts / "in.fr"], **settings | {"pool": [tmp_path / "empty"]})
    assert not (tmp_path / "m").exists()


def test_memory_of_a_shard_does_not_grow_with_the_pool(texts: Path, tmp_path: Path) -> None:
    scored(texts, tmp_path, ["en", "fr"], 1)
    peaks = []
    for copies in (200, 800):
        for language in ("en", "fr"):
            (tmp_path / f"pool.{language}").write_text((texts / f"pool.{language}").read_text() * copies)
        pool = [tmp_path / f"pool.{language}" for language in ("en", "fr")]
        tracemalloc.start()
        score_pool(pool=pool, models=tmp_path / "models", output=tmp_path / "s.npy", shard="2-of-4")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(np.load(tmp_path / "s.npy")) == 90 * copies // 4
    # The scores themselves are 8 bytes a line, a few times over while both sides are added up.
    assert peaks[1] - peaks[0] < 64 * 90 * 600 / 4 + (1 << 20)
