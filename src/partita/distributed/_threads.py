"""Blocks of work, mapped over threads in order, with progress and Ctrl-C.

Kernels release the interpreter lock, so threads are enough; results come back in the order of
the blocks whatever the number of threads, which is why the number never changes an answer.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Lock, Thread
from typing import Any, ClassVar, TypeVar

from partita.distributed._clock import check

T = TypeVar("T")
R = TypeVar("R")
_WAKE = 0.1  # seconds
_DELAY = 1.0  # seconds before a bar is shown
_BEAT = 1.0  # and between drawings while nothing advances


def blocks(total: int, size: int) -> list[slice]:
    """Cut ``range(total)`` into slices of at most ``size``."""
    size = max(1, size)
    return [slice(i, min(i + size, total)) for i in range(0, total, size)]


def progress(total: int | None, label: str | None) -> Progress:
    """Return a progress bar on stderr: after one second, and only if that is a terminal.

    None where the label is None.
    """
    return Progress(total, label)


class Progress:
    """A context manager around tqdm that costs nothing when there is no terminal."""

    def __init__(self, total: int | None, label: str | None) -> None:
        self._bar: Any = None
        if label is not None and sys.stderr is not None and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, desc=label, delay=_DELAY, leave=False, file=sys.stderr)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            _Heart.beat_for(self._bar)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            _Heart.stop_for(self._bar)
            self._bar.close()

    def advance(self, n: int = 1, note: str | None = None) -> None:
        """Count ``n`` more done; ``note`` is shown at the end of the bar."""
        if self._bar is not None:
            if note is not None:
                self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(n)


class _Heart:
    """One thread that draws bars anew each second, so that a long part is seen to be worked on."""

    _bars: ClassVar[set[Any]] = set()
    _lock: ClassVar[Lock] = Lock()
    _thread: ClassVar[Thread | None] = None

    @classmethod
    def beat_for(cls, bar: Any) -> None:
        """Draw this bar, too."""
        with cls._lock:
            cls._bars.add(bar)
            if cls._thread is None or not cls._thread.is_alive():
                cls._thread = Thread(target=cls._beat, name="partita-progress", daemon=True)
                cls._thread.start()

    @classmethod
    def stop_for(cls, bar: Any) -> None:
        """Draw it no more."""
        with cls._lock:
            cls._bars.discard(bar)

    @classmethod
    def _beat(cls) -> None:
        while True:
            time.sleep(_BEAT)
            with cls._lock:
                for bar in cls._bars:
                    if time.time() >= bar.start_t + bar.delay:
                        bar.refresh()


def _result(future: Future[R]) -> R:
    """Wait, but wake up now and then: a signal may have come to another thread than this one."""
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
    the loop early (an exception, Ctrl-C, a clock that is up) abandons what has not started;
    ``stop`` is called then, to tell what has started to end. The threads are under the clock that
    this is called under.
    """
    check()
    with progress(len(parts), label) as bar:
        if n_jobs == 1 or len(parts) < 2:
            for part in parts:
                yield work(part)
                bar.advance()
                check()
            return
        with ThreadPoolExecutor(n_jobs, thread_name_prefix="partita") as pool:
            waiting: deque[Future[R]] = deque()
            try:
                for part in parts:
                    waiting.append(pool.submit(copy_context().run, work, part))
                    if len(waiting) > 2 * n_jobs:
                        yield _result(waiting.popleft())
                        bar.advance()
                        check()
                while waiting:
                    yield _result(waiting.popleft())
                    bar.advance()
                    check()
            except BaseException:
                if stop is not None:
                    stop()
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
