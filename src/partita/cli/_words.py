"""Python's words for arguments, turned into the shell's."""

from __future__ import annotations

import re
from collections.abc import Collection

# The options that an argument may go by, where they are not spelt as it is.
_ARGUMENTS = {
    "n_draws": ("--draws", "--burn"),
    "n_burn": ("--burn",),
    "step": ("--thin",),
    "rng": ("--seed",),
    "n_jobs": ("--jobs",),
    "n_runs": ("--runs",),
    "n_init": ("--restarts",),
    "n_chains": ("--chains",),
    "n_modes": ("--modes",),
    "n_clusters": ("--clusters",),
    "methods": ("--method",),
    "configuration": ("--configurations",),
}
_VALUES = (
    (r", or subclass partita\.losses\.RatioLoss", ""),
    (r"use search\.Greedy\(max_clusters=\d+\)", "use --search greedy"),
    (r": Draws\(labels\)\.", " by leaving --similarity out."),
    (r"header=True", "--header"),
    (r"header=False", "--no-header"),
    (r"index=False", "--no-index"),
    (r"\bpass key=(?![\w'])", "pass --key"),
    (r"\(--index 0\) ", ""),
    (r"index=(?!\w)", "--index"),
    (r"`(partita\.)?sample_mixture` draws", "`partita run` draws"),
    (r"see `?Similarity\.from_responsibilities`?", "save logarithms and use --log-weights"),
    (r"see `?(Draws|Similarity)\.from_log_weights`?", "use --log-weights"),
    (r"keep it implicit: [^.]*\.", "use a search that needs no matrix, such as 'draws'."),
)


_OF_MATRICES = {
    True: "pass --similarity.",
    False: "`partita estimate`, `compare` and `certify` take one with --similarity.",
}


def for_the_shell(message: str, options: Collection[str] = ()) -> str:
    """Say a message of the library in the words of the command line.

    Parameters
    ----------
    message : str
    options : collection of str
        Those of the command, such as ``--seed``: an argument that none of them stands for keeps
        its name, and so do those of a call.

    Examples
    --------
    >>> for_the_shell("`n_jobs` must be at least 1; got 0.", ["--jobs"])
    '--jobs must be at least 1; got 0.'
    >>> for_the_shell("leave `device` out, or pass time_limit=3", ["--device", "--time-limit"])
    'leave --device out, or pass --time-limit 3'
    >>> for_the_shell("got NMF('ls', ranks=(2, 3), polish=True)", ["--ranks", "--polish"])
    "got NMF('ls', ranks=(2, 3), polish=True)"
    >>> for_the_shell("pass header=True to leave it out")
    'pass --header to leave it out'
    """
    text = " ".join(message.split())
    text = text.replace("wrap it, Similarity(P).", _OF_MATRICES["--similarity" in options])
    for pattern, words in _VALUES:
        text = re.sub(pattern, words, text)
    text = re.sub(r"`(\w+)`", lambda m: _option(m[1], options) or m[0], text)
    return re.sub(
        r"\w\([^()]*(?:\([^()]*\)[^()]*)*\)|(?<![\w.(])(\w+)=([\w.'\"-]*\w['\"]?)",
        lambda m: f"{option} {m[2]}" if m[1] and (option := _option(m[1], options)) else m[0],
        text,
    )


def _option(name: str, options: Collection[str]) -> str | None:
    """The option of a command that an argument goes by."""
    spelt = ("--" + name.replace("_", "-"), *_ARGUMENTS.get(name, ()), name.upper())
    return next((option for option in spelt if option in options), None)
