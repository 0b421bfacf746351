"""Restarts and ranks over joblib's workers, with one BLAS thread each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from partita.parallel import Stop, current, map_blocks, one_blas_thread, under


def _guarded(work: Callable[[Any], Any], part: Any, seconds: float | None) -> Any:
    """Work in whatever process this is, for as long as there was when it was sent off."""
    with under(Stop(seconds)), one_blas_thread():
        return work(part)


def mapper(n_jobs: int) -> Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]:
    """Return an ordered map on ``n_jobs`` workers of whatever joblib backend is set.

    Where none is, threads of our own, which end soon after Ctrl-C: joblib would wait for them.
    """

    def apply(work: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
        parts = list(parts)
        if n_jobs == 1 or len(parts) < 2:
            return [work(part) for part in parts]
        from joblib import Parallel, delayed, parallel

        clock = current() or Stop()
        backend, _ = parallel.get_active_backend(prefer="threads")
        if isinstance(backend, parallel.ThreadingBackend):
            with under(clock):
                return list(map_blocks(work, parts, n_jobs=n_jobs, label=None, stop=clock))
        jobs, seconds = Parallel(n_jobs=n_jobs), clock.left()
        return list(jobs(delayed(_guarded)(work, part, seconds) for part in parts))

    return apply
