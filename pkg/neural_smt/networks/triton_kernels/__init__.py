"""Steps of recurrent networks, softmaxes and optimisers on a GPU, each a kernel for Triton in place of a dozen of
PyTorch's.

Arrays of networks are those of whole sequences, seen from the first row of a step on: ``rows`` rows of ``H`` numbers
and more, that lie ``..._width`` numbers apart; further units side by side lie ``total`` rows apart. What was multiplied
(``sums``) is packed. Numbers are computed in float32 and rounded where an array is narrower.
"""

from neural_smt.networks.triton_kernels.attention import look, look_back
from neural_smt.networks.triton_kernels.gated import begin_retreat, end_retreat, move, open_gates
from neural_smt.networks.triton_kernels.optimisers import adadelta, adagrad, adam
from neural_smt.networks.triton_kernels.output import softmax, softmax_back
from neural_smt.networks.triton_kernels.recurrent import keeps, recur, recur_back

__all__ = [
    "adadelta",
    "adagrad",
    "adam",
    "begin_retreat",
    "end_retreat",
    "keeps",
    "look",
    "look_back",
    "move",
    "open_gates",
    "recur",
    "recur_back",
    "softmax",
    "softmax_back",
]
