"""The completion scripts of three shells, from a list of commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partita.cli._completion import Command, Option

FRONT = {"--help": "say what there is", "--version": "say which version this is"}

_BASH = """\
# Completion of partita for bash, made by `partita completion bash`.
_partita() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} words= position=0 i
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then
    COMPREPLY=( $(compgen -W "{front}" -- "$cur") )
    return
  fi
  # bash makes words of --loss=vi: --loss, = and vi.
  if [[ $cur == "=" ]]; then cur=; fi
  if [[ $prev == "=" ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  case "${{COMP_WORDS[1]}} $prev" in
{values}
  esac
  if [[ $cur == -* ]]; then
    case ${{COMP_WORDS[1]}} in
{flags}
    esac
    COMPREPLY=( $(compgen -W "$words" -- "$cur") )
    return
  fi
  for (( i = 2; i < COMP_CWORD; i++ )); do
    if [[ ${{COMP_WORDS[i]}} != [-=]* && ${{COMP_WORDS[i-1]}} != = ]]; then
      case " ${{COMP_WORDS[1]}} ${{COMP_WORDS[i-1]}} " in
{taking}
        *) (( ++position )) ;;
      esac
    fi
  done
  case "${{COMP_WORDS[1]}} $position" in
{places}
  esac
  if [[ $words ]]; then COMPREPLY=( $(compgen -W "$words" -- "$cur") ); fi
}}
complete -o bashdefault -o default -F _partita partita
"""


def bash(commands: Sequence[Command]) -> str:
    """Return the script for bash. Where it offers nothing, bash offers file names."""
    values, flags, taking, places = [], [], [], []
    for command in commands:
        valued = [option for option in command.flagged if option.takes_value]
        values += [_bash_values(command.name, option) for option in valued]
        listed = " ".join(flag for option in command.flagged for flag in option.flags)
        flags.append(f'      {command.name}) words="{listed}" ;;')
        if valued:
            spelt = [f'" {command.name} {flag} "' for option in valued for flag in option.flags]
            taking.append(f"        {'|'.join(spelt)}) ;;")
        places += _bash_places(command)
    front = [*(command.name for command in commands), *FRONT]
    return _BASH.format(
        front=" ".join(front),
        values="\n".join(values),
        flags="\n".join(flags),
        taking="\n".join(taking),
        places="\n".join(places),
    )


def _bash_values(name: str, option: Option) -> str:
    pattern = "|".join(f'"{name} {flag}"' for flag in option.flags)
    if option.values:
        words = " ".join(option.values)
        return f'    {pattern}) COMPREPLY=( $(compgen -W "{words}" -- "$cur") ); return ;;'
    if option.is_file:
        return f"    {pattern}) return ;;"
    return f"    {pattern}) compopt +o default +o bashdefault 2>/dev/null; return ;;"


def _bash_places(command: Command) -> list[str]:
    places = []
    for position, option in enumerate(command.positional):
        if option.values:
            place = "*" if option.is_repeated else str(position)
            words = " ".join(option.values)
            places.append(f'    "{command.name} "{place}) words="{words}" ;;')
    return places


_ZSH = """\
#compdef partita
# Completion of partita for zsh, made by `partita completion zsh`.
_partita() {{
  local -a commands
  commands=(
{commands}
  )
  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    _arguments {front}
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{cases}
  esac
}}
if [[ $funcstack[1] == _partita ]]; then _partita "$@"; else compdef _partita partita; fi
"""


def zsh(commands: Sequence[Command]) -> str:
    """Return the script for zsh, to be sourced or put where it autoloads."""
    listed = [f"    {_quoted(f'{c.name}:{c.about}')}" for c in commands]
    cases = []
    for command in commands:
        specs = [spec for option in command.options for spec in _zsh_specs(command, option)]
        lines = " \\\n      ".join(specs)
        cases.append(f"    {command.name}) _arguments -s \\\n      {lines} ;;")
    front = " ".join(_quoted(f"{flag}[{about}]") for flag, about in FRONT.items())
    return _ZSH.format(commands="\n".join(listed), cases="\n".join(cases), front=front)


def _zsh_specs(command: Command, option: Option) -> list[str]:
    about = option.about
    for mark in "\\[]:":
        about = about.replace(mark, "\\" + mark)
    what = f"({' '.join(option.values)})" if option.values else "_files" * option.is_file or " "
    if not option.flags:
        position = command.positional.index(option) + 1
        return [_quoted(f"{'*' if option.is_repeated else position}:{about}:{what}")]
    value = f":{about}:{what}" if option.takes_value else ""
    again = "*" if option.is_repeated else f"({' '.join(option.flags)})"
    return [
        _quoted(f"{again}{flag}{_zsh_joint(flag, option)}[{about}]{value}") for flag in option.flags
    ]


def _zsh_joint(flag: str, option: Option) -> str:
    """Return how a value may follow: ``--loss=vi`` or ``--loss vi``, ``-ofile`` or ``-o file``."""
    if not option.takes_value:
        return ""
    return "=" if flag.startswith("--") else "+"


_FISH = """\
# Completion of partita for fish, made by `partita completion fish`.
function __partita_command_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = "$argv[1]"
end"""


def fish(commands: Sequence[Command]) -> str:
    """Return the script for fish."""
    lines = [_FISH]
    for command in commands:
        about = _quoted(command.about)
        first = "complete -c partita -n __fish_use_subcommand"
        lines.append(f"{first} -f -a {command.name} -d {about}")
    for flag, about in FRONT.items():
        lines.append(f"{first} -f -l {flag[2:]} -d {_quoted(about)}")
    for command in commands:
        seen = f"complete -c partita -n '__partita_command_is {command.name}'"
        lines += [f"{seen} {_fish_words(option)}" for option in command.options if _said(option)]
    return "\n".join(lines) + "\n"


def _said(option: Option) -> bool:
    return bool(option.flags or option.values)


def _fish_words(option: Option) -> str:
    words = [f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in option.flags]
    if option.takes_value and option.flags:
        words.append("-r" if option.is_file else "-x")
    if option.values:
        words += ["-a", _quoted(" ".join(option.values))]
    if not option.takes_value:
        words.append("-f")
    return " ".join([*words, "-d", _quoted(option.about)])


def _quoted(text: str) -> str:
    """Return the text as one word of any of the three shells."""
    return "'" + text.replace("'", "’") + "'"


SCRIPTS: dict[str, Callable[[Sequence[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
