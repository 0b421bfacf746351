"""One BLAS thread while blocks are worked on: BLAS rounds differently with every number of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_held: dict[str, Any] = {"by": 0, "limit": None}


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread in this process for as long as anyone is in here.

    The limit is the process's, so the first to come sets it and the last to leave lifts it.
    """
    with _lock:
        if _held["by"] == 0:
            import scipy.linalg.cython_blas  # numba's products go through this library's BLAS
            from threadpoolctl import threadpool_limits

            assert scipy.linalg.cython_blas is not None
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
