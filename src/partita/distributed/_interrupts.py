"""Ctrl-C in the middle of what an answer cannot do without."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_back() -> Iterator[list[int]]:
    """Let Ctrl-C wait until the block is done; a second one ends it at once.

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

    signal.signal(signal.SIGINT, keep)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)
