"""Trainers of every kind of network on random text, the same in every run, and how fast they train."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from lib.multi30k import FOLDER
from lib.pairs import random_pairs
from lib.products import Bare, Recorder, in_turn
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.cslm import CslmNetwork
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.recurrent.network import Backpropagation, RecurrentNetwork
from neural_smt.training.attention import AttentionTask, SentencePairs
from neural_smt.training.cslm import NgramTask
from neural_smt.training.encoder_decoder import PhraseTask
from neural_smt.training.gradient_descent import GradientDescent
from neural_smt.training.joint_texts import JointText
from neural_smt.training.loop import Optimiser, Trainer
from neural_smt.training.optimisers import optimiser_of
from neural_smt.training.recurrent import BUFFER, RecurrentTask
from neural_smt.training.sampled_words import WordSampler
from neural_smt.training.steps import train_network
from neural_smt.training.tasks import BatchOrder, Task
from neural_smt.training.texts import NgramText
from neural_smt.vocabulary_selection.candidates import CandidateSets

COMMON, FURTHER = 2000, 45
"""Target words that all sentences are predicted from, and those that each has besides its own."""


def zipfian(random: np.random.Generator, words: int, lengths: np.ndarray, exponent: float = 1.0) -> Ragged:
    """Sentences of given lengths; of 30,000 words the most frequent one is every tenth or twentieth."""
    shares = 1 / np.arange(3, words) ** exponent
    values = random.choice(np.arange(3, words), lengths.sum(), p=shares / shares.sum()).astype(np.int32)
    return Ragged(values, np.concatenate([[0], np.cumsum(lengths)]))


def random_sentences(words: int, count: int) -> Ragged:
    """``count`` sentences of 12 Zipfian words."""
    random = np.random.default_rng(0)
    return Ragged.from_lists((random.zipf(1.3, (count, 12)) + 2) % (words - 3) + 3)


def random_sentence_pairs(
    source_words: int, target_words: int, count: int, limited: bool, longest: int = 40
) -> SentencePairs:
    """Sentences of 5 (or ``longest``) to ``longest`` words on both sides; limited: with the target words that each is
    predicted from.
    """
    random = np.random.default_rng(0)
    lengths = random.integers(min(5, longest), longest + 1, count)
    source, target = (zipfian(random, words, lengths) for words in (source_words, target_words))
    if not limited:
        return SentencePairs(source, target)
    own = [np.unique([*line, *random.integers(COMMON, target_words, FURTHER)]) for line in target]
    sets = Ragged.from_lists([ids[ids >= COMMON] for ids in own])
    return SentencePairs(source, target, CandidateSets(sets, np.arange(COMMON, dtype=np.int32), target_words))


def trained_model(kind: str, inputs: dict[str, Any], settings: dict[str, Any]) -> Path:
    """The folder of a network of the captions, trained when it is not there yet."""
    folder = FOLDER / kind
    if not (folder / "model").is_dir():
        print(f"training a network of the kind {kind} (once) ...", flush=True)
        train_network(
            kind=kind,
            inputs=inputs,
            settings=settings,
            device="cpu",
            seed=1,
            output=folder / "model",
            curve=folder / "curve.csv",
            plot=folder / "curve.png",
            held_out=folder / "perplexity.json",
            state=folder / "state",
        )
    return folder / "model"


def _trainer(task: Task, settings: Settings, optimiser: Optimiser) -> Trainer:
    """A trainer that is told to update, and never to save."""
    return Trainer(task, settings, Path(), "benchmark", optimiser)


def phrase_trainer(network: EncoderDecoder, settings: Settings, batches: int, samples: int = 0) -> Trainer:
    """Of so many minibatches of phrase pairs; samples: see ``WordSampler``."""
    pairs = random_pairs(network.config, settings.batch * batches)
    sampler = WordSampler.of(pairs.target, network.config.target_words, samples, 1)
    order = BatchOrder(pairs.lengths, settings.batch, 1, settings.buffer)
    task = PhraseTask(network, pairs, pairs.take(np.arange(0)), order, sampler=sampler)
    return _trainer(task, settings, optimiser_of(network, settings))


def ngram_trainer(network: CslmNetwork, settings: Settings, sentences: int = 20_000) -> Trainer:
    """Of the n-grams of so many sentences."""
    words = random_sentences(network.config.words, sentences), Ragged.from_lists([])
    text, nothing = (NgramText.of(part, network.config.history) for part in words)
    task = NgramTask(network, text, nothing, BatchOrder(text.lengths, settings.batch, 1))
    return _trainer(task, settings, optimiser_of(network, settings))


def sentence_trainer(network: RecurrentNetwork, settings: Settings, text: JointText) -> Trainer:
    """Of a recurrent model, on sentences."""
    network.backpropagation = Backpropagation(settings.bptt, settings.clip)
    task = RecurrentTask(network, text, text.take(np.arange(0)), BatchOrder(text.lengths, settings.batch, 1, BUFFER))
    parameters = dict(network.named_parameters())
    optimiser = GradientDescent(parameters, settings.rate, settings.l2, settings.optimiser == "adagrad", network.tables)
    return _trainer(task, settings.replace(updates=sys.maxsize, validate_every=0), optimiser)


def translation_trainer(network: AttentionNetwork, settings: Settings, pairs: SentencePairs) -> Trainer:
    """Of an attention network, on sentence pairs."""
    nothing = SentencePairs(pairs.source.take([]), pairs.target.take([]))
    optimiser = optimiser_of(network, settings, rows_only=pairs.sets is not None)
    return _trainer(AttentionTask(network, pairs, nothing, settings, 1), settings, optimiser)


def predicted_words(trainer: Trainer, updates: int) -> int:
    """Words that the next updates predict, ends of sentences or phrases included."""
    first = trainer.progress.updates
    return sum(trainer.task.minibatch(number).words for number in range(first, first + updates))


def speed_of(trainer: Trainer, updates: int, seconds: float) -> dict[str, float]:
    """Speeds of so many updates, again and again for so many seconds, in turn with their products alone.

    seconds: of one round of updates; words_per_second; gflops, products_gflops: of the run, and of the products alone;
    share_of_products: of the time. A first round, which makes room and compiles, does not count.
    """

    def work() -> None:
        with trainer.products():
            for _ in range(updates):
                trainer.update()

    work()
    words = predicted_words(trainer, updates)
    with Recorder() as recorder:
        work()
    bare = Bare([recorder.products])
    whole, products = in_turn(work, bare.one_after_another, seconds)
    return {
        "seconds": whole,
        "words_per_second": words / whole,
        "gflops": bare.operations / whole / 1e9,
        "products_gflops": bare.operations / products / 1e9,
        "share_of_products": products / whole,
    }
