"""``python -m partita`` and the command ``partita``."""

import os
import sys


def run() -> None:
    """Run the shell; Ctrl-C while it is being imported is no traceback either."""
    # Idle threads of OpenBLAS spin for 2^26 cycles, 20 ms: as long as a short command works.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    try:
        from partita.cli import main
    except KeyboardInterrupt:
        os.write(2, b"partita: interrupted; there was no result yet, and nothing was written.\n")
        os._exit(130)
    sys.exit(main())


if __name__ == "__main__":
    run()
