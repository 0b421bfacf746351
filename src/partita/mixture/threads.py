"""Chains side by side on threads; progress, Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Lock
from typing import TYPE_CHECKING, Any

from partita import _core
from partita.mixture.chain import Job, Report, run_chain
from partita.parallel import Progress, held_back, progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Callback = Callable[[Report], Any]
_WAKE = 0.05  # seconds: a signal may have come to another thread than this one


def run_chains(
    jobs: Sequence[Job], labels: Any, *, n_jobs: int, callback: Callback | None
) -> tuple[list[NDArray[np.float64]], bool]:
    """Run every chain, each writing its draws to its part of ``labels``.

    Returns the traces of the draws that are done, in the order of the chains, and whether Ctrl-C
    came: it stops the chains and is not raised, so that no draw is lost. A second one is.
    """
    stop = _core.Stop()
    n = jobs[0].n_draws
    with held_back(stop.set) as came, progress(sum(j.n_scans for j in jobs), "sampling") as bar:
        tell = _teller(bar, callback, stop)
        with ThreadPoolExecutor(n_jobs, thread_name_prefix="partita-chain") as pool:
            try:
                futures = [
                    pool.submit(run_chain, job, labels[c * n : (c + 1) * n], tell, stop)
                    for c, job in enumerate(jobs)
                ]
                while any(not future.done() or future.result() is None for future in futures):
                    wait(futures, timeout=_WAKE)
            finally:
                stop.set()
        return [future.result() for future in futures], bool(came)


def _teller(bar: Progress, callback: Callback | None, stop: _core.Stop) -> Callable[[Report], None]:
    """Show a report on the bar and hand it to the callback, whose True means stop."""
    seen: dict[int, int] = {}
    one_at_a_time = Lock()

    def tell(report: Report) -> None:
        with one_at_a_time:
            step = report.scan - seen.get(report.chain, 0)
            seen[report.chain] = report.scan
            note = f"chain {report.chain}: K {report.n_clusters}, log joint {report.log_joint:.1f}"
            bar.advance(step, note)
            if callback is not None and not stop.is_up and callback(report) is True:
                stop.set()

    return tell
