"""Ctrl-C in the middle of what an answer cannot do without."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_back(told: Callable[[], None] | None = None) -> Iterator[list[int]]:
    """Let Ctrl-C wait until the block is done; a second one ends it at once.

    Parameters
    ----------
    told : callable, optional
        Called when it comes, to have the block end soon.

    Yields
    ------
    list
        Empty; when Ctrl-C came, it no longer is.
    """
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(before):  # no Ctrl-C is raised here
        yield came
        return

    def keep(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if len(came) > 1:
            before(number, frame)
        elif told is not None:
            told()

    signal.signal(signal.SIGINT, keep)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)
