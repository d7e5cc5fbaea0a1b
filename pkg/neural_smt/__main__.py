"""``python -m neural_smt``."""

import sys

from neural_smt.cli import main

sys.exit(main())
