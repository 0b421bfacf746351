"""When work ends before it is done: at a deadline, or when told to.

A search runs ``under`` its clock; what it calls, however deep and on whichever thread, asks
:func:`is_up` between two iterations and ends with what it has. Passes over blocks, of which a part
is worth nothing, break off with :class:`OutOfTimeError` instead, where the clock was set to do so.
Without a clock nothing is ever up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import TypeVar

from partita.distributed._interrupts import held_back

T = TypeVar("T")


class OutOfTimeError(Exception):
    """The time was up in the middle of a pass over blocks, or work was stopped."""


class Clock:
    """A deadline, and a flag that Ctrl-C sets for the threads that it does not reach.

    Parameters
    ----------
    time_limit : float, optional
        Seconds from now; None for as long as it takes.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        self.began = time.monotonic()
        self.deadline = float("inf") if time_limit is None else self.began + time_limit
        self.was_stopped = False

    def reserve(self, seconds: float) -> None:
        """End so much sooner, but at most by half of the time, for what comes after."""
        if self.deadline < float("inf"):
            self.deadline -= min(seconds, 0.5 * (self.deadline - self.began))

    def left(self) -> float | None:
        """The seconds that are left, None where there is no limit."""
        if self.was_stopped:
            return 0.0
        if self.deadline == float("inf"):
            return None
        return max(0.0, self.deadline - time.monotonic())

    def expire(self) -> None:
        """Let the time be over now: what is under way ends with what it has."""
        self.deadline = self.began

    def stop(self) -> None:
        """Make everything that looks at this clock end, as nobody waits for it any more."""
        self.was_stopped = True

    def is_up(self) -> bool:
        """Whether the time is over."""
        return self.was_stopped or time.monotonic() >= self.deadline


_current: ContextVar[tuple[Clock | None, bool]] = ContextVar("clock", default=(None, False))
_noticed: ContextVar[list[bool] | None] = ContextVar("noticed", default=None)


@contextmanager
def noticing() -> Iterator[list[bool]]:
    """Notice whether something in the block was told to end before it was done.

    The list that it gives is empty if not. Who asks a clock asks where there is more to do.
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
def under(clock: Clock | None, *, breaks_off: bool = False) -> Iterator[None]:
    """Let what runs in the block look at ``clock``; passes over blocks end by it, if it is said."""
    token = _current.set((clock, breaks_off))
    try:
        yield
    finally:
        _current.reset(token)


def each_under(clock: Clock | None, parts: Iterator[T], *, breaks_off: bool = False) -> Iterator[T]:
    """Yield the parts, each made under ``clock``; what is done with them is not under it."""
    while True:
        with under(clock, breaks_off=breaks_off):
            try:
                part = next(parts)
            except StopIteration:
                return
        yield part


def stoppable(clock: Clock, parts: Iterator[T], *, breaks_off: bool = False) -> Iterator[T]:
    """Yield the parts, each made under ``clock``, to the first of which Ctrl-C is the end of time.

    So there is something to yield before it is raised; a second one, and any after the first part,
    is raised at once.
    """
    made = each_under(clock, parts, breaks_off=breaks_off)
    with held_back(clock.expire) as came:
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


def current() -> Clock | None:
    """The clock that this runs under."""
    return _current.get()[0]


def is_up() -> bool:
    """Whether what runs now should end with what it has.

    On a thread whose work nobody waits for any more, since the clock was stopped, it breaks off.
    """
    clock, _ = _current.get()
    if clock is not None and clock.was_stopped:
        raise OutOfTimeError
    if clock is None or not clock.is_up():
        return False
    notice()
    return True


def check() -> None:
    """Break off a pass over blocks if its time is up."""
    clock, breaks_off = _current.get()
    if breaks_off and clock is not None and clock.is_up():
        raise OutOfTimeError
