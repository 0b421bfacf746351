"""Blocks of work on threads, in order, with progress, Ctrl-C and one BLAS thread.

The core releases the interpreter lock, so threads are enough; results come back in the order of
the blocks whatever the number of threads, which is why the number never changes an answer.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from partita.parallel.stop import check

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")
_WAKE = 0.1  # seconds between two looks for a signal that came to another thread
_DELAY = 1.0  # seconds before a bar is shown
_BEAT = 1.0  # seconds between two drawings while nothing advances

_lock = threading.Lock()
_held: dict[str, Any] = {"by": 0, "limit": None}


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread in this process: it rounds differently with every number of them.

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
                _held["limit"] = None


def blocks(total: int, size: int) -> list[slice]:
    """Cut ``range(total)`` into slices of at most ``size``."""
    size = max(1, size)
    return [slice(i, min(i + size, total)) for i in range(0, total, size)]


class Progress:
    """A progress bar on stderr: after one second, and only if that is a terminal.

    None where the label is None. It is drawn anew each second, so that a long part is seen to be
    worked on.
    """

    is_hidden: ClassVar[bool] = False  # by --quiet of the shell

    def __init__(self, total: int | None, label: str | None) -> None:
        self._bar: Any = None
        self._is_over = threading.Event()
        is_shown = label is not None and not self.is_hidden
        if is_shown and sys.stderr is not None and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, desc=label, delay=_DELAY, leave=False, file=sys.stderr)

    def __enter__(self) -> Progress:
        if self._bar is not None:
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

    def advance(self, n: int = 1, note: str | None = None) -> None:
        """Count ``n`` more done; ``note`` is shown at the end of the bar."""
        if self._bar is not None:
            if note is not None:
                self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(n)


progress = Progress


def _result(future: Future[R]) -> R:
    """Wait, but wake up now and then: a signal may have come to another thread than this one."""
    from concurrent.futures import wait

    while not future.done():
        wait([future], timeout=_WAKE)
    return future.result()


def map_blocks(
    work: Callable[[T], R],
    parts: Sequence[T],
    *,
    n_jobs: int = 1,
    label: str | None = "",
    stop: Callable[[], None] | None = None,
) -> Iterator[R]:
    """Yield ``work(part)`` for every part, in order, on ``n_jobs`` threads.

    No more than a few parts are in flight, so results that are large do not pile up, and leaving
    the loop early (an exception, Ctrl-C, no time left) abandons what has not started; ``stop`` is
    called then, to tell what has started to end. The threads are under the stop that this is called
    under.
    """
    check()
    with progress(len(parts), label) as bar:
        if n_jobs == 1 or len(parts) < 2:
            for part in parts:
                yield work(part)
                bar.advance()
                check()
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(n_jobs, thread_name_prefix="partita") as pool:
            waiting: deque[Future[R]] = deque()
            left = iter(parts)
            try:
                while True:
                    for part in left:
                        waiting.append(pool.submit(copy_context().run, work, part))
                        if len(waiting) > 2 * n_jobs:
                            break
                    if not waiting:
                        return
                    yield _result(waiting.popleft())
                    bar.advance()
                    check()
            except BaseException:
                if stop is not None:
                    stop()
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
