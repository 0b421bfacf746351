"""The shell: ``partita COMMAND ...``.

``options`` declares what every command takes; ``commands``, ``sampling``, ``figures`` and
``judgement`` hold what each does; ``aims``, ``reading`` and ``writing`` are what they share.
Modules are imported when they are needed, so that ``--help`` and ``--version`` answer at once. An
error is one line on stderr and exit code 2, never a traceback.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from partita._version import __version__
from partita.cli import interrupts, writing

if TYPE_CHECKING:
    import argparse

    from partita.cli.options import Parser

COMMANDS = {
    "estimate": "the partition of least expected loss",
    "compare": "every method side by side, every loss at every answer",
    "uncertainty": "how sure: credible ball, items, clusters, modes, error of the loss",
    "parameters": "what the clusters are like: means, intervals, R-hat",
    "certify": "a lower bound on Binder's loss: how much better another partition could be",
    "diagnose": "whether the chains agree and the draws can be trusted",
    "similarity": "the posterior similarity matrix",
    "plot": "a figure as png, svg or pdf",
    "report": "one HTML file with all of it, to send to a colleague",
    "run": "from a data file to a partition: sample, estimate, report",
    "sample": "draws of the partition of the rows of a data file",
    "info": "what is in a file of draws, and what was assumed when reading it",
    "completion": "a script that completes these words in bash, zsh or fish",
}
_ELSEWHERE = {
    "sample": "sampling",
    "run": "sampling",
    "plot": "figures",
    "uncertainty": "judgement",
}  # modules of those that are not in ``commands``
_NO_THREAD = "can't start new thread"  # Python says so in a plain RuntimeError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; where Ctrl-C ended it, leave with its own."""
    words = list(sys.argv[1:] if argv is None else argv)
    with interrupts.heard(to_the_end=argv is None) as heard:
        code = _attempt(words, heard)
        if argv is None and code == interrupts.CODE:
            interrupts.leave()
    return code


def _attempt(words: list[str], heard: interrupts.Interrupts) -> int:
    """Run one command; an error becomes a line and a code."""
    try:
        _occupy_closed_streams()
        return _dispatch(words)
    except SystemExit as left:  # of the parser, which has said why
        return int(left.code or 0)
    except KeyboardInterrupt as error:
        return _interrupted(error)
    except BrokenPipeError:
        # The reader (head, less) has gone; leave without a complaint at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        from partita.errors import PartitaError

        if isinstance(error, PartitaError | OSError):
            return _complain(str(error))
        if isinstance(error, MemoryError):
            return _complain("out of memory; burn or thin the draws, or give a smaller `n_jobs`.")
        if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
            return _complain("the system allows no more threads; give a smaller `n_jobs`.")
        if heard.came:  # an import that Ctrl-C broke off
            return _interrupted(error)
        raise


def _occupy_closed_streams() -> None:
    """Put nothing in place of streams that are closed: a file opened later would be in theirs."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _interrupted(error: BaseException) -> int:
    said = str(error) if isinstance(error, KeyboardInterrupt) else ""
    why = said or "there was no result yet, and nothing was written."
    return _complain(f"interrupted; {why}", code=interrupts.CODE)


def _complain(message: str, *, code: int = 2) -> int:
    writing.say(f"partita: {message}")
    return code


def _dispatch(words: list[str]) -> int:
    if words[:1] == ["--complete"]:
        from partita.cli.completion import offered

        print(*offered(words[1:]), sep="\n")
        return 0
    if not words or words[0] not in COMMANDS:
        return _without_command(words)
    arguments = parser_of(words[0]).parse_args(words[1:])
    arguments.words, arguments.command = words, words[0]
    warnings.showwarning = lambda message, *_, **__: writing.say(f"partita: warning: {message}")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    from partita.cli.waiting import announced
    from partita.parallel import Progress

    Progress.is_hidden = bool(arguments.quiet)
    try:
        writing.check_output(arguments)
        with announced(words[0]):
            _command(words[0])(arguments)
    finally:
        Progress.is_hidden = False
    if sys.stdout is not None:
        sys.stdout.flush()
    return 0


def parser_of(name: str) -> Parser:
    """Return the parser of one command."""
    from partita.cli import options

    return options.parser_of(name, _command(name).__doc__)


def _command(name: str) -> Callable[[argparse.Namespace], None]:
    """What a command does; its docstring is what ``--help`` says of it."""
    found: Callable[[argparse.Namespace], None]
    found = getattr(import_module(f"partita.cli.{_ELSEWHERE.get(name, 'commands')}"), name)
    return found


def _without_command(words: list[str]) -> int:
    """Help, the version, or an error."""
    from partita.cli.options import Parser

    width = max(map(len, COMMANDS)) + 2
    listed = "\n".join(f"  {name:{width}}{text}" for name, text in COMMANDS.items())
    parser = Parser(
        prog="partita",
        description="From posterior draws of a clustering to the partition to report.\n\n"
        f"commands:\n{listed}",
        epilog="partita COMMAND --help says more about a command.",
        usage="partita COMMAND ...",
    )
    parser.add_argument("--version", action="version", version=f"partita {__version__}")
    if not words:
        parser.print_help()
    elif words[0].startswith("-"):
        parser.parse_args(words)
    else:
        from partita.validate import did_you_mean

        meant = did_you_mean(words[0], COMMANDS)
        parser.error(f"unknown command {words[0]!r}.{meant} Choose from {', '.join(COMMANDS)}")
    return 2
