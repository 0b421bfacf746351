"""One chain, from its start or from its checkpoint to its last draw.

A chain is a pure function of its job: where the kernel returns, how often a checkpoint is written
and in which process it runs change nothing in the draws.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels
from partita.kernels import mixture_types as types
from partita.mixture import assembly, checkpoint, starts
from partita.mixture.moves import ITEMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.mixture.moves import Moves
    from partita.mixture.partition_priors import Partition
    from partita.mixture.priors import Resolved

TRACES = ("n_clusters", "concentration", "log_joint")
# About 20 ms of work at a few nanoseconds a unit.
_BUDGET = 2_000_000
_BUFFER_BYTES = 1 << 22


@dataclass(frozen=True, eq=False)
class Job:
    """All that a chain needs; travels to another process as it is."""

    chain: int
    resolved: Resolved
    partition: Partition
    concentration: tuple[float, float, float]
    moves: Moves
    start: Any
    seed: int
    n_draws: int
    n_burn: int
    thin: int
    fingerprint: str = ""
    folder: str | None = None
    keep_state: bool = False
    seconds: float = 30.0

    @property
    def n_scans(self) -> int:
        """Burn-in included."""
        return self.n_burn + self.n_draws * self.thin


@dataclass(frozen=True)
class Report:
    """How far a chain has come.

    Attributes
    ----------
    chain : int
        Which chain.
    scan, n_scans : int
        Scans done and to do, burn-in included.
    n_clusters : int
        Clusters now.
    log_joint : float
        Log joint density of data, partition and concentration at the last draw that was kept;
        nan before the first.
    """

    chain: int
    scan: int
    n_scans: int
    n_clusters: int
    log_joint: float


@dataclass(frozen=True, eq=False)
class Run:
    """What a chain leaves: the rows that are done, and how its proposals fared."""

    labels: Any
    traces: NDArray[np.float64]
    tally: NDArray[np.int64]

    @property
    def n_done(self) -> int:
        """Draws kept."""
        return int(self.traces.shape[0])


def run_chain(job: Job, report: Callable[[Report], bool]) -> Run:
    """Run a chain until it is done or ``report`` returns True."""
    model = assembly.make_model(job.resolved, job.partition, job.concentration)
    labels = _label_store(job, model.x.shape[0])
    traces = np.full((job.n_draws, len(TRACES)), np.nan)
    kept = checkpoint.load(job, model, len(TRACES))
    if kept is None:
        state = _fresh(job, model)
    else:
        state, traces[: len(kept[1])] = kept
    work = assembly.make_work(model, state.order.size)
    plan = _plan(job)
    step = _kernel(job.moves.items)
    rows = max(1, min(job.n_draws, _BUFFER_BYTES // (4 * labels.shape[1])))
    buffer, values = _buffer(rows, labels.shape[1]), np.empty((rows, len(TRACES)))
    saved = time.monotonic()
    while state.cursor[types.SCANS] < job.n_scans:
        at = int(state.cursor[types.STORED])
        full, n = step(model, state, work, plan, buffer, values, _BUDGET)
        labels[at : at + n], traces[at : at + n] = buffer[:n], values[:n]
        if full:
            state = assembly.more_slots(state)
            work = assembly.make_work(model, state.order.size)
        if report(_report(job, state, traces)):
            break
        if job.keep_state and time.monotonic() - saved > job.seconds:
            _save(job, state, labels, traces)
            saved = time.monotonic()
    if job.keep_state:
        _save(job, state, labels, traces)
    return _result(state, labels, traces)


def compile_kernels(job: Job) -> None:
    """Compile, or load, the kernels that a job needs by running it for no scans."""
    model = assembly.make_model(job.resolved, job.partition, job.concentration)
    state = assembly.make_state(
        model, np.zeros(model.x.shape[0], np.int64), 1.0, np.ones(4, np.uint64)
    )
    work = assembly.make_work(model, state.order.size)
    plan, row = np.zeros(7, np.int64), _buffer(1, model.x.shape[0])
    _kernel(job.moves.items)(model, state, work, plan, row, np.empty((1, len(TRACES))), 1)


def _buffer(n_rows: int, n_items: int) -> NDArray[np.uint32]:
    """Where kernels write draws: of one type whatever the size, so that they compile once."""
    return np.empty((n_rows, n_items), np.uint32)


def label_dtype(n_items: int) -> type[np.unsignedinteger[Any]]:
    """Room for as many clusters as there are items."""
    if n_items <= 1 << 8:
        return np.uint8
    return np.uint16 if n_items <= 1 << 16 else np.uint32


def labels_path(folder: str, chain: int) -> Path:
    """Where a chain's draws are streamed to."""
    return Path(folder) / f"labels-{chain}.npy"


def _kernel(items: str) -> Any:
    if items == "collapsed":
        return kernels.mixture_collapsed.advance_collapsed
    return kernels.mixture_chain.advance


def _plan(job: Job) -> NDArray[np.int64]:
    m = job.moves
    return np.array(
        [job.n_burn, job.n_scans, job.thin, ITEMS[m.items], m.split_merge, m.reallocate, job.n_burn]
    )


def _fresh(job: Job, model: types.Model) -> types.State:
    kernel_seed, start_seed = np.random.SeedSequence([job.seed, job.chain]).spawn(2)
    labels = starts.begin(job.start, model.x, np.random.default_rng(start_seed))
    return assembly.make_state(
        model, labels, job.concentration[2], assembly.seed_state(kernel_seed)
    )


def _label_store(job: Job, n_items: int) -> Any:
    """The array that draws go to: in memory, or a file that a resumed chain goes on filling."""
    shape, dtype = (job.n_draws, n_items), label_dtype(n_items)
    if job.folder is None:
        return np.empty(shape, dtype)
    path = labels_path(job.folder, job.chain)
    old = job.keep_state and path.exists() and checkpoint.state_path(job).exists()
    return checkpoint.labels_store(path, shape, dtype, old=old)


def _save(job: Job, state: types.State, labels: Any, traces: NDArray[np.float64]) -> None:
    """First the draws, then the state that counts them: a kill between loses time alone."""
    if isinstance(labels, np.memmap):
        labels.flush()
    checkpoint.save(job, state, traces)


def _report(job: Job, state: types.State, traces: NDArray[np.float64]) -> Report:
    done = int(state.cursor[types.STORED])
    return Report(
        chain=job.chain,
        scan=int(state.cursor[types.SCANS]),
        n_scans=job.n_scans,
        n_clusters=int(state.cursor[types.N_CLUSTERS]),
        log_joint=float(traces[done - 1, 2]) if done else float("nan"),
    )


def _result(state: types.State, labels: Any, traces: NDArray[np.float64]) -> Run:
    done = int(state.cursor[types.STORED])
    return Run(labels[:done], traces[:done].copy(), state.tally.copy())
