"""The RNN encoder-decoder of Cho et al. (2014): log p(target phrase | source phrase), and its model folder."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from neural_smt.errors import UserError
from neural_smt.networks.device import ExactLinear, Linear, rounded
from neural_smt.networks.folder import DrawnNetwork, NetworkConfig, Trained
from neural_smt.networks.layers import GatedUnit, MaxoutNetwork, PlainUnit
from neural_smt.networks.packing import Packed, PairBatch
from neural_smt.networks.softmax import OutputLayer

Choice = Literal["code", "paper"]


@dataclass(frozen=True)
class Conventions:
    """One entry, ``"code"`` or ``"paper"``, per difference between Cho et al. (2014) and its released program.

    summary     c, the representation of the source phrase.
                paper (supplement A.1): c = tanh(V h_N).
                code: c = h_N, the encoder's state after the end symbol; there is no V.
    reset       the reset gate r of the decoder.
                paper (supplement A.1.1): tanh(W' e(y) + r * (U' h' + C c)), the gate closes the context too.
                code: tanh(W' e(y) + U' (r * h') + C c), the gate acts before U' and leaves the context alone.
                (The encoder has no context; both apply r before U, equation 8.)
    first_step  the state that predicts the first word.
                paper: h'_1, after one transition from h'_0 on e(y_0) = 0.
                code: h'_0 = tanh(V' c + b) itself; the first transition consumes y_1.
    objective   what a minibatch's gradient is taken of, before its norm is clipped.
                paper (equation 4): the mean log-likelihood of the pairs.
                code: its sum over all words of the batch.
    sampling    how minibatches are drawn.
                paper (section 4.1.1): at random for each update; here, a new permutation of the pairs in each epoch.
                code: one permutation made before training, repeated in every epoch.

    Not switched, because nothing depends on it: the code's update gate is u = 1 - z. Not switched, because they are
    sizes: the supplement's 500-dimensional embeddings and its G = G_l G_r of rank 500, which neither section 4.1.1
    (rank 100) nor the code (100) uses; set ``embedding`` and ``rank`` instead. The paper's equations omit biases
    ("to make the equations uncluttered"), so the code's are used: embedding, candidate input, decoder initialiser,
    hidden readout and softmax have one, gates and context projections have none.
    """

    summary: Choice = "code"
    reset: Choice = "code"
    first_step: Choice = "code"
    objective: Choice = "code"
    sampling: Choice = "code"

    @classmethod
    def following(cls, conventions: str | dict[str, Any]) -> "Conventions":
        """From ``"code"``, ``"paper"``, or a mapping of single differences (those left out follow the code)."""
        if isinstance(conventions, str):
            conventions = {field.name: conventions for field in fields(cls)}
        return cls(**conventions)


@dataclass(frozen=True)
class EncoderDecoderConfig(NetworkConfig):
    """Sizes of an encoder-decoder; the defaults are the released configuration of Cho et al. (2014).

    source_words, target_words: entries of the shortlists, reserved ones included; hidden: units of each recurrent
    layer; embedding: dimensions of a word (the rank of word -> hidden); maxout: units of the readout, each the larger
    of two; rank: rank of the product of two matrices between maxout and softmax.
    unit: ``gated`` hidden units (section 2.3) or plain ``tanh`` units.
    direction: what is read and what is predicted, ``forward`` p(target | source) or ``backward`` p(source | target),
    which the paper did not try. A backward network's source side is the target language.
    """

    kind, title = "encoder_decoder", "an encoder-decoder"

    source_words: int
    target_words: int
    hidden: int = 1000
    embedding: int = 100
    maxout: int = 500
    rank: int = 100
    conventions: Conventions = field(default_factory=Conventions)
    unit: Literal["gated", "tanh"] = "gated"
    direction: Literal["forward", "backward"] = "forward"

    def __post_init__(self) -> None:
        if self.unit == "tanh" and self.conventions.reset == "paper":
            raise UserError("tanh units have no reset gate that could follow the paper; set conventions: {reset: code}")

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "EncoderDecoderConfig":
        """See ``NetworkConfig``."""
        return super().from_json({**values, "conventions": Conventions.following(values["conventions"])})


class Context(NamedTuple):
    """What the decoder needs of ``B`` source phrases, computed once for each.

    initial: h'_0, ``[B, H]``; inputs: the context terms added to the decoder's inputs, ``[B, 3H]`` (``[B, H]`` of tanh
    units); gated: the term under the reset gate, ``[B, H]``, or None (``Conventions.reset``); readout: O_c c,
    ``[B, 2M]``.
    """

    initial: Tensor
    inputs: Tensor
    gated: Tensor | None
    readout: Tensor

    def take(self, rows: Tensor) -> "Context":
        """The contexts of ``rows`` (int64), in that order."""
        # Several times as fast as indexing.
        return Context._make(None if part is None else part.index_select(0, rows) for part in self)


class EncoderDecoder(DrawnNetwork, MaxoutNetwork):
    """A recurrent encoder, a recurrent decoder, a maxout readout and a softmax over the shortlist.

    Symbols are those of the paper's supplement. ``H`` hidden units, ``E`` embedding dimensions, ``M`` maxout units of
    two pieces each, rank ``R``, ``V`` target words. Weights are stored as ``[outputs, inputs]``.
    """

    Config = EncoderDecoderConfig

    def __init__(self, config: EncoderDecoderConfig, seed: int | None = 0):
        super().__init__(config)
        hidden, embedding, conventions = config.hidden, config.embedding, config.conventions
        unit = GatedUnit if config.unit == "gated" else PlainUnit
        self.encoder = unit(embedding, hidden)
        self.decoder = unit(embedding, hidden, reset_after=conventions.reset == "paper")
        # V
        self.summary = ExactLinear(hidden, hidden) if conventions.summary == "paper" else None
        # V' and its bias
        self.initialiser = ExactLinear(hidden, hidden)
        # C, and C_z, C_r where there are gates
        self.context = Linear(hidden, self.decoder.blocks * hidden, bias=False)
        self.add_readout(hidden)
        # G_l of G = G_l G_r, and the bias of the softmax
        self.output = OutputLayer(config.rank, config.target_words)
        if seed is not None:  # else weights will be loaded
            self._initialise(np.random.default_rng(seed))

    def encode(self, source: Packed, mask: Tensor | None = None) -> Tensor:
        """c of every row: ``[B, H]``. The encoder starts at 0 and reads the phrase and its end symbol.

        mask: ``[N, E]``, what the embeddings are multiplied by.
        """
        inputs = self.encoder.inputs(self.source_embedding(source.words, mask))
        initial = self.encoder.candidate_weight.new_zeros(source.sizes[0], self.config.hidden)
        return self.summarise(self.encoder(inputs, initial, source.sizes).index_select(0, source.last))

    def summarise(self, states: Tensor) -> Tensor:
        """c from the encoder's state after the end symbol, ``[B, H]`` -> ``[B, H]`` (``Conventions.summary``)."""
        return states if self.summary is None else self.summary(states).tanh()

    def decoder_context(self, summary: Tensor) -> Context:
        """Everything the decoder reads of c, ``[B, H]``."""
        hidden = self.config.hidden
        read = rounded(summary)
        terms = self.context(read)
        gated = None
        if self.decoder.reset_after:
            # Under the reset gate instead of beside it; the sum below must not see it twice.
            gated = terms[:, :hidden].to(summary.dtype)
            terms = nn.functional.pad(terms[:, hidden:], (hidden, 0))
        initial = self.initialiser(summary).tanh()
        return Context(initial, terms, gated, self.context_readout(read))

    def forward(self, batch: PairBatch) -> Tensor:
        """Natural log p(target | source), end symbol included, of every pair of the batch: ``[B]``, in pair order."""
        target, masks = batch.target, batch.masks()
        context = self.decoder_context(self.encode(batch.source, masks.source)).take(batch.pairing)
        embedded = rounded(self.target_embedding(target.before, masks.target))
        inputs = self.decoder.inputs(embedded) + context.inputs.index_select(0, target.rows[batch.pairs :])
        sizes = target.sizes[1:]
        initial = context.initial
        if self.config.conventions.first_step == "paper":
            nothing = embedded.new_zeros(batch.pairs, embedded.shape[1])
            inputs = torch.cat((self.decoder.inputs(nothing) + context.inputs, inputs))
            sizes = target.sizes
        states = self.decoder(inputs, initial, sizes, context.gated)
        if self.config.conventions.first_step == "code":
            states = torch.cat((initial, states))
        words = nn.functional.pad(self.word_readout(embedded), (0, 0, batch.pairs, 0))
        inner = self.before_softmax(states, words, context.readout.index_select(0, target.rows), masks.readout)
        ids, places, chances = batch.sample or (None, target.words, None)
        scores = self.output.scores(inner, ids, places, words.dtype, chances, batch.smoothing)
        return batch.of_pairs(scores)


@dataclass(frozen=True)
class Prefixes:
    """``n`` target prefixes: state h', ``[n, H]``; readout of the last word, ``[n, 2M]`` (or ``[1, 2M]``, 0, when
    there is none); owner: int64 ``[n]``, the source phrase of each.
    """

    state: Tensor
    words: Tensor
    owner: Tensor


class StepDecoder:
    """The decoder, one word at a time, over the prefixes of ``S`` source phrases.

    What decoder and readout add for a word is a table with a row per word, made once, in the type to which matrix
    products are rounded.
    """

    def __init__(self, network: EncoderDecoder):
        self.network = network
        target = network.target_embedding.weight + network.target_embedding.bias
        self.inputs, self.readouts = network.decoder.inputs(target), network.word_readout(target)

    def begin(self, summaries: Tensor) -> tuple[Context, Prefixes]:
        """What the decoder needs of c of ``S`` source phrases, ``[S, H]``, and their empty prefixes."""
        network, context = self.network, self.network.decoder_context(summaries)
        state = context.initial
        if network.config.conventions.first_step == "paper":
            nothing = network.decoder.inputs(state.new_zeros(1, network.config.embedding))
            state = network.decoder.step(nothing + context.inputs, state, context.gated)
        nothing = self.readouts.new_zeros(1, self.readouts.shape[1])
        return context, Prefixes(state, nothing, torch.arange(len(state), device=state.device))

    def before_softmax(self, context: Context, prefixes: Prefixes) -> Tensor:
        """z of the words that may come next, ``[n, R]``."""
        readout = context.readout.index_select(0, prefixes.owner)
        return self.network.before_softmax(prefixes.state, prefixes.words, readout)

    def extend(self, context: Context, prefixes: Prefixes, parents: Tensor, words: Tensor) -> Prefixes:
        """The prefixes ``parents`` (int64 ``[m]``), each with one more of ``words`` (int64 ``[m]``)."""
        # Selecting is several times as fast as indexing.
        owner = prefixes.owner.index_select(0, parents)
        gated = None if context.gated is None else context.gated.index_select(0, owner)
        inputs = self.inputs.index_select(0, words).add_(context.inputs.index_select(0, owner))
        state = self.network.decoder.step(inputs, prefixes.state.index_select(0, parents), gated)
        return Prefixes(state, self.readouts.index_select(0, words), owner)


def load_forward_model(folder: Path, device: torch.device) -> Trained[EncoderDecoder]:
    """A trained encoder-decoder that reads source phrases; ``UserError`` for one that reads target phrases."""
    model = Trained.load(folder, EncoderDecoder, device)
    if model.network.config.direction != "forward":
        raise UserError(f"{folder}: this network reads target phrases; name one of direction: forward")
    return model
