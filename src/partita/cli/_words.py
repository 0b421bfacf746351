"""Python's words for arguments, turned into the shell's."""

from __future__ import annotations

import re

_ARGUMENTS = {
    "n_draws": "--burn",
    "step": "--thin",
    "rng": "--seed",
    "n_jobs": "--jobs",
    "methods": "--method",
    "n_clusters": "--clusters",
    "time_limit": "--time-limit",
    **{name: f"--{name}" for name in ("loss", "search", "method", "truth", "key", "index")},
}
_VALUES = (
    (r"header=True", "--header"),
    (r"header=False", "--no-header"),
    (r"index=False", "--no-index"),
    (r"\bpass key=", "pass --key"),
    (r"\(--index 0\) ", ""),
    (r"index=0", "--index 0"),
    (r"index=", "--index"),
    (
        r"wrap it, Similarity\(P\)\.",
        "`partita estimate` and `partita compare` take one with --similarity.",
    ),
    (r"keep it implicit: [^.]*\.", "use a search that needs no matrix, such as 'draws'."),
)


def for_the_shell(message: str) -> str:
    """Say a message of the library in the words of the command line.

    Examples
    --------
    >>> for_the_shell("`n_jobs` must be at least 1; got 0.")
    '--jobs must be at least 1; got 0.'
    >>> for_the_shell("pass header=True to leave it out")
    'pass --header to leave it out'
    """
    text = " ".join(message.split())
    text = re.sub(r"`(\w+)`", lambda m: _ARGUMENTS.get(m[1], m[0]), text)
    for pattern, words in _VALUES:
        text = re.sub(pattern, words, text)
    return text
