"""Ctrl-C at the shell: the first is heard wherever it comes, the second ends at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

CODE = 130  # of a process that Ctrl-C ended, as shells have it
_AT_ONCE = (
    b"partita: interrupted again; ended at once, and nothing was written but what is said above.\n"
)
_AGAIN = 0.05  # seconds after which an interrupt that Python dropped is raised again


class Interrupts:
    """How often Ctrl-C came so far, and whether it came at all, though Python dropped it."""

    def __init__(self) -> None:
        self.count = 0
        self.came = False

    def hear(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt; if one was raised before, leave at once."""
        self.count += 1
        self.came = True
        if self.count > 1:
            with suppress(OSError):  # print might be what it came in the middle of
                os.write(2, _AT_ONCE)
            leave()
        raise KeyboardInterrupt

    def notice(self, dropped: Any) -> None:
        """Raise an interrupt again that came where Python drops exceptions, as in a ``__del__``.

        What is dropped after an interrupt comes from what it left half made, and is not shown.
        """
        if dropped.exc_type is KeyboardInterrupt:
            self.count = 0
            timer = threading.Timer(_AGAIN, os.kill, (os.getpid(), signal.SIGINT))
            timer.daemon = True
            timer.start()
        elif not self.count:
            sys.__unraisablehook__(dropped)


@contextmanager
def heard(*, to_the_end: bool = False) -> Iterator[Interrupts]:
    """Listen for Ctrl-C as long as the block runs, unless it is ignored or someone else listens.

    ``to_the_end``: the process ends after the block, and what comes then is ignored.
    """
    found = Interrupts()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield found
        return
    hook = sys.unraisablehook
    sys.unraisablehook = found.notice
    signal.signal(signal.SIGINT, found.hear)
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN if to_the_end else signal.default_int_handler)
        sys.unraisablehook = found.notice if found.count else hook


def leave(code: int = CODE) -> None:
    """End the process here and now, with nothing half-written left behind.

    Python would wait for threads, and would end by the signal instead of the code where compiled
    code had met the interrupt.
    """
    io = sys.modules.get("partita.io")
    if io is not None:
        io.remove_unfinished()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code)
