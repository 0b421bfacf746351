"""When the runs of a search stop."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from partita import distributed


class Clock(distributed.Clock):
    """When to stop: at a deadline, or when told to; and what was kept when.

    ``history`` holds the seconds since the start, the loss of what a run kept then, and the share
    of the draws that this loss was taken on. ``has_ended_work`` says that the deadline, not Ctrl-C,
    made something end that would have gone on.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        super().__init__(time_limit)
        self.time_limit, self.share = time_limit, 1.0
        self.history: list[tuple[float, float, float]] = []
        self._notes = True
        self.has_ended_work = False

    def is_up(self) -> bool:
        """Whether the time is over; asked where there is more to do."""
        if not super().is_up():
            return False
        if not self.was_stopped:
            self.has_ended_work = True
            distributed.notice()
        return True

    def note(self, loss: float) -> None:
        """Remember that a run kept something of this loss now."""
        if self._notes:
            self.history.append((time.monotonic() - self.began, loss, self.share))

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """Within it, remember nothing: the runs are under another loss."""
        self._notes = False
        try:
            yield
        finally:
            self._notes = True
