"""Compact tables hold what the table does, but for rounded scores; whatever stands in a file, reading it ends well."""

from pathlib import Path

import numpy as np
import pytest
from refusals import check_refused

from neural_smt.errors import UserError
from neural_smt.io.arrays import read_meta, write_arrays
from neural_smt.io.ragged import Ragged
from neural_smt.io.records import FILE, arrays_of
from neural_smt.phrases import compact, compact_kernels
from neural_smt.phrases.compact import CompactTable, open_table
from neural_smt.phrases.compact_kernels import ALIGNED, PADDING
from neural_smt.phrases.table import PhraseTable, floored_log
from neural_smt.vocabulary import Vocabulary

SOURCE, TARGET = (Vocabulary([f"{side}{number}" for number in range(40_000)], [0] * 40_000) for side in ("s", "t"))
WORDS = len(SOURCE), len(TARGET)


def random_table(seed: int, phrases: int = 300, longest: int = 7) -> tuple[PhraseTable, dict[str, np.ndarray]]:
    """A table of phrases of rare and frequent words, and a score column."""
    random = np.random.default_rng(seed)

    def words() -> tuple[int, ...]:
        count = random.integers(1, longest + 1)
        return tuple((3 + (40_000 - 3) * random.random(count) ** 9).astype(int).tolist())

    def ordered(count: int) -> list[tuple[int, ...]]:
        return sorted({words() for _ in range(count)}, key=lambda phrase: (len(phrase), phrase))

    sources = ordered(phrases)
    targets = [ordered(random.integers(1, 12)) for _ in sources]
    entries = [(source, target) for source, own in zip(sources, targets, strict=True) for target in own]
    rows = len(entries)
    links = [
        np.unique(random.integers(0, (len(source), len(target)), (random.integers(1, 9), 2)), axis=0)
        for source, target in entries
    ]
    offsets = np.cumsum([0, *map(len, links)])
    table = PhraseTable(
        source=Ragged.from_lists(sources),
        entry_offsets=np.cumsum([0, *map(len, targets)]),
        target=Ragged.from_lists([target for _, target in entries]),
        scores=random.random((rows, 4), dtype=np.float32) ** 8,
        alignment=Ragged(np.concatenate(links).astype(np.uint8), offsets),
        counts=np.ones((rows, 3), dtype=np.int32),
        reordering=random.random((rows, 6), dtype=np.float32),
        source_digest=SOURCE.digest,
        target_digest=TARGET.digest,
        max_length=longest,
    )
    table.scores[0] = 0, 1, 1e-30, 1
    return table, {"Column0": np.log(random.random(rows, dtype=np.float32))}


def lists(phrases: Ragged) -> list[tuple[int, ...]]:
    return [tuple(phrase.tolist()) for phrase in phrases]


