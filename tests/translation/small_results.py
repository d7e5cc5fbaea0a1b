"""Results of an experiment small enough to write by hand: what translating with its systems reads; and its server."""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attention_world import random_network, save_dictionary
from tiny_models import SOURCE, TARGET, random_model

from neural_smt.experiment.system_folder import FILE, write_description
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.folder import Trained
from neural_smt.translation.experiment import Experiment
from neural_smt.translation.server import Limits, Server, Service
from neural_smt.translation.translators import Translator, load_translator


def write_experiment(folder: Path) -> Path:
    """Configuration and results of the systems that are tuned; the configuration file."""
    config = Path(shutil.copy(Path(__file__).with_name("small.yaml"), folder))
    results = folder / "results" / "small"
    model, weights = random_model(5)
    model.phrase_table.save(results / "phrases" / "table")
    model.language_models[0].save(results / "language_model" / "model")
    SOURCE.save(results / "corpus" / "vocabulary.en.tsv")
    TARGET.save(results / "corpus" / "vocabulary.fr.tsv")
    for run in (1, 2):
        weights.save(results / "tuning" / "baseline" / f"run{run}" / "weights.json")
    save_dictionary(results / "alignment" / "translations", [("a", "x"), ("b", "y"), ("c", "z")], SOURCE, TARGET)
    for name in ("attention", "whole"):
        Trained(network(), SOURCE, TARGET).save(results / "training" / name / "model")
    experiment = Experiment.load(str(config), folder=folder)
    for name in ("baseline", "network", "replacing"):
        description = experiment.layout.description(name)
        write_description(description=description, output=folder / experiment.layout.system(name) / FILE)
    write_description(description=experiment.config["decoding"]["test"], output=folder / experiment.layout.search)
    return config


def translator(folder: Path, system: str = "baseline", **options: Any) -> Translator:
    """A system of the experiment."""
    return load_translator(load(folder).open(system), **options)


ABOUT = {"experiment": "small", "system": "baseline", "label": "The baseline", "run": 1, "source": "en", "target": "fr"}
"""What the page says of a system."""


@contextmanager
def serving(text: Any, system: str = "baseline") -> Iterator[Server]:
    """A server of a text translator, in a thread."""
    about = ABOUT | {"system": system, "label": f"The {system}"}
    loop = asyncio.new_event_loop()
    server = Server(Service(text, about, Limits(burst=1000)), 0)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    running = asyncio.run_coroutine_threadsafe(server.serve(), loop)
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()
    try:
        yield server
    finally:
        running.cancel()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def network() -> AttentionNetwork:
    """Random weights under which translations soon end, and unknown words are common."""
    return random_network(len(SOURCE), len(TARGET), unknown=1.5, ending=1.0)


def load(folder: Path) -> Experiment:
    """The experiment as a person names it."""
    return Experiment.load(str(write_experiment(folder)), folder=folder)
