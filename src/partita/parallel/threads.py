"""Blocks of work on threads, in order, with progress, Ctrl-C and one BLAS thread.

The core releases the interpreter lock, so threads are enough. Results come in the order of the
blocks, so the number of threads never changes an answer.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

    from partita import _core

T = TypeVar("T")
R = TypeVar("R")
_WAKE = 0.1  # seconds between two looks for a signal that came to another thread
_DELAY = 1.0  # seconds before a bar is shown
_BEAT = 1.0  # seconds between two drawings while nothing advances

_lock = threading.Lock()
_held: dict[str, Any] = {"by": 0, "limit": None}


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread in this process: its rounding depends on their number.

    The limit is the process's, so the first to come sets it and the last to leave lifts it.
    """
    with _lock:
        if _held["by"] == 0:
            from threadpoolctl import threadpool_limits

            _held["limit"] = threadpool_limits(limits=1, user_api="blas")
        _held["by"] += 1
    try:
        yield
    finally:
        with _lock:
            _held["by"] -= 1
            if _held["by"] == 0:
                _held["limit"].restore_original_limits()


def blocks(total: int, size: int) -> list[slice]:
    """Cut ``range(total)`` into slices of at most ``size``."""
    size = max(1, size)
    return [slice(i, min(i + size, total)) for i in range(0, total, size)]


class Progress:
    """A progress bar on stderr: after one second, and only if that is a terminal.

    There is none where the label is None. It is drawn anew each second, so that a long part is
    seen to be worked on.
    """

    is_hidden: ClassVar[bool] = False  # by --quiet of the shell
    n_open: ClassVar[int] = 0  # bars at a terminal

    def __init__(self, total: int | None, label: str | None) -> None:
        self._bar: Any = None
        self._is_over = threading.Event()
        is_shown = label is not None and not self.is_hidden
        if is_shown and sys.stderr is not None and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, desc=label, delay=_DELAY, leave=False, file=sys.stderr)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            Progress.n_open += 1
            threading.Thread(target=self._beat, name="partita-progress", daemon=True).start()
        return self

    def _beat(self) -> None:
        while not self._is_over.wait(_BEAT):
            if time.time() >= self._bar.start_t + self._bar.delay:
                self._bar.refresh()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        if self._bar is not None:
            self._bar.close()
            Progress.n_open -= 1

    def advance(self, n: int = 1, note: str | None = None) -> None:
        """Count ``n`` more done; ``note`` is shown at the end of the bar."""
        if self._bar is not None:
            if note is not None:
                self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(n)


progress = Progress


def map_blocks(
    work: Callable[[T], R],
    parts: Sequence[T],
    *,
    n_jobs: int = 1,
    label: str | None = "",
    stop: _core.Stop | None = None,
) -> Iterator[R]:
    """Yield ``work(part)`` for every part, in order, on ``n_jobs`` threads.

    The threads work under the stop of the caller. No more than a few parts are in flight, so large
    results do not pile up. Leaving the loop early (an exception, Ctrl-C) drops what has not
    started and sets ``stop``, which tells what has started to end.
    """
    with progress(len(parts), label) as bar:
        if n_jobs == 1 or len(parts) < 2:
            for part in parts:
                yield work(part)
                bar.advance()
            return
        from concurrent.futures import ThreadPoolExecutor, wait

        left: Iterator[T] = iter(parts)
        waiting: deque[Future[R]] = deque()
        with ThreadPoolExecutor(n_jobs, thread_name_prefix="partita") as pool:
            try:
                while True:
                    for part in islice(left, 2 * n_jobs + 1 - len(waiting)):
                        waiting.append(pool.submit(copy_context().run, work, part))
                    if not waiting:
                        return
                    while not waiting[0].done():  # wakes up, so that Ctrl-C is heard
                        wait([waiting[0]], timeout=_WAKE)
                    yield waiting.popleft().result()
                    bar.advance()
            except BaseException:
                if stop is not None:
                    stop.set()
                raise
            finally:
                pool.shutdown(cancel_futures=True)