def sentences(table: PhraseTable, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Words of sentences in which phrases of the table stand among others, and where each sentence starts."""
    random = np.random.default_rng(seed)
    parts = [table.source[number] for number in random.integers(0, len(table.source), 60)]
    words = np.concatenate([np.append(part, random.choice([-1, 3, 4, 39_999])) for part in parts]).astype(np.int32)
    return words, np.array([0, 50, 50, len(words)])


@pytest.mark.parametrize(("seed", "longest"), [*((seed, 7) for seed in range(5)), (5, 30)])
def test_all_that_is_found_is_that_of_the_table(tmp_path: Path, seed: int, longest: int) -> None:
    """Of phrases of up to seven words, as those of our own, or of more, as Moses' may have."""
    table, columns = random_table(seed, longest=longest)
    CompactTable.of(table, columns, WORDS).save(tmp_path / "compact")
    small = open_table(tmp_path / "compact", (SOURCE, TARGET))
    assert isinstance(small, CompactTable) and small.score_count == table.score_count == 4
    words, first = sentences(table, seed)
    ours, theirs = (one.look_up(words, first, longest, columns) for one in (small, table))
    assert len(theirs.lengths) > 50
    for name in ("lengths", "offsets"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    # phrases are numbered in the order of the table in both, and so are their entries
    np.testing.assert_array_equal(ours.spans, theirs.spans)
    assert lists(ours.targets) == lists(theirs.targets)
    assert small.links(ours.rows).values.tolist() == table.links(theirs.rows).values.tolist()
    np.testing.assert_array_equal(small.links(ours.rows).offsets, table.links(theirs.rows).offsets)
    for row, same in zip(ours.rows[::17].tolist(), theirs.rows[::17].tolist(), strict=True):
        assert small.source_of(row).tolist() == table.source_of(same).tolist()
    for scores, exact in ((ours.scores, theirs.scores), (ours.reordering, theirs.reordering)):
        assert scores.dtype == exact.dtype == np.float32
        apart = np.abs(floored_log(scores) - floored_log(exact))[1:]  # the first has extreme ones, with codes for all
        assert apart.mean() < 0.1
    assert ours.columns.keys() == columns.keys()
    assert np.abs(ours.columns["Column0"] - theirs.columns["Column0"]).mean() < 0.1


def test_few_scores_stay_as_they_are() -> None:
    table, _ = random_table(1)
    levels = np.random.default_rng(1).random(200, dtype=np.float32)
    levels[:2] = 0, 1
    chosen = np.random.default_rng(2).integers(0, 200, table.scores.shape)
    table.scores[:] = levels[chosen]
    words, first = sentences(table, 1)
    ours, theirs = (one.look_up(words, first, 7, {}) for one in (CompactTable.of(table, {}, WORDS), table))
    np.testing.assert_allclose(floored_log(ours.scores), floored_log(theirs.scores), rtol=1e-3, atol=2e-3)


def test_random_targets_are_those_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    table, columns = random_table(2)
    small = CompactTable.of(table, columns, WORDS)
    assert sorted(lists(small.some_targets())) == sorted(lists(table.some_targets()))
    monkeypatch.setattr(compact, "SAMPLE", 5)
    assert {*lists(small.some_targets())} < {*lists(table.target)}


def test_what_does_not_belong_together_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, columns = random_table(3, phrases=20)
    CompactTable.of(table, columns, WORDS).save(tmp_path / "compact")
    check_refused("source vocabulary", open_table, tmp_path / "compact", (TARGET, SOURCE))
    check_refused("not a finite number", CompactTable.of, table, {"Column0": np.full(len(table), np.nan)}, WORDS)
    monkeypatch.setattr(compact, "LARGEST", 100)
    check_refused("too large", CompactTable.of, table, columns, WORDS)


@pytest.mark.parametrize("before", [[200, 1], [1, 3, 1, 0, 200, 1]], ids=["source", "target"])
def test_words_that_would_go_on_behind_the_end_are_refused(before: list[int]) -> None:
    """A phrase of 200 words, in whose place 120 are, of two bytes each; nothing behind the padding is looked at."""
    data = np.array([0] * ALIGNED + before + [129, 1] * 120 + [0] * PADDING, dtype=np.uint8)
    readable, _ = compact_kernels.walk(data, 10, 1000, 1000)
    assert not readable


@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_bytes_are_reading_them_ends_well(tmp_path: Path, seed: int) -> None:
    """Forged files: checksums are right, and bytes, slots or sizes are not."""
    random, folder = np.random.default_rng(seed), tmp_path / "compact"
    table, columns = random_table(seed, phrases=30)
    small = CompactTable.of(table, columns, WORDS)
    small.save(folder)
    arrays, meta = arrays_of(small, compact._Compact), read_meta(folder / FILE)
    words, first = sentences(table, seed)
    refused = 0
    for _ in range(300):
        forged = {name: array.copy() for name, array in arrays.items()}
        for _ in range(random.integers(1, 4)):
            forged["data"][random.integers(len(forged["data"]))] = random.integers(256)
        if random.random() < 0.3:
            forged["slots"][random.integers(len(forged["slots"]))] = random.integers(1 << 32)
        if random.random() < 0.2:
            forged["data"] = forged["data"][: random.integers(len(forged["data"]))].copy()
        if random.random() < 0.1:
            forged["centres"] = forged["centres"][:-1].copy()
        write_arrays(folder / FILE, forged, meta)
        try:
            found = open_table(folder, (SOURCE, TARGET))
        except UserError as error:
            assert str(folder) in str(error)
            refused += 1
        else:
            assert isinstance(found, CompactTable)
            found.links(found.look_up(words, first, 7).rows)
    assert refused > 100
