"""What `make sanitize` has Python run at its start.

Imports come from the path, not from where the environment has partita.
"""

import sys

REDIRECTING = "ScikitBuildRedirectingFinder"
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != REDIRECTING]
