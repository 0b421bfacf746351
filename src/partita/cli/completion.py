"""What Tab offers: each shell's script asks ``partita --complete`` with the words typed so far."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

_BASH = """\
_partita() {
  local IFS=$'\\n'
  COMPREPLY=( $(partita --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) )
}
complete -o bashdefault -o default -F _partita partita
"""
_ZSH = """\
#compdef partita
_partita() {
  local -a found
  found=(${(f)"$(partita --complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then compadd -- $found; else _files; fi
}
if [[ $funcstack[1] == _partita ]]; then _partita "$@"; else compdef _partita partita; fi
"""
_FISH = """\
function __partita_complete
    set -l words (commandline -opc) (commandline -ct)
    partita --complete $words[2..-1] 2>/dev/null
end
complete -c partita -n __fish_use_subcommand -f
complete -c partita -a '(__partita_complete)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def offered(words: list[str]) -> list[str]:
    """Return what may stand in place of the last word; nothing where a file name may."""
    from partita.cli import COMMANDS, parser_of

    *before, current = words or [""]
    if current == "=":  # bash makes words of --loss=vi: --loss, = and vi
        current = ""
    before = [word for word in before if word != "="]
    if not before:
        return _beginning(current, [*COMMANDS, "--help", "--version"])
    if before[0] not in COMMANDS:
        return []
    parser = parser_of(before[0])
    flags = {flag: action for action in parser._actions for flag in action.option_strings}

    def words_of(action: argparse.Action) -> tuple[str, ...]:
        return parser.names.get(action.dest, ())

    flag, is_joined, value = current.partition("=")
    if is_joined and flag in flags:
        return [f"{flag}={word}" for word in _beginning(value, words_of(flags[flag]))]
    last = flags.get(before[-1])
    if last is not None and last.nargs != 0:
        return _beginning(current, words_of(last))
    if current.startswith("-"):
        return _beginning(current, flags)
    places = [action for action in parser._actions if not action.option_strings]
    position = _n_places(before[1:], flags)
    return _beginning(current, words_of(places[position])) if position < len(places) else []


def _n_places(words: list[str], flags: dict[str, argparse.Action]) -> int:
    """The number of words that are neither flags nor their values."""
    count, is_value = 0, False
    for word in words:
        count += not is_value and not word.startswith("-")
        is_value = word in flags and flags[word].nargs != 0
    return count


def _beginning(current: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(current)]
