"""``python -m partita`` and the command ``partita``."""

import os
import sys


def run() -> None:
    """Run the shell; Ctrl-C before or after a command's own work is no traceback either."""
    try:
        # Idle threads of OpenBLAS spin for 2^26 cycles, 20 ms: as long as a short command works.
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
        from partita.cli import main

        code = main()
    except KeyboardInterrupt:
        os.write(2, b"partita: interrupted.\n")
        os._exit(130)
    sys.exit(code)


if __name__ == "__main__":
    run()
