"""The 5-gram language model of Multi30k's French side: estimation, reading an ARPA file, and queries per second.

Running text is queried word by word, each query waiting for the state of the one before; shuffled queries wait for
none. Where the Python module ``kenlm`` can be imported, it scores the same sentences (from strings: it also splits and
hashes the words), and the two sums must agree. Writes benchmarks/results/language_model.json.
"""

import time

import numpy as np
from lib import REPETITIONS, RESULTS, fastest
from lib.multi30k import FOLDER, ORDER, available, captions, model, sentences

from neural_smt.io.files import write_json
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.language_model.arpa import read_arpa
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel
from neural_smt.language_model.primitives import Automaton, score_sentences, score_word

LMPLZ_SECONDS = 0.64
ARPA = FOLDER / "train.fr.o5.arpa.gz"


@kernel
def query_states(model: Automaton, states: np.ndarray, words: np.ndarray) -> float:
    """Sum of log10 p(word | state) over independent queries."""
    total = 0.0
    for i in range(len(states)):
        total += score_word(model, states[i], words[i])[0]
    return total


@kernel
def trace_states(model: Automaton, values: np.ndarray, offsets: np.ndarray, states: np.ndarray) -> None:
    """The state before each word of each sentence."""
    for sentence in range(len(offsets) - 1):
        state = np.int64(model.begin)
        for position in range(offsets[sentence], offsets[sentence + 1]):
            states[position] = state
            state = score_word(model, state, values[position])[1]


def shuffled(model: NgramModel, text: Ragged) -> tuple[np.ndarray, np.ndarray]:
    """The queries of a text in random order: states int32 and words int32."""
    states = np.empty(len(text.values), dtype=np.int32)
    trace_states(model.arrays, text.values, text.offsets, states)
    order = np.random.default_rng(0).permutation(len(states))
    return states[order], text.values[order]


def kenlm_seconds(lines: list[list[str]]) -> dict | None:
    """Loading seconds, queries per second and log10 of the module ``kenlm``, if it can be imported."""
    try:
        import kenlm
    except ImportError:
        return None
    began = time.perf_counter()
    peer = kenlm.Model(str(ARPA))
    loading = time.perf_counter() - began
    texts = [" ".join(line) for line in lines]
    seconds = fastest(lambda: [peer.score(text) for text in texts])
    total = sum(peer.score(text) for text in texts)
    words = sum(map(len, lines)) + len(lines)
    return {"load_seconds": round(loading, 2), "queries_per_second": round(words / seconds), "log10": round(total, 3)}


def main() -> None:
    if not available():
        return
    loaded = model(ARPA).language_models[0]
    text = captions()
    target = text.encode()[1]
    seconds = {
        "estimate": fastest(estimate, target, ORDER),
        "read_arpa": fastest(read_arpa, ARPA),
        "build": fastest(NgramModel.from_tables, estimate(target, ORDER).tables, text.vocabularies[1]),
    }
    lines = sentences("val", "fr") + sentences("test_2016_flickr", "fr")
    running = text.vocabularies[1].encode([" ".join(line) for line in lines])
    arguments = loaded.arrays, np.tile(running.values, 20), repeated_offsets(running, 20)
    score_sentences(*arguments)  # compiles the kernel
    queries = len(arguments[1]) + len(arguments[2]) - 1
    in_order = queries / fastest(score_sentences, *arguments)
    states, words = shuffled(loaded, Ragged(arguments[1], arguments[2]))
    query_states(loaded.arrays, states, words)
    at_random = len(words) / fastest(query_states, loaded.arrays, states, words)
    results = {
        "ngrams": list(loaded.ngrams),
        "repetitions": REPETITIONS,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "lmplz_seconds": LMPLZ_SECONDS,
        "queries_per_second": {"running_text": round(in_order), "shuffled": round(at_random)},
        "log10": round(float(score_sentences(loaded.arrays, running.values, running.offsets)[0].sum()), 3),
        "kenlm_python": kenlm_seconds(lines),
    }
    write_json(RESULTS / "language_model.json", results)
    print(f"estimation {seconds['estimate']:.2f} s (lmplz {LMPLZ_SECONDS}), ARPA (gz) {seconds['read_arpa']:.2f} s")
    print(f"linking the automaton {seconds['build']:.2f} s")
    print(f"queries per second, one thread: {in_order / 1e6:.1f} M running text, {at_random / 1e6:.1f} M shuffled")
    print(f"log10 of {len(lines)} sentences {results['log10']}; kenlm: {results['kenlm_python'] or 'not installed'}")


def repeated_offsets(text: Ragged, times: int) -> np.ndarray:
    """The offsets of ``times`` copies of a text."""
    starts = np.arange(times)[:, None] * text.offsets[-1]
    return np.concatenate([[0], (text.offsets[1:] + starts).reshape(-1)])


if __name__ == "__main__":
    main()
