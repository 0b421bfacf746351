"""How far a long study has come, for a log file as well as for a terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

from partita.distributed import progress


class Clock:
    """A progress bar on a terminal; elsewhere a line on stderr now and then, with the time left.

    Parameters
    ----------
    done, total : int
        What was there before, and what there is to be.
    label : str
        What is counted.
    every : float
        Seconds between two lines.
    """

    def __init__(self, done: int, total: int, label: str, *, every: float = 60.0) -> None:
        self._bar = progress(total, label)
        self._bar.advance(done)
        self._before, self._done, self._total, self._label = done, done, total, label
        self._began = self._told = time.monotonic()
        self._every = every

    def __enter__(self) -> Clock:
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)

    def advance(self, note: str) -> None:
        """Count one more done."""
        self._done += 1
        self._bar.advance(note=note)
        now = time.monotonic()
        if now - self._told >= self._every and not sys.stderr.isatty():
            self._told = now
            print(self.line(now - self._began), file=sys.stderr, flush=True)

    def line(self, seconds: float) -> str:
        """Return how much is done after ``seconds``, and how long the rest would take."""
        rest = seconds / (self._done - self._before) * (self._total - self._done)
        return (
            f"partita: {self._done} of {self._total} {self._label}; {seconds / 60:.0f} minutes "
            f"gone, about {rest / 60:.0f} left."
        )
