"""Tiny random translation models, and their derivations counted out without any search."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.decoding.features import LOG_FLOOR, REORDERING, Weights, build_feature_set, column_name, is_column
from neural_smt.decoding.joining_steps import join_scores, join_translations
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.nbest import read_nbest
from neural_smt.decoding.reranking_steps import score_lists
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.decoding.steps import decode
from neural_smt.experiment.settings import Settings
from neural_smt.experiment.system_folder import map_paths
from neural_smt.io.files import read_json, read_yaml, write_json
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.language_model.model import NgramModel
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.phrases.table import PhraseTable, save_column
from neural_smt.vocabulary import BOS, EOS, Vocabulary

SOURCE = Vocabulary(["<unk>", "<s>", "</s>", "a", "b", "c"], [0] * 6)
GROUPS = ("phrase", "language_model", "reordering")
SENTENCES = [["a", "b", "c", "a"], [], ["c", "unknown", "b", "a"], ["b"]]
EVERYTHING = SearchSettings(stack_size=100_000, beam_threshold=0.0, table_limit=0, pop_limit=100_000)
TARGET = Vocabulary(["<unk>", "<s>", "</s>", "x", "y", "z", "q"], [0] * 7)


def random_language_model(generator: np.random.Generator, order: int = 3) -> NgramModel:
    """A back-off model with random numbers for some of the possible n-grams; it need not be normalised."""
    return NgramModel.from_tables(random_ngrams(generator, order), TARGET)


def random_ngrams(generator: np.random.Generator, order: int = 3) -> list[NgramTable]:
    """The n-grams of such a model."""
    words = np.arange(len(TARGET))
    tables, contexts = [], [()]
    for length in range(1, order + 1):
        ngrams = [
            (*context, word)
            for context, word in itertools.product(contexts, words.tolist())
            if (EOS not in context and (word != BOS or not context)) and (length == 1 or generator.random() < 0.5)
        ]
        log10_prob, backoff = -3 * generator.random(len(ngrams)), -generator.random(len(ngrams))
        backoff *= generator.random(len(ngrams)) < 0.7
        ids = np.array(ngrams, dtype=np.int32).reshape(-1, length)
        tables.append(NgramTable(ids, log10_prob.astype(np.float32), backoff.astype(np.float32)))
        contexts = ngrams
    return tables


def random_model(
    seed: int, features: tuple[str, ...] = GROUPS, language_models: int = 1
) -> tuple[TranslationModel, Weights]:
    """A model over three source words, with random weights."""
    generator = np.random.default_rng(seed)
    sources = [[3], [4], [3, 4], [4, 5], [3, 4, 5]]  # the word 5, c, has no entry of its own
    targets = [
        sorted({tuple(generator.integers(3, 7, generator.integers(1, 4)).tolist()) for _ in range(count)})
        for count in generator.integers(1, 4, len(sources))
    ]
    rows = sum(map(len, targets))
    scores = (0.05 + 0.95 * generator.random((rows, 4))).astype(np.float32)
    scores[0, 1] = 0.0
    columns = {column_name(f): (-2 * generator.random(rows)).astype(np.float32) for f in features if is_column(f)}
    table = build_table(sources, targets, scores, generator.dirichlet(np.ones(3), (rows, 2)).reshape(rows, 6))
    feature_set = build_feature_set(features, language_models)
    models = tuple(random_language_model(generator, order=3 - number) for number in range(language_models))
    vector = generator.normal(0.3, 0.3, feature_set.size)
    vector[feature_set.slices["UnknownWordPenalty0"]] = 1.0
    weights = Weights.from_vector(feature_set, vector)
    return TranslationModel(table, models, columns, SOURCE, TARGET, feature_set), weights


def build_table(
    sources: list[list[int]], targets: list[list[tuple[int, ...]]], scores: np.ndarray, reordering: np.ndarray
) -> PhraseTable:
    """The table of source phrases (ids) and the targets of each, whose first words are aligned."""
    rows = len(scores)
    return PhraseTable(
        source=Ragged.from_lists(sources),
        entry_offsets=offsets_of([len(group) for group in targets]),
        target=Ragged.from_lists(itertools.chain(*targets)),
        scores=scores,
        alignment=Ragged(np.zeros((rows, 2), dtype=np.uint8), np.arange(rows + 1, dtype=np.int64)),
        counts=np.ones((rows, 3), dtype=np.int32),
        reordering=reordering.astype(np.float32),
        source_digest=SOURCE.digest,
        target_digest=TARGET.digest,
        max_length=max(map(len, sources)),
    )


def random_decoder(
    seed: int, settings: Settings | None = None, feature: Any = None, weight: float = 0.5, **options: Any
) -> Decoder:
    """A decoder of a random model, with a feature of this weight; options: of ``random_model``, and threads."""
    threads = options.pop("threads", 1)
    model, weights = random_model(seed, **options)
    if feature:
        weights.values[feature.name] = (weight,)
    return Decoder(model, settings or SearchSettings(), weights, threads, feature)


@dataclass(frozen=True)
class Derivation:
    tokens: tuple[str, ...]
    features: np.ndarray
    score: float


def all_derivations(model, sentence, feature_set, vector, limit=6, feature=None) -> list[Derivation]:
    """Every derivation that the distortion limit allows, best first, by recursion over plain Python objects.

    feature: one more, with a method ``whole`` that scores all words of a translation, as (word, id) pairs.
    """
    rules = list_rules(model, sentence)
    part = feature_set.slices
    found = []

    def extend(covered, previous, forward, words, features):
        if len(covered) == len(sentence):
            values = features.copy()
            for number, lm in enumerate(model.language_models):
                values[part[f"LM{number}"]] = _language_score(lm, words)
            if feature:
                values[part[feature.name]] = feature.whole(words)
            tokens = tuple(word for word, _ in words)
            found.append(Derivation(tokens, values, float(values @ vector)))
            return
        gap = min(set(range(len(sentence))) - covered)
        for (start, stop), options in rules.items():
            jump = abs(previous[1] - start)
            if covered & set(range(start, stop)) or jump > limit or (start != gap and stop - gap > limit):
                continue
            turn = 0 if start == previous[1] else 1 if stop == previous[0] else 2
            for target, values, reordering in options:
                total = features.copy()
                for name, value in values.items():
                    total[part[name]] += value
                total[part["Distortion0"]] -= jump
                if "LexicalReordering0" in part:
                    first = part["LexicalReordering0"].start
                    total[first + turn] += reordering[turn]
                    total[first + 3 + turn] += forward[turn]
                extend(covered | set(range(start, stop)), (start, stop), reordering[3:], words + target, total)

    extend(set(), (0, 0), np.zeros(3), [], np.zeros(feature_set.size))
    return sorted(found, key=lambda derivation: -derivation.score)


def list_rules(model, sentence):
    """(start, stop) -> list of (target as (word, id) pairs, stateless values by feature, reordering logs)."""
    table = model.phrase_table
    phrases = {tuple(phrase.tolist()): number for number, phrase in enumerate(table.source)}
    rules = {}
    for start, length in itertools.product(range(len(sentence)), range(1, 4)):
        words = sentence[start : start + length]
        number = phrases.get(tuple(SOURCE.index.get(word, -1) for word in words))
        if len(words) < length or number is None:
            continue
        options = []
        for row in range(table.entry_offsets[number], table.entry_offsets[number + 1]):
            ids = table.target[row].tolist()
            values = {"WordPenalty0": -len(ids), "PhrasePenalty0": 1.0}
            with np.errstate(divide="ignore"):
                values["TranslationModel0"] = np.maximum(np.log(table.scores[row]), LOG_FLOOR)
            values |= {name: column[row] for name, column in model.columns.items()}
            options.append(([(TARGET.words[i], i) for i in ids], values, np.log(table.reordering[row])))
        rules[start, start + length] = options
    for position, word in enumerate(sentence):
        if (position, position + 1) not in rules:
            values = {"WordPenalty0": -1, "PhrasePenalty0": 1.0, "UnknownWordPenalty0": LOG_FLOOR}
            rules[position, position + 1] = [([(word, TARGET.index.get(word, 0))], values, np.zeros(6))]
    return rules


def _language_score(model, words):
    state, total = model.begin_state, 0.0
    for _, number in [*words, ("</s>", EOS)]:
        log10_prob, state = model.score_word(state, number)
        total += log10_prob
    return total * np.log(10)


def save_system(
    folder: Path, model: TranslationModel, weights: Weights, search: dict[str, Any] | None = None, **further: Any
) -> dict[str, Path]:
    """Write a system as a folder; returns it and its weights as arguments of ``decode``.

    further: entries of its description beside or in place of those of a system without networks.
    """
    model.phrase_table.save(folder / "table")
    names = [f"lm{number or ''}" for number in range(len(model.language_models))]
    for name, language_model in zip(names, model.language_models, strict=True):
        language_model.save(folder / name)
    for name, column in model.columns.items():
        save_column(folder / f"{name}.safetensors", column, model.phrase_table)
    columns = {"encoder_decoder": "EncoderDecoder0.safetensors"} if model.columns else {}
    features = [*(GROUPS if REORDERING in model.feature_set else GROUPS[:2]), *columns]
    further = {"features": features, "language_models": names, "columns": columns, **further}
    SOURCE.save(folder / "source.tsv")
    TARGET.save(folder / "target.tsv")
    weights.save(folder / "weights.json")
    write_json(folder / "search.json", search or {})
    return {"system": describe_system(folder, **further), "weights": folder / "weights.json"}


def describe_system(folder: Path, example: str = "search", /, **further: Any) -> Path:
    """Write an example of ``systems.yaml`` into a folder; the file. further: entries beside or in place of its own."""
    further = map_paths(further, str)
    folder.mkdir(exist_ok=True)
    write_json(folder / "system.json", read_yaml(Path(__file__).with_name("systems.yaml"))[example] | further)
    return folder / "system.json"


def save_reranker(folder: Path, base: Path, **further: Any) -> Path:
    """Write the description of a system that reranks candidates of ``base``, by default whole lists without a network;
    the file.
    """
    return describe_system(folder, "rerank", base=str(base), **further)


def change_system(system: Path, **changes: Any) -> None:
    """Write other entries into the description of a system."""
    write_json(system, read_json(system) | changes)


TIMES = {"seconds", "sentences_per_second", "ngrams_per_second"}


def decode_in_shards(
    system: Mapping[str, Any], folder: Path, count: int, step: Callable[..., None] = decode, further: str = "nbest"
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Translations and lists of ``count`` shards put together, or of one job, and the statistics but for times.

    system: arguments of ``step``; further: what it writes besides the translations, ``nbest`` or ``alignment``.
    """
    folder.mkdir(exist_ok=True)
    shards = [f"{number}-of-{count}" for number in range(1, count + 1)]
    files = {
        "parts": [folder / shard for shard in shards],
        "part_statistics": [folder / f"{shard}.json" for shard in shards],
        {"nbest": "part_lists", "alignment": "part_alignments"}[further]: [folder / f"{shard}.gz" for shard in shards],
    }
    outputs = {"output": folder / "o", "statistics": folder / "s.json", further: folder / "n.gz"}
    if count == 1:
        step(**system, **outputs)
    else:
        for shard, part, statistics, besides in zip(shards, *files.values(), strict=True):
            step(**system, output=part, statistics=statistics, **{further: besides}, shard=shard)
        join_translations(text=system["text"], **files, **outputs)
    return {name: outputs[name].read_bytes() for name in ("output", further)}, untimed(read_json(outputs["statistics"]))


def untimed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Statistics without what may differ between runs."""
    kept = {key: value for key, value in content.items() if key not in TIMES}
    return {key: untimed(value) if isinstance(value, Mapping) else value for key, value in kept.items()}


def score_in_shards(files: Mapping[str, Any], folder: Path, count: int) -> list[Path]:
    """Score lists as a whole (``whole.gz``) and in shards, which must make the same; the shards that hold something.

    files: arguments of ``score_lists``.
    """
    score_lists(**files, output=folder / "whole.gz")
    parts = [folder / f"{number}-of-{count}.gz" for number in range(1, count + 1)]
    for part in parts:
        score_lists(**files, output=part, shard=part.stem)
    join_scores(parts=parts, output=folder / "joined.gz")
    assert (folder / "joined.gz").read_bytes() == (folder / "whole.gz").read_bytes()
    return [part for part in parts if read_nbest(part)]
