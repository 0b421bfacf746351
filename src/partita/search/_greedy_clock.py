"""When the runs of a search stop."""

from __future__ import annotations

import time

import numpy as np


class Clock:
    """When to stop: at a deadline, or when told to; and what was kept when.

    ``history`` holds the seconds since the start, the loss of what a run kept then, and the share
    of the draws that this loss was taken on.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        self.began = time.monotonic()
        self.deadline = np.inf if time_limit is None else self.began + time_limit
        self.was_stopped = False
        self.share = 1.0
        self.history: list[tuple[float, float, float]] = []

    def reserve(self, seconds: float) -> None:
        """End so much sooner, but at most by half of the time, for what comes after the search."""
        if np.isfinite(self.deadline):
            self.deadline -= min(seconds, 0.5 * (self.deadline - self.began))

    def note(self, loss: float) -> None:
        """Remember that a run kept something of this loss now."""
        self.history.append((time.monotonic() - self.began, loss, self.share))

    def stop(self) -> None:
        """Make every run that looks at this clock end."""
        self.was_stopped = True

    def is_up(self) -> bool:
        """Whether the time is over."""
        return self.was_stopped or time.monotonic() >= self.deadline
