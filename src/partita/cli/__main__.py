"""``python -m partita.cli``."""

import sys

from partita.cli import main

sys.exit(main())
