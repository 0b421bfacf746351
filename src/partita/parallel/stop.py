"""One :class:`Stop` tells loops in Python, in the core and in other processes when to end.

A search works ``under`` its stop. Whatever it calls, on any thread, asks :func:`is_up` between two
iterations and ends with what it has. :func:`held_back` keeps the first Ctrl-C until there is
something to return; the second is raised at once.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from types import FrameType
from typing import Any, TypeVar

from partita import _core

T = TypeVar("T")
_END: Any = object()


class Stop(_core.Stop):
    """A deadline and a flag; loops of the core take it as it is.

    Parameters
    ----------
    time_limit : float, optional
        Seconds from now; None for as long as it takes.

    Attributes
    ----------
    began, deadline : float
        By ``time.monotonic``; the deadline is infinite without a limit.
    has_ended_work : bool
        Whether something asked for more time when there was none.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        super().__init__(time_limit)
        self.began = time.monotonic()
        self.deadline = float("inf") if time_limit is None else self.began + time_limit
        self.has_ended_work = False

    def left(self) -> float | None:
        """The seconds that are left, None where there is no limit; for another process."""
        if self.was_up:
            return 0.0
        return None if self.deadline == float("inf") else max(0.0, self.deadline - time.monotonic())

    def is_late(self) -> bool:
        """Whether the time is over; asked where there is more to do."""
        is_over = self.was_up or time.monotonic() >= self.deadline
        self.has_ended_work |= is_over
        return is_over


_current: ContextVar[Stop | None] = ContextVar("stop", default=None)
_noticed: ContextVar[list[bool] | None] = ContextVar("noticed", default=None)


@contextmanager
def under(stop: Stop) -> Iterator[None]:
    """Let what runs in the block end by ``stop``."""
    token = _current.set(stop)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Stop | None:
    """The stop that this runs under."""
    return _current.get()


def native_stop() -> _core.Stop:
    """What tells a loop of the core to end: the stop that this runs under, or Ctrl-C alone."""
    return current() or _core.Stop()


def is_up() -> bool:
    """Whether what runs now should end with what it has."""
    stop = current()
    if stop is None or not stop.is_late():
        return False
    notice()
    return True


@contextmanager
def noticing() -> Iterator[list[bool]]:
    """Give a list that is no longer empty once something in the block was told to end early."""
    around, told = _noticed.get(), list[bool]()
    token = _noticed.set(told)
    try:
        yield told
    finally:
        _noticed.reset(token)
        if around is not None:
            around += told


def notice() -> None:
    """Tell the :func:`noticing` block around this that work ended early."""
    told = _noticed.get()
    if told is not None:
        told.append(True)


def stoppable(stop: Stop, parts: Iterator[T]) -> Iterator[T]:
    """Yield the parts, each made under ``stop``; Ctrl-C before the first one sets the stop.

    So there is something to yield before Ctrl-C is raised. After the first part it is raised at
    once, and so is a second one.
    """
    first: Any = held_back(stop.set)
    while True:
        with first or nullcontext() as came, under(stop):
            part = next(parts, _END)
        if part is not _END:
            yield part
        if came:
            raise KeyboardInterrupt
        if part is _END:
            return
        first = None


@contextmanager
def held_back(told: Callable[[], None] | None = None) -> Iterator[list[int]]:
    """Let Ctrl-C wait until the block is done; a second one is raised at once.

    Parameters
    ----------
    told : callable, optional
        Called when Ctrl-C comes, to have the block end soon.

    Yields
    ------
    list
        Empty until Ctrl-C comes.
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
