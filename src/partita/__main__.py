"""``python -m partita``."""

import sys

from partita.cli import main

sys.exit(main())
