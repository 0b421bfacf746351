"""The shell: ``partita COMMAND ...``, one file a command.

A command's module is imported when it is asked for, so that ``--help`` and ``--version`` answer
at once. An error is one line on stderr and exit code 2, never a traceback.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from partita._version import __version__

COMMANDS = {
    "estimate": "the partition of least expected loss",
    "compare": "every method side by side, every loss at every answer",
    "similarity": "the posterior similarity matrix",
    "run": "from a data file to a partition: sample and estimate",
    "sample": "draws of the partition of the rows of a data file",
    "info": "what is in a file of draws, and what was assumed when reading it",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = _front_door()
    if not words:
        parser.print_help()
        return 2
    if words[0].startswith("-"):
        parser.parse_args(words)
    if words[0] not in COMMANDS:
        parser.error(f"unknown command {words[0]!r}; choose from {', '.join(COMMANDS)}")
    return _carry_out(words[0], words[1:])


def _front_door() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS)) + 2
    listed = "\n".join(f"  {name:{width}}{text}" for name, text in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="partita",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="From posterior draws of a clustering to the partition to report.\n\n"
        f"commands:\n{listed}",
        epilog="partita COMMAND --help says more about a command.",
        usage="partita COMMAND ...",
    )
    parser.add_argument("--version", action="version", version=f"partita {__version__}")
    return parser


def _carry_out(name: str, words: list[str]) -> int:
    from partita.errors import PartitaError

    command = import_module(f"partita.cli._{name}")
    parser = argparse.ArgumentParser(
        prog=f"partita {name}",
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    arguments = parser.parse_args(words)
    _plain_warnings()
    try:
        command.run(arguments)
        sys.stdout.flush()
    except PartitaError as error:
        print(f"partita: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except MemoryError:
        print("partita: out of memory; burn or thin the draws.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("partita: interrupted; nothing was written.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) has gone; leave without a complaint at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0


def _plain_warnings() -> None:
    """Show a warning as one line, without the source line that raised it."""
    import warnings

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"partita: warning: {' '.join(str(message).split())}", file=sys.stderr)

    warnings.showwarning = show
