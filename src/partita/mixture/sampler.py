"""``sample_mixture``: data in, draws of the partition out."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.draws import Draws
from partita.errors import InvalidTypeError, InvalidValueError, PartitaWarning
from partita.mixture import checkpoint as checkpoints
from partita.mixture import partition_priors, priors, starts
from partita.mixture.chain import TRACES, Job, Moves
from partita.mixture.data import read_data
from partita.mixture.model import Chosen, told_of
from partita.mixture.threads import Callback, run_chains

if TYPE_CHECKING:
    from partita.typing import Path as PathLike
    from partita.typing import Seed


def sample_mixture(
    X: Any,
    *,
    n_draws: int = 10_000,
    n_burn: int = 5_000,
    thin: int = 1,
    n_chains: int = 1,
    prior: str | priors.Prior = "independent",
    df: float | None = None,
    covariance: str = "full",
    partition: str | partition_priors.Partition = "dirichlet",
    concentration: float | tuple[float, float] | None = None,
    moves: Moves | None = None,
    start: Any = None,
    rng: Seed = None,
    n_jobs: int | None = -1,
    callback: Callback | None = None,
    checkpoint: PathLike | None = None,
    checkpoint_seconds: float = 30.0,
) -> Draws:
    """Sample the partition of the rows of X under a mixture of Gaussians.

    y_i | c_i = k ~ N(mu_k, T_k^-1); the partition has a Dirichlet-process prior (or Pitman-Yor,
    or that of a mixture of finite mixtures), mu_k and T_k the prior that ``prior`` names.

    Parameters
    ----------
    X : array-like of shape (n_items, p), or (n_items,)
        The data; a DataFrame's index gives the item names.
    n_draws, n_burn, thin : int
        Draws to keep of each chain, scans before the first, scans for each draw.
    n_chains : int
        Chains; they begin in different places unless ``start`` says otherwise.
    prior : {"independent", "paper", "conjugate"} or prior object
        Of a cluster's mean and precision. "independent" is PReMiuM's default, "paper" what the
        paper prints, "conjugate" the normal-inverse-Wishart.
    df : float, optional
        kappa0 of a prior given by name; p if None.
    covariance : {"full", "diagonal", "spherical"}
        Shape of a cluster's covariance.
    partition : {"dirichlet", "pitman-yor", "mfm"} or object
        Prior of the partition.
    concentration : float or (shape, rate), optional
        Fixed, or with a gamma prior; Gamma(2, rate 1) if None. Ignored by "mfm".
    moves : Moves, optional
        What a scan does.
    start : {"kmeans", "one", "singletons", "random"}, labels, or one of these for each chain
        Where chains begin; the names in turn if None.
    rng : int, SeedSequence or Generator, optional
        One seed gives one set of draws, on any number of threads, resumed or not.
    n_jobs : int, optional
        Threads to run chains on; None or -1: all cores.
    callback : callable, optional
        Called with a :class:`~partita.mixture.chain.Report` now and then, from the chains'
        threads, one at a time; True stops all chains.
    checkpoint : path, optional
        A folder. The run is saved there every ``checkpoint_seconds`` and, called again with the
        same arguments, goes on from there to the draws it would have given.

    Returns
    -------
    Draws
        With ``traces`` of ``n_clusters``, ``concentration`` and ``log_joint`` (log density of
        data, partition and concentration, cluster parameters integrated out, up to a constant),
        and ``about`` with the names of prior, covariance and partition, for
        :func:`partita.mixture.predictive_density` and its like. After Ctrl-C: the draws that
        were done.

    Examples
    --------
    >>> import numpy as np
    >>> from partita.mixture import sample_mixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-5, 1, 30), rng.normal(5, 1, 30)])
    >>> draws = sample_mixture(X, n_draws=500, n_burn=500, rng=0)
    >>> draws.labels.shape, int(np.median(draws.n_clusters))
    ((500, 60), 2)
    """
    data, names = read_data(X)
    shape = validate.choice("covariance", covariance, priors.SHAPES)
    n_chains = validate.integer("n_chains", n_chains, least=1)
    begins = starts.choose(start, n_chains, data.shape[0])
    job = Job(
        chain=0,
        resolved=priors.named(prior, df).complete(data, shape),
        partition=partition_priors.named(partition),
        concentration=partition_priors.concentration(concentration),
        moves=_moves(moves),
        start=None,
        seed=0,
        n_draws=validate.integer("n_draws", n_draws, least=1),
        n_burn=validate.integer("n_burn", n_burn, least=0),
        thin=validate.integer("thin", thin, least=1),
        seconds=validate.real("checkpoint_seconds", checkpoint_seconds, low=0),
    )
    validate.integer("n_burn + n_draws * thin", job.n_scans, most=2**62)
    if isinstance(job.partition, partition_priors.FiniteMixture):
        starts.check_clusters(begins, data.shape[0], partition_priors.MOST_CLUSTERS)
    workers = min(validate.n_jobs(n_jobs), n_chains)
    size, dtype = (n_chains * job.n_draws, data.shape[0]), _label_dtype(data.shape[0])
    with ExitStack() as held:
        if checkpoint is None:
            seed = validate.seed(rng)
            need = size[0] * size[1] * np.dtype(dtype).itemsize
            validate.fits_in_memory("The draws", need, "thin more, or give `checkpoint`.")
            labels = np.empty(size, dtype)
        else:
            folder = Path(os.fspath(checkpoint))
            held.enter_context(checkpoints.locked(folder))
            seed = checkpoints.seed_of_run(folder, rng, _fingerprint(job, begins))
            labels = checkpoints.label_store(folder, size, dtype)
            job = replace(job, folder=folder)
        jobs = [replace(job, seed=seed, chain=c, start=begin) for c, begin in enumerate(begins)]
        traces, was_interrupted = run_chains(jobs, labels, n_jobs=workers, callback=callback)
    about = told_of(Chosen(prior, df, covariance, partition))
    return _draws(job, labels, traces, names, about, was_interrupted)


def _label_dtype(n_items: int) -> type[np.unsignedinteger[Any]]:
    """Room for as many clusters as there are items."""
    if n_items <= 1 << 8:
        return np.uint8
    return np.uint16 if n_items <= 1 << 16 else np.uint32


def _moves(moves: Moves | None) -> Moves:
    if moves is None:
        return Moves()
    if not isinstance(moves, Moves):
        raise InvalidTypeError(f"`moves` must be a Moves object; got {moves!r}.")
    return moves


def _fingerprint(job: Job, begins: Sequence[Any]) -> str:
    """What two runs must share for one to go on from the other's checkpoint."""
    digest = hashlib.blake2b(digest_size=16)
    resolved = job.resolved
    # In canonical coordinates data look alike in any units, yet their densities do not.
    units = (resolved.mean, resolved.unit, resolved.whiten)
    for array in (resolved.x, resolved.mean_var, resolved.inverse_scale, *units):
        digest.update(np.ascontiguousarray(array).tobytes())
    told: list[Any] = [
        resolved.df,
        resolved.mean_weight,
        resolved.shape,
        job.partition,
        job.concentration,
    ]
    told += [job.moves, job.n_draws, job.n_burn, job.thin]
    told += [b if isinstance(b, str) else np.asarray(b).tolist() for b in begins]
    digest.update(repr(told).encode())
    return digest.hexdigest()


