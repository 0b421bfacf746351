"""A line at a terminal that says for how long a command has been at work, where no bar does."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partita.parallel import Progress

_BEAT = 1.0  # seconds: before the line is shown, and between two looks
_writing = threading.Lock()
_is_shown = False


@contextmanager
def announced(command: str) -> Iterator[None]:
    """Show the line from the first second of the block on; nothing where stderr is no terminal."""
    from partita.parallel import Progress

    if Progress.is_hidden or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    is_over = threading.Event()
    beat = threading.Thread(target=_beat, args=(command, is_over, Progress), daemon=True)
    beat.start()
    try:
        yield
    finally:
        is_over.set()
        with aside():
            pass


def _beat(command: str, is_over: threading.Event, bars: type[Progress]) -> None:
    global _is_shown
    begun = time.monotonic()
    while not is_over.wait(_BEAT):
        with _writing:
            if not bars.n_open and not is_over.is_set():
                sys.stderr.write(f"\r{command}: {time.monotonic() - begun:.0f} s")
                sys.stderr.flush()
                _is_shown = True


@contextmanager
def aside() -> Iterator[None]:
    """Take the line away while something else is written."""
    global _is_shown
    with _writing:
        if _is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            _is_shown = False
        yield
