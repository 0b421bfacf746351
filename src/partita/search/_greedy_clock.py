"""When the runs of a search stop."""

from __future__ import annotations

import time

from partita import distributed


class Clock(distributed.Clock):
    """When to stop: at a deadline, or when told to; and what was kept when.

    ``history`` holds the seconds since the start, the loss of what a run kept then, and the share
    of the draws that this loss was taken on.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        super().__init__(time_limit)
        self.share = 1.0
        self.history: list[tuple[float, float, float]] = []

    def note(self, loss: float) -> None:
        """Remember that a run kept something of this loss now."""
        self.history.append((time.monotonic() - self.began, loss, self.share))
