"""When work ends before it is done: one :class:`Stop` for loops in Python, in the core and on Dask.

A search runs ``under`` its stop; what it calls, however deep and on whichever thread, asks
:func:`is_up` between two iterations and ends with what it has. Passes over blocks, of which a part
is worth nothing, break off with :class:`OutOfTimeError` where that was asked for. Ctrl-C is
kept back by :func:`held_back` alone: the first sets a stop, the second is raised at once.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from types import FrameType
from typing import TypeVar

from partita import _core

T = TypeVar("T")


class OutOfTimeError(Exception):
    """The time was up in the middle of a pass over blocks, or work was stopped."""


class Stop(_core.Stop):
    """A deadline and a flag; loops of the core take it as it is.

    Parameters
    ----------
    time_limit : float, optional
        Seconds from now; None for as long as it takes.

    Attributes
    ----------
    was_stopped : bool
        Whether nobody waits for the work any more.
    has_ended_work : bool
        Whether the deadline made something end that would have gone on.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        super().__init__(time_limit)
        self.began = time.monotonic()
        self.deadline = float("inf") if time_limit is None else self.began + time_limit
        self.was_stopped = self.has_ended_work = False

    def reserve(self, seconds: float) -> None:
        """End so much sooner, but at most by half of the time, for what comes after."""
        if self.deadline < float("inf"):
            self.deadline -= min(seconds, 0.5 * (self.deadline - self.began))
            self.end_after(self.deadline - self.began)

    def left(self) -> float | None:
        """The seconds that are left, None where there is no limit; for another process."""
        if self.was_stopped:
            return 0.0
        if self.deadline == float("inf"):
            return None
        return max(0.0, self.deadline - time.monotonic())

    def expire(self) -> None:
        """Let the time be over now: what is under way ends with what it has."""
        self.deadline = self.began
        self.set()

    def give_up(self) -> None:
        """Make everything that looks at this end, as nobody waits for it any more."""
        self.was_stopped = True
        self.set()

    def is_late(self) -> bool:
        """Whether the time is over; asked where there is more to do."""
        if self.was_stopped:
            return True
        is_over = time.monotonic() >= self.deadline
        self.has_ended_work |= is_over
        return is_over


_current: ContextVar[tuple[Stop | None, bool]] = ContextVar("stop", default=(None, False))
_noticed: ContextVar[list[bool] | None] = ContextVar("noticed", default=None)


@contextmanager
def noticing() -> Iterator[list[bool]]:
    """Notice whether something in the block was told to end before it was done.

    The list that it gives is empty if not.
    """
    around = _noticed.get()
    told: list[bool] = []
    token = _noticed.set(told)
    try:
        yield told
    finally:
        _noticed.reset(token)
        if around is not None:
            around += told


def notice() -> None:
    """Say that something is being told to end before it is done."""
    told = _noticed.get()
    if told is not None:
        told.append(True)


@contextmanager
def under(stop: Stop | None, *, breaks_off: bool = False) -> Iterator[None]:
    """Let what runs in the block look at ``stop``; passes over blocks end by it, if it is said."""
    token = _current.set((stop, breaks_off))
    try:
        yield
    finally:
        _current.reset(token)


def each_under(stop: Stop | None, parts: Iterator[T], *, breaks_off: bool = False) -> Iterator[T]:
    """Yield the parts, each made under ``stop``; what is done with them is not under it."""
    while True:
        with under(stop, breaks_off=breaks_off):
            try:
                part = next(parts)
            except StopIteration:
                return
        yield part


def stoppable(stop: Stop, parts: Iterator[T], *, breaks_off: bool = False) -> Iterator[T]:
    """Yield the parts, each made under ``stop``, to the first of which Ctrl-C is the end of time.

    So there is something to yield before it is raised; a second one, and any after the first part,
    is raised at once.
    """
    made = each_under(stop, parts, breaks_off=breaks_off)
    with held_back(stop.expire) as came:
        try:
            first = list(islice(made, 1))
        except OutOfTimeError:
            if came:
                raise KeyboardInterrupt from None
            raise
    yield from first
    if came:
        raise KeyboardInterrupt
    yield from made


def current() -> Stop | None:
    """The stop that this runs under."""
    return _current.get()[0]


def native_stop() -> _core.Stop:
    """What tells a loop of the core to end: the stop that this runs under, or Ctrl-C alone."""
    return current() or _core.Stop()


def is_up() -> bool:
    """Whether what runs now should end with what it has.

    On a thread whose work nobody waits for any more it breaks off.
    """
    stop = current()
    if stop is not None and stop.was_stopped:
        raise OutOfTimeError
    if stop is None or not stop.is_late():
        return False
    notice()
    return True


def check() -> None:
    """Break off a pass over blocks if its time is up."""
    stop, breaks_off = _current.get()
    if breaks_off and stop is not None and stop.is_late():
        raise OutOfTimeError


@contextmanager
def held_back(told: Callable[[], None] | None = None) -> Iterator[list[int]]:
    """Let Ctrl-C wait until the block is done; a second one is raised at once.

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
