"""Print a script by which a shell completes the words of partita when Tab is pressed.

    bash   eval "$(partita completion bash)"            in ~/.bashrc
    zsh    eval "$(partita completion zsh)"             in ~/.zshrc, after compinit
    fish   partita completion fish | source             in ~/.config/fish/config.fish

The script knows the commands, their options, and the names of losses, searches, methods and
figures; it is made from what the commands declare and never starts partita itself.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from partita import validate
from partita.cli import _shells


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita completion``."""
    parser.add_argument("shell", metavar="SHELL", help=f"one of {', '.join(_shells.SCRIPTS)}")


def run(arguments: argparse.Namespace) -> None:
    """Write the script for one shell."""
    script = validate.lookup("shell", arguments.shell, _shells.SCRIPTS)
    sys.stdout.write(script(list(commands())))


@dataclass(frozen=True)
class Option:
    """One option or positional argument, as a shell needs to know it.

    Attributes
    ----------
    flags : tuple of str
        ``("-o", "--output")``; empty for a positional argument.
    takes_value : bool
    values : tuple of str
        The words to choose from, if they are known.
    is_file : bool
        Whether a file name may stand there.
    is_repeated : bool
        Whether it may stand there more than once.
    about : str
    """

    flags: tuple[str, ...]
    takes_value: bool
    values: tuple[str, ...]
    is_file: bool
    is_repeated: bool
    about: str


@dataclass(frozen=True)
class Command:
    """A command and its arguments."""

    name: str
    about: str
    options: tuple[Option, ...]

    @property
    def positional(self) -> tuple[Option, ...]:
        """The arguments that have no flag, in order."""
        return tuple(option for option in self.options if not option.flags)

    @property
    def flagged(self) -> tuple[Option, ...]:
        """The arguments that have flags."""
        return tuple(option for option in self.options if option.flags)


def commands() -> Iterable[Command]:
    """Yield every command as its parser declares it."""
    from partita.cli import COMMANDS, parser_of

    named = _named_values()
    for name, about in COMMANDS.items():
        actions = parser_of(name)._actions
        yield Command(name, about, tuple(_option(action, named) for action in actions))


def _named_values() -> dict[str, tuple[str, ...]]:
    """Return the words that flags, or positional arguments by metavar, resolve to by name.

    They are no choices of the parser, so that a wrong one gets the words of ``validate``.
    """
    from partita import losses, nmf, search, studies

    return {
        "--loss": tuple(losses.NAMES),
        "--ball-loss": tuple(k for k, v in losses.NAMES.items() if v.needs != "similarity"),
        "--search": tuple(search.NAMES),
        "--method": tuple(search.METHODS),
        "--model": tuple(nmf.NAMES),
        "NAME": tuple(studies.NAMES),
        "SHELL": tuple(_shells.SCRIPTS),
    }


def _option(action: argparse.Action, named: dict[str, tuple[str, ...]]) -> Option:
    key = action.option_strings[-1] if action.option_strings else str(action.metavar)
    values = tuple(map(str, action.choices or named.get(key, ())))
    takes_value = action.nargs != 0
    return Option(
        flags=tuple(action.option_strings),
        takes_value=takes_value,
        values=values,
        is_file=takes_value and not values and action.type is None,
        is_repeated=action.nargs in ("*", "+") or isinstance(action, argparse._AppendAction),
        about=_plain(action),
    )


def _plain(action: argparse.Action) -> str:
    """Return the first words of the help, on one line, for shells that show them."""
    words = (action.help or action.dest).replace("%(default)s", str(action.default)).split()
    first = " ".join(words).split(";")[0]
    return first if len(first) <= 60 else first[:57].rsplit(" ", 1)[0] + " ..."
