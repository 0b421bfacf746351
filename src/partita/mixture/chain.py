"""One chain, from its start or from its checkpoint to its last draw.

A chain is a pure function of its job: how often it stops to report, how often a checkpoint is
written and on which thread it runs change nothing in the draws.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core, validate
from partita.errors import InvalidValueError
from partita.mixture import checkpoint, starts
from partita.mixture.model import make_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.mixture.partition_priors import Partition
    from partita.mixture.priors import Resolved

TRACES = ("n_clusters", "concentration", "log_joint")
_SLICE = 0.02  # seconds between reports, or one scan where that takes longer
_BUFFER_BYTES = 1 << 22  # of labels that the core hands over at a time


@dataclass(frozen=True)
class Moves:
    """What one scan does besides passing over the items (Gibbs, Neal 2000).

    Passing over the items alone stays in the mode where a chain began; moves of whole clusters let
    it leave.

    Parameters
    ----------
    split_merge : int
        Proposals to split or merge by sequential allocation (Dahl 2005), a scan.
    reallocate : int
        Proposals to allocate the items of two clusters anew, a scan.

    Examples
    --------
    >>> from partita.mixture import Moves
    >>> Moves(split_merge=4)
    Moves(split_merge=4, reallocate=1)
    """

    split_merge: int = 2
    reallocate: int = 1

    def __post_init__(self) -> None:
        validate.integer("split_merge", self.split_merge, least=0, most=10**6)
        validate.integer("reallocate", self.reallocate, least=0, most=10**6)


@dataclass(frozen=True, eq=False)
class Job:
    """All that a chain needs."""

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
    folder: Path | None = None  # of the checkpoint
    seconds: float = 30.0  # between checkpoints

    @property
    def n_scans(self) -> int:
        """Burn-in included."""
        return self.n_burn + self.n_draws * self.thin

    def n_kept(self, scans: int) -> int:
        """Draws kept after so many scans."""
        return max(0, scans - self.n_burn) // self.thin


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


def run_chain(
    job: Job, labels: Any, report: Callable[[Report], object], stop: _core.Stop
) -> NDArray[np.float64]:
    """Run a chain until it is done or ``stop`` is up, which undoes the scan that it interrupts.

    Writes the draws to ``labels`` (n_draws, n_items), and returns the traces of those that are
    done.
    """
    n_items = job.resolved.x.shape[0]
    traces = np.full((job.n_draws, len(TRACES)), np.nan)
    if stop.is_up:
        return traces[:0]
    state = None if job.folder is None else checkpoint.read_state(job)
    if state is None:
        state = _start(job, stop)
    else:
        kept = state.pop("traces")
        traces[: len(kept)] = kept
    model = make_model(job.resolved, job.partition, job.concentration)
    plan = _core.MixturePlan(
        job.n_burn, job.n_scans, job.thin, job.moves.split_merge, job.moves.reallocate
    )
    try:
        chain = _core.MixtureChain(model, plan, stop, **state)
    except ValueError as error:
        checkpoint.refuse(job, str(error))
    unit = n_items * job.resolved.log_unit
    rows = max(1, min(job.n_draws, _BUFFER_BYTES // (4 * n_items)))
    buffer, values = np.empty((rows, n_items), np.uint32), np.empty((rows, len(TRACES)))
    saved = time.monotonic()
    while chain.scans < job.n_scans and not stop.is_up:
        at = job.n_kept(chain.scans)
        n = _advance(chain, buffer, values)
        labels[at : at + n], traces[at : at + n] = buffer[:n], values[:n] - [0.0, 0.0, unit]
        latest = float(traces[at + n - 1, 2]) if at + n else float("nan")
        report(Report(job.chain, chain.scans, job.n_scans, chain.n_clusters, latest))
        if job.folder is not None and time.monotonic() - saved > job.seconds:
            checkpoint.write_state(job, chain.state, labels, traces[: at + n])
            saved = time.monotonic()
    done = job.n_kept(chain.scans)
    if job.folder is not None and chain.scans > 0:
        checkpoint.write_state(job, chain.state, labels, traces[:done])
    return traces[:done].copy()


def _advance(chain: _core.MixtureChain, labels: Any, traces: NDArray[np.float64]) -> int:
    """Run scans for a while; how many draws were written."""
    try:
        n = chain.advance(labels, traces, _SLICE)
    except ValueError:
        n = -1
    if n < 0 or np.isnan(traces[:n, 2]).any():
        raise InvalidValueError(
            "`prior` must be on the scale of `X`: within some clusters no digit is left of a "
            "covariance matrix. Give its `scale` and `mean_covariance` in the units of the data."
        )
    return n


def _start(job: Job, stop: _core.Stop) -> dict[str, Any]:
    """The state that a chain begins in."""
    chain_seed, start_seed = np.random.SeedSequence([job.seed, job.chain]).spawn(2)
    labels = starts.begin(job.start, job.resolved.x, np.random.default_rng(start_seed), stop)
    return {
        "labels": np.unique(labels, return_inverse=True)[1].astype(np.int32),
        "concentration": job.concentration[2],
        "random": chain_seed.generate_state(4, np.uint64),
        "covariance": np.zeros(job.resolved.scale_size),
        "scans": 0,
    }
