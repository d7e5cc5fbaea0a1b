"""Steps of gated units and of optimisers in float32 on a CPU, each a kernel for Numba in place of a dozen operations of
PyTorch's.
"""

from neural_smt.networks.cpu_kernels.gated import begin_retreat, end_retreat, move, open_gates
from neural_smt.networks.cpu_kernels.optimisers import adadelta, adagrad, adam, shrink

__all__ = ["adadelta", "adagrad", "adam", "begin_retreat", "end_retreat", "move", "open_gates", "shrink"]
