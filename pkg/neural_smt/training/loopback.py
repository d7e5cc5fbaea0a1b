"""Where processes of one machine meet: a port that no other machine can reach.

PyTorch's own rendezvous listens on all interfaces, whatever address it is given.
"""

import os
import socket

from torch.distributed import PrefixStore, TCPStore
from torch.distributed.elastic.rendezvous import (
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStoreInfo,
    rendezvous_handler_registry,
)

ADDRESS = "127.0.0.1"

BACKEND = "neural_smt_loopback"
"""The name under which ``elastic_launch`` knows this rendezvous."""


class LoopbackRendezvous(RendezvousHandler):
    """One agent, all of whose workers find each other by its store."""

    def __init__(self, run: str):
        self.run = run
        self.store: TCPStore | None = None

    def get_backend(self) -> str:
        """Its name."""
        return BACKEND

    @property
    def use_agent_store(self) -> bool:
        """Workers use the agent's store and open none of their own."""
        return True

    def next_rendezvous(self) -> RendezvousInfo:
        """Open the store."""
        if self.store is None:
            listener = socket.create_server((ADDRESS, 0))
            port = listener.getsockname()[1]
            self.store = TCPStore(ADDRESS, port, is_master=True, master_listen_fd=listener.detach())
        meeting = RendezvousStoreInfo(ADDRESS, self.store.port)
        return RendezvousInfo(PrefixStore(self.run, self.store), 0, 1, meeting)

    def is_closed(self) -> bool:
        """Never, while there is an agent."""
        return False

    def set_closed(self) -> None:
        """Nobody else comes."""

    def num_nodes_waiting(self) -> int:
        """There are no other machines."""
        return 0

    def get_run_id(self) -> str:
        """The name of what is run."""
        return self.run

    def shutdown(self) -> bool:
        """Close the store."""
        self.store = None
        return True


def _make(parameters: RendezvousParameters) -> RendezvousHandler:
    return LoopbackRendezvous(parameters.run_id)


def register() -> None:
    """Make this rendezvous known to ``elastic_launch``; more than once does no harm."""
    rendezvous_handler_registry.register(BACKEND, _make)


def loopback_variables() -> dict[str, str]:
    """Environment variables that keep the talk of workers to this machine, but for those that the user has set."""
    names = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    wanted = {f"{library}_SOCKET_IFNAME": names[0] for library in ("GLOO", "NCCL") if names}
    return {name: value for name, value in wanted.items() if name not in os.environ}
