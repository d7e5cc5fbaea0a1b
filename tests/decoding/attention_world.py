"""A toy attention network, and all that it can write."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from candidates import whole_sets
from tiny_models import save_reranker

from neural_smt.alignment.lexical import lexical_table
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.io.files import digest_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork, membership, pack_batch
from neural_smt.vocabulary import BOS, EOS, UNK, Vocabulary
from neural_smt.vocabulary_selection.candidates import CandidateSets

CPU = torch.device("cpu")

KNOWN = Vocabulary.from_sentences(["das Haus ist rot"])
TARGET = Vocabulary.from_sentences(["the house is red", "the"])
"""The words of ``small_network``."""


def toy(ending: float = 0.0, readout: Any = "current") -> AttentionNetwork:
    """A network in double precision of 9 source and 7 target words, three of them reserved, whose distributions are
    far from flat.
    """
    config = AttentionConfig(9, 7, hidden=6, embedding=5, attention=7, maxout=4, rank=3, readout=readout)
    return _random_weights(AttentionNetwork(config).double(), ending)


def lively(readout: Any = "current") -> AttentionNetwork:
    """A network of 20 source and 400 target words: some of its translations are long, some short, some never end."""
    config = AttentionConfig(20, 400, hidden=12, embedding=8, attention=7, maxout=8, rank=6, readout=readout)
    network = _random_weights(AttentionNetwork(config).double(), 4.0)
    with torch.no_grad():
        network.output.weight[EOS] *= 3
    return network


def random_network(
    sources: int, targets: int, seed: int = 8, unknown: float = 0.0, ending: float = 0.0, noise: float = 0.0
) -> AttentionNetwork:
    """A network of so many words in single precision. unknown, ending: what the unknown word and the end symbol are
    made more likely by; noise: standard deviation of what is added to its weights.
    """
    config = AttentionConfig(sources, targets, hidden=6, embedding=5, attention=7, maxout=4, rank=3)
    network = _random_weights(AttentionNetwork(config), ending, seed, 0.8, noise)
    with torch.no_grad():
        network.output.bias[UNK] += unknown
    return network


def small_network(**options: float) -> AttentionNetwork:
    """Random weights for ``KNOWN`` and ``TARGET``; options: of ``random_network``."""
    return random_network(len(KNOWN), len(TARGET), **options)


def _random_weights(network: AttentionNetwork, ending: float, seed: int = 3, *deviations: float) -> AttentionNetwork:
    """ending: what the end symbol is made more likely by; deviations: of what is added to all weights in turn."""
    random = np.random.default_rng(seed)
    with torch.no_grad():
        for deviation in deviations or (0.5,):
            for parameter in network.parameters():
                parameter += torch.from_numpy(random.normal(0.0, deviation, parameter.shape)).to(parameter.dtype)
        network.output.bias[EOS] += ending
    return network


def save_sets(
    folder: Path, ids: Sequence[Sequence[int]], lines: list[str], target: Vocabulary = TARGET, **origins: str
) -> Path:
    """Write target vocabularies of sentences, made for the words of a network; origins: in place of what is true."""
    given = {"vocabulary": target.digest, "source": digest_lines(lines)} | origins
    whole_sets(Ragged.from_lists(ids), len(target), given).save(folder)
    return folder


def save_dictionary(folder: Path, pairs: Sequence[tuple[str, str]], source: Vocabulary, target: Vocabulary) -> None:
    """Write word translations, counted from pairs of words."""
    words, translations = source.encode(word for word, _ in pairs), target.encode(word for _, word in pairs)
    links = Ragged(np.zeros((len(pairs), 2), dtype=np.int16), np.arange(len(pairs) + 1))
    lexical_table([(words, translations, links)], len(source), len(target)).save(folder)


def misfits(folder: Path, lines: list[str]) -> dict[tuple[object, ...], Path]:
    """Target vocabularies that are not of these sentences or not of ``TARGET``, by what the error names."""
    own = [[UNK, EOS]] * len(lines)
    for name, ids, size in (("shorter", own[1:], len(TARGET)), ("sized", [[UNK, EOS, 99]] * len(lines), 100)):
        whole_sets(Ragged.from_lists(ids), size).save(folder / name)
    return {
        ("another network vocabulary",): save_sets(folder / "a", own, lines, vocabulary=KNOWN.digest),
        ("another source text",): save_sets(folder / "b", own, [*lines[:-1], "grün"]),
        (f"{len(own) - 1} sentences", len(own)): folder / "shorter",
        ("100 words",): folder / "sized",
        ("references",): save_sets(folder / "c", own, lines, reference="abc"),
    }


def random_sets(count: int, words: int, seed: int = 5) -> CandidateSets:
    """The four most frequent ids for all, and of the others different ones and different numbers of them."""
    random = np.random.default_rng(seed)
    own = [np.unique(random.integers(4, words, random.integers(1, 12))) for _ in range(count)]
    return CandidateSets(Ragged.from_lists(own), np.array([UNK, BOS, EOS, 3], dtype=np.int32), words)


def decoding_settings(**values: Any) -> Settings:
    """How a network translates, defaults but for these."""
    return section_settings("decoding.attention", values)


def save_translator(folder: Path, model: Path, **settings: Any) -> Path:
    """Write the description of a system that is an attention network; the file."""
    network = {"kind": "attention", "model": model}
    return save_reranker(folder, folder, kind="attention", network=network, settings=settings, dictionary={})


def everything(words: list[int], longest: int) -> list[tuple[int, ...]]:
    """All sequences of up to ``longest`` of ``words``, symbols of begin and end left out."""
    usable = [word for word in words if word not in (BOS, EOS)]
    return [sequence for length in range(longest + 1) for sequence in product(usable, repeat=length)]


def log_probabilities(
    network: AttentionNetwork, source: list[int], targets: list[tuple[int, ...]], own: np.ndarray | None = None
) -> np.ndarray:
    """log p of complete translations of a sentence, from the network's pass over whole sentences, among ``own``."""
    sources, words = Ragged.from_lists([source] * len(targets)), Ragged.from_lists(targets)
    allowed = None if own is None else membership(own, Ragged.from_lists([own] * len(targets)), own[:0])
    with torch.no_grad():
        return network(pack_batch(sources, words, CPU, own, allowed)).numpy()


def attention(network: AttentionNetwork, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """alpha ``[target words, source words + 1]`` of a translation, recomputed."""
    batch = pack_batch(Ragged.from_lists([source]), Ragged.from_lists([target]), CPU)
    return network.alignments(batch)[0][:-1]


def random_sentences(count: int, words: int, seed: int = 1) -> Ragged:
    """Sentences of 1 to 8 ids; the third is empty."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 9, count)
    lengths[2] = 0
    return Ragged.from_lists([random.integers(3, words, length) for length in lengths])
