"""The step of the report that asks systems how they translate single sentences."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neural_smt.decoding.lattices.lattice import max_marginals, prune
from neural_smt.decoding.search import Decoder
from neural_smt.experiment.system_folder import System
from neural_smt.io.files import read_lines, write_json
from neural_smt.io.ragged import Ragged
from neural_smt.report.translations import Arc, DrawnLattice, Explained, Explanation, read_chosen
from neural_smt.translation.translators import SearchTranslator, load_translator
from neural_smt.vocabulary import spelled

if TYPE_CHECKING:
    from neural_smt.networks.attention.network import AttentionNetwork
    from neural_smt.networks.folder import Trained
    from neural_smt.translation.attention import AttentionTranslator

ARCS = 40
"""A picture with more is hard to read."""


def explain_sentences(*, system: Path, run: int, text: Path, chosen: Path, output: Path, device: str = "cpu") -> None:
    """Translate chosen sentences of a tokenised text again, and write (JSON) how that is done, see ``Explanation``.

    system: see ``system_folder``; chosen: what ``choose_sentences`` wrote.
    """
    lines = read_lines(text)
    numbers, number_drawn = read_chosen(chosen, text, lines)
    sentences = [lines[number].split() for number in numbers]
    drawn = None if number_drawn is None else numbers.index(number_drawn)
    explained_system = System.load(system)
    translator = load_translator(explained_system, run, device)
    if explained_system["kind"] == "attention":
        explanation = Explanation(_with_attention(translator, sentences, drawn))  # type: ignore[arg-type]  # of that kind
    else:
        explained = []
        for tokens, translated in zip(sentences, translator.translate(sentences), strict=True):
            best = translated.best
            phrases = [list(span) for span in best.trace.segmentation]
            links = [list(link) for link in sorted(best.trace.alignment)]
            explained.append(Explained(spelled(tokens), spelled(best.tokens), phrases, links))
        lattice = None
        if drawn is not None and isinstance(translator, SearchTranslator) and translator.decoder.feature is None:
            lattice = draw_lattice(translator.decoder, sentences[drawn])
        explanation = Explanation(explained, lattice)
    write_json(output, asdict(explanation))


def _with_attention(
    translator: "AttentionTranslator", sentences: list[list[str]], drawn: int | None
) -> list[Explained]:
    """With the attention weights of one sentence."""
    lines = [" ".join(tokens) for tokens in sentences]
    found = translator.network.search(lines, translator.maker.sets(lines) if translator.maker and lines else None)
    explained = []
    for number, (source, hypotheses) in enumerate(zip(sentences, found.hypotheses, strict=True)):
        best = hypotheses[0]
        weights = attention_weights(translator.network.model, source, best.words) if number == drawn else []
        links = [list(link) for link in best.links(len(source))]
        target = spelled(translator.network.tokens(best, source))
        explained.append(Explained(spelled(source), target, [], links, weights))
    return explained


def draw_lattice(decoder: Decoder, tokens: list[str], most: int = ARCS) -> DrawnLattice | None:
    """The arcs of a sentence's best translations, at most ``most`` besides those of the best; None without words."""
    (whole,) = decoder.lattices([tokens])
    if whole is None:
        return None
    # the largest density that leaves so many; arcs of equal score are kept or dropped together
    smaller = (prune(whole, density=halves / 2) for halves in range(2 * most, 1, -1))
    lattice = next((one for one in smaller if len(one.tails) <= most), prune(whole, density=1.0))
    marginals = max_marginals(lattice)
    words = lattice.spell()
    behind = (marginals.max() - marginals).tolist()
    places = zip(lattice.tails, lattice.heads, lattice.starts, lattice.stops, strict=True)
    arcs = [
        Arc(int(tail), int(head), [int(start), int(stop)], spelled(words[number]), round(max(behind[number], 0.0), 4))
        for number, (tail, head, start, stop) in enumerate(places)
    ]
    # how many source words each node has translated; arcs leave nodes that others have reached before
    covered = [0] * (len(lattice.arc_offsets) - 1)
    for arc in arcs:
        covered[arc.head] = covered[arc.tail] + arc.source[1] - arc.source[0]
    return DrawnLattice(spelled(tokens), covered, arcs, len(whole.tails))


def attention_weights(model: "Trained[AttentionNetwork]", source: list[str], words: np.ndarray) -> list[list[float]]:
    """alpha, a row for each word (int32 ``[t]``, target ids) and the end symbol, a column for each source word and its
    end symbol, with three digits.
    """
    from neural_smt.networks.attention.network import pack_batch  # loads PyTorch

    place = model.network.output.weight.device
    sources = model.source.encode_words([" ".join(source)])
    batch = pack_batch(sources, Ragged.from_lists([words.tolist()]), place)
    (alphas,) = model.network.alignments(batch)
    return [[round(float(value), 3) for value in row] for row in alphas]
