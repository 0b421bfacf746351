"""The shell: ``partita COMMAND ...``, one file a command.

A command's module is imported when it is asked for, so that ``--help`` and ``--version`` answer
at once. An error is one line on stderr and exit code 2, never a traceback.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from partita._version import __version__
from partita.cli import _interrupts
from partita.cli._words import for_the_shell

COMMANDS = {
    "estimate": "the partition of least expected loss",
    "compare": "every method side by side, every loss at every answer",
    "uncertainty": "how sure: credible ball, items, clusters, modes, error of the loss",
    "certify": "a lower bound on Binder's loss: how much better another partition could be",
    "diagnose": "whether the chains agree and the draws can be trusted",
    "similarity": "the posterior similarity matrix",
    "plot": "a figure as png, svg or pdf",
    "report": "one HTML file with all of it, to send to a colleague",
    "run": "from a data file to a partition: sample, estimate, report",
    "sample": "draws of the partition of the rows of a data file",
    "reproduce": "the paper's experiments again, beside the paper's numbers",
    "info": "what is in a file of draws, and what was assumed when reading it",
    "completion": "a script that completes these words in bash, zsh or fish",
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from partita.validate import did_you_mean

            listed = ", ".join(map(repr, action.choices))
            meant = did_you_mean(value, list(action.choices))
            rule = f"got {value!r}.{meant} It must be one of {listed}"
            raise argparse.ArgumentError(action, rule)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and leave with code 2."""
        self.exit(2, f"partita: {' '.join(message.split())}; see {self.prog} --help.\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; where Ctrl-C ended it, leave with its own."""
    words = list(sys.argv[1:] if argv is None else argv)
    with _interrupts.heard() as interrupts:
        code = _attempt(words, interrupts)
        if argv is None and code == _interrupts.CODE:
            _interrupts.leave()
    return code


def _attempt(words: list[str], interrupts: _interrupts.Interrupts) -> int:
    """Run one command; an error becomes a line and a code."""
    try:
        return _dispatch(words)
    except KeyboardInterrupt as error:
        return _interrupted(words, error)
    except BrokenPipeError:
        # The reader (head, less) has gone; leave without a complaint at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError as error:
        return _complain(words, str(error) or "out of memory; burn or thin the draws.")
    except OSError as error:
        return _complain(words, str(error))
    except Exception as error:
        from partita.errors import PartitaError

        if isinstance(error, PartitaError):
            return _complain(words, str(error))
        if interrupts.count:  # an import, or a compiler, that Ctrl-C broke off
            return _interrupted(words, error)
        raise


def _interrupted(words: list[str], error: BaseException) -> int:
    said = str(error) if isinstance(error, KeyboardInterrupt) else ""
    why = said or "there was no result yet, and nothing was written."
    return _complain(words, f"interrupted; {why}", code=_interrupts.CODE)


def _complain(words: list[str], message: str, *, code: int = 2) -> int:
    print(f"partita: {for_the_shell(message, options_of(words[0]))}", file=sys.stderr)
    return code


def _dispatch(words: list[str]) -> int:
    parser = _front_door()
    if not words:
        parser.print_help()
        return 2
    if words[0].startswith("-"):
        parser.parse_args(words)
    if words[0] not in COMMANDS:
        from partita.validate import did_you_mean

        meant = did_you_mean(words[0], COMMANDS)
        parser.error(f"unknown command {words[0]!r}.{meant} Choose from {', '.join(COMMANDS)}")
    arguments = parser_of(words[0]).parse_args(words[1:])
    arguments.words = words
    _plain_warnings(options_of(words[0]))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    _module_of(words[0]).run(arguments)
    sys.stdout.flush()
    return 0


def _module_of(name: str) -> Any:
    return import_module(f"partita.cli._{name}")


def parser_of(name: str) -> Parser:
    """Return the parser of one command."""
    command = _module_of(name)
    parser = Parser(
        prog=f"partita {name}",
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    return parser


def options_of(name: str) -> frozenset[str]:
    """Return the options of one command as they are written, and its places, such as NAME."""
    actions = parser_of(name)._actions
    return frozenset(
        word for action in actions for word in action.option_strings or [str(action.metavar)]
    )


def _front_door() -> Parser:
    width = max(map(len, COMMANDS)) + 2
    listed = "\n".join(f"  {name:{width}}{text}" for name, text in COMMANDS.items())
    parser = Parser(
        prog="partita",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="From posterior draws of a clustering to the partition to report.\n\n"
        f"commands:\n{listed}",
        epilog="partita COMMAND --help says more about a command.",
        usage="partita COMMAND ...",
    )
    parser.add_argument("--version", action="version", version=f"partita {__version__}")
    return parser


def _plain_warnings(options: frozenset[str]) -> None:
    """Show a warning as one line, without the source line that raised it."""
    import warnings

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"partita: warning: {for_the_shell(str(message), options)}", file=sys.stderr)

    warnings.showwarning = show
