"""``python -m neural_smt``, and the command ``neural-smt``."""

import signal
import sys


def main() -> int:
    """Run a command, see ``neural_smt.cli``; an interrupt while its modules are loaded ends the process at once."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from neural_smt import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
