"""Chains run one after another here, or side by side in processes; progress, Ctrl-C.

Processes tell how far they are, and are told to stop, through one small file that all map into
memory: a row for each chain, written by the chain except for the last column.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from partita.distributed import Progress, progress
from partita.mixture.chain import Job, Report, Run, compile_kernels, run_chain

_SCAN, _CLUSTERS, _LOG_JOINT, _STOP = range(4)
_POLL = 0.1

Callback = Callable[[Report], Any]


def run_jobs(
    jobs: Sequence[Job], *, n_jobs: int, callback: Callback | None
) -> tuple[list[Run], bool]:
    """Run every chain; what they left, in order, and whether they were interrupted."""
    total = sum(job.n_scans for job in jobs)
    with _patient_interrupt() as asked, progress(total, "sampling") as bar:
        tell = _teller(bar, callback)
        if n_jobs == 1 or len(jobs) == 1:
            runs = _one_by_one(jobs, tell, asked)
        else:
            compile_kernels(jobs[0])
            runs = _in_processes(jobs, min(n_jobs, len(jobs)), tell, asked)
        return runs, asked()


def _one_by_one(
    jobs: Sequence[Job], tell: Callable[[Report], bool], asked: Callable[[], bool]
) -> list[Run]:
    """Run chains here; what stops one keeps those after it from beginning."""
    runs: list[Run] = []
    stopped = False

    def report(now: Report) -> bool:
        nonlocal stopped
        stopped = tell(now) or asked()
        return stopped

    for job in jobs:
        if stopped or asked():
            break
        runs.append(run_chain(job, report))
    return runs


def _teller(bar: Progress, callback: Callback | None) -> Callable[[Report], bool]:
    """Show a report on the bar and hand it to the callback, whose True means stop."""
    seen: dict[int, int] = {}

    def tell(report: Report) -> bool:
        step = report.scan - seen.get(report.chain, 0)
        seen[report.chain] = report.scan
        note = f"chain {report.chain}: K {report.n_clusters}, log joint {report.log_joint:.1f}"
        bar.advance(step, note)
        return callback is not None and callback(report) is True

    return tell


@contextmanager
def _patient_interrupt() -> Iterator[Callable[[], bool]]:
    """Within the block Ctrl-C is noted, not raised, so that no draw is lost; twice raises."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def note(*_: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def _in_processes(
    jobs: Sequence[Job],
    n_jobs: int,
    tell: Callable[[Report], bool],
    asked: Callable[[], bool],
) -> list[Run]:
    from concurrent.futures import wait

    from joblib.externals.loky import ProcessPoolExecutor

    folder = jobs[0].folder
    assert folder is not None
    path = Path(folder) / "progress"
    board = np.memmap(path, np.float64, "w+", shape=(len(jobs), 4))
    board[:, _LOG_JOINT] = np.nan
    # A pool of its own: joblib's reusable one is not to be had without joblib's own set-up.
    pool = ProcessPoolExecutor(max_workers=n_jobs)
    futures = [pool.submit(_work, job, str(path), len(jobs)) for job in jobs]
    try:
        waiting = set(futures)
        while waiting:
            _, waiting = wait(waiting, timeout=_POLL)
            for row, job in zip(board, jobs, strict=True):
                report = Report(
                    job.chain, int(row[_SCAN]), job.n_scans, int(row[_CLUSTERS]), row[_LOG_JOINT]
                )
                if tell(report) or asked():
                    board[:, _STOP] = 1.0
        return [future.result() for future in futures]
    finally:
        board[:, _STOP] = 1.0
        pool.shutdown(wait=True)
        del board
        path.unlink(missing_ok=True)


def _work(job: Job, path: str, n_chains: int) -> Run:
    """One chain in a process of its own; labels stay in their file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    board = np.memmap(path, np.float64, "r+", shape=(n_chains, 4))
    row = board[job.chain]

    def report(now: Report) -> bool:
        row[_SCAN], row[_CLUSTERS], row[_LOG_JOINT] = now.scan, now.n_clusters, now.log_joint
        return bool(row[_STOP])

    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        run = run_chain(job, report)
    return Run(np.empty((0, 0)), run.traces, run.tally)