def _draws(
    job: Job,
    labels: Any,
    traces: list[Any],
    names: tuple[str, ...] | None,
    about: dict[str, str | float],
    was_interrupted: bool,
) -> Draws:
    """The draws that are done."""
    counts = [len(trace) for trace in traces]
    if sum(counts) == 0:
        if was_interrupted:
            raise KeyboardInterrupt("stopped before the first draw was kept")
        raise InvalidValueError(
            "`callback` must let at least one draw be kept and none was; it stopped the run "
            f"within the {job.n_burn} scans of burn-in or before the first draw after them. "
            "Stop when the report's `scan` is past them."
        )
    if sum(counts) < len(labels):
        how = "Interrupted" if was_interrupted else "Stopped by the callback"
        by_chain = f" ({', '.join(map(str, counts))} of the chains)" if len(counts) > 1 else ""
        warnings.warn(
            f"{how}: {sum(counts):,} of {len(labels):,} draws are kept{by_chain}.",
            PartitaWarning,
            stacklevel=3,
        )
        starts_at = [c * job.n_draws for c in range(len(counts))]
        labels = np.concatenate([labels[s : s + n] for s, n in zip(starts_at, counts, strict=True)])
    values = np.concatenate(traces)
    return Draws(
        labels,
        chains=None if len(counts) == 1 else np.repeat(np.arange(len(counts)), counts),
        item_names=names,
        traces={name: values[:, i] for i, name in enumerate(TRACES)},
        about=about,
    )
