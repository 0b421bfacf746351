"""``sample_mixture``: data in, draws of the partition out."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, validate
from partita.draws import Draws
from partita.errors import FileError, InvalidTypeError, InvalidValueError, PartitaWarning
from partita.io import Layout
from partita.mixture import partition_priors, priors, record, starts
from partita.mixture.chain import TRACES, Job, Run, label_dtype, labels_path
from partita.mixture.data import read_data
from partita.mixture.moves import Moves
from partita.mixture.running import Callback, run_jobs

if TYPE_CHECKING:
    from partita.typing import Path as PathLike
    from partita.typing import Seed

_RUN = {"fingerprint": Layout("U", (), required=True), "seed": Layout("U", (), required=True)}


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
    n_jobs: int | None = 1,
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
        One seed gives one set of draws, on any number of processes, resumed or not.
    n_jobs : int, optional
        Processes to run chains in; None or -1: all cores.
    callback : callable, optional
        Called with a :class:`~partita.mixture.chain.Report` now and then; True stops the
        run, all its chains.
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
    plan = Job(
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
        keep_state=checkpoint is not None,
        seconds=validate.real("checkpoint_seconds", checkpoint_seconds, low=0),
    )
    if isinstance(plan.partition, partition_priors.FiniteMixture):
        starts.check_clusters(begins, data.shape[0], partition_priors.MOST_CLUSTERS)
    mark = _fingerprint(plan, begins)
    seed = validate.seed(rng) if checkpoint is None else _kept_seed(checkpoint, rng, mark)
    workers = min(validate.n_jobs(n_jobs), n_chains)
    folder = _folder(checkpoint, workers, n_chains * plan.n_draws, data.shape[0])
    plan = replace(plan, seed=seed, fingerprint=f"{mark}:{seed}", folder=folder)
    jobs = [replace(plan, chain=c, start=begin) for c, begin in enumerate(begins)]
    try:
        runs, interrupted = run_jobs(jobs, n_jobs=workers, callback=callback)
        about = record.of(record.Chosen(prior, df, covariance, partition))
        return _draws(jobs, runs, names, about, interrupted)
    finally:
        if folder is not None and checkpoint is None:
            shutil.rmtree(folder, ignore_errors=True)


def _moves(moves: Moves | None) -> Moves:
    if moves is None:
        return Moves()
    if not isinstance(moves, Moves):
        raise InvalidTypeError(f"`moves` must be a Moves object; got {moves!r}.")
    return moves


def _fingerprint(plan: Job, begins: Sequence[Any]) -> str:
    """What two runs must share for one to go on from the other's checkpoint."""
    digest = hashlib.blake2b(digest_size=16)
    resolved = plan.resolved
    # In canonical coordinates data look alike in any units, yet their densities do not.
    units = (resolved.mean, resolved.unit, resolved.whiten)
    for array in (resolved.x, resolved.mean_var, resolved.inverse_scale, *units):
        digest.update(np.ascontiguousarray(array).tobytes())
    told: list[Any] = [
        resolved.df,
        resolved.mean_weight,
        resolved.shape,
        plan.partition,
        plan.concentration,
    ]
    told += [plan.moves, plan.n_draws, plan.n_burn, plan.thin]
    told += [b if isinstance(b, str) else np.asarray(b).tolist() for b in begins]
    digest.update(repr(told).encode())
    return digest.hexdigest()


def _kept_seed(checkpoint: PathLike, rng: Seed, fingerprint: str) -> int:
    """The seed of a run that goes on, or a new one, written down before anything else is."""
    folder = Path(os.fspath(checkpoint))
    path = folder / "run.npz"
    if path.exists():
        kept = io.read_npz(path, _RUN, what="a run; remove the folder or give another `checkpoint`")
        if str(kept["fingerprint"]) != fingerprint:
            raise FileError(
                f"`checkpoint` {str(folder)!r} holds a run with other data or settings; give "
                "another path, or remove it."
            )
        seed = _number(str(kept["seed"]), path)
        if rng is not None and validate.seed(rng) != seed:
            raise FileError(
                f"`checkpoint` {str(folder)!r} holds a run with seed {seed}; give that seed or "
                "none, or another path."
            )
        return seed
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"`checkpoint` must be a folder; {str(folder)!r} cannot be made ({error.strerror})."
        ) from None
    seed = validate.seed(rng)
    io.write_npz(path, {"fingerprint": np.array(fingerprint), "seed": np.array(str(seed))})
    return seed


def _number(text: str, path: Path) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 100):
        raise FileError(f"{str(path)!r} is corrupt: its seed is no whole number.")
    return int(text)


def _folder(checkpoint: PathLike | None, workers: int, n_draws: int, n_items: int) -> str | None:
    """Where labels are streamed to: always for a checkpoint or processes, or when too many."""
    if checkpoint is not None:
        return os.fspath(checkpoint)
    size = n_draws * n_items * np.dtype(label_dtype(n_items)).itemsize
    if workers > 1 or size > validate.free_memory() // 3:
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if size > free:
            validate.fits_in_memory("The draws", 2 * size, "thin more, or keep fewer draws.")
        return tempfile.mkdtemp(prefix="partita-")
    return None


def _draws(
    jobs: Sequence[Job],
    runs: Sequence[Run],
    names: tuple[str, ...] | None,
    about: record.About,
    interrupted: bool,
) -> Draws:
    counts = [run.n_done for run in runs]
    if sum(counts) == 0:
        if interrupted:
            raise KeyboardInterrupt("stopped before the first draw was kept")
        raise InvalidValueError(
            "`callback` must let at least one draw be kept and none was; it stopped the run "
            f"within the {jobs[0].n_burn} scans of burn-in or before the first draw after them. "
            "Stop when the report's `scan` is past them."
        )
    wanted = sum(job.n_draws for job in jobs)
    if sum(counts) < wanted:
        how = "Interrupted" if interrupted else "Stopped by the callback"
        warnings.warn(
            f"{how}: {sum(counts)} of {wanted} draws are kept.", PartitaWarning, stacklevel=3
        )
    traces = np.concatenate([run.traces for run in runs])
    return Draws(
        _labels(jobs, runs, counts),
        chains=None if len(jobs) == 1 else np.repeat(np.arange(len(counts)), counts),
        item_names=names,
        traces={name: traces[:, i] for i, name in enumerate(TRACES)},
        about=about,
    )


def _labels(jobs: Sequence[Job], runs: Sequence[Run], counts: Sequence[int]) -> Any:
    """All chains' labels in one array: in memory, or, if they do not fit, in a file."""
    folder = jobs[0].folder
    if folder is None:
        parts = [run.labels for run in runs]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    begun = jobs[: len(runs)]  # after Ctrl-C later chains may have no file
    stores = [np.load(labels_path(folder, job.chain), mmap_mode="r") for job in begun]
    size = sum(store[:n].nbytes for store, n in zip(stores, counts, strict=True))
    if size <= validate.free_memory() // 3:
        return np.concatenate([s[:n] for s, n in zip(stores, counts, strict=True)])
    path = _one_file(folder, stores, counts)
    together = np.load(path, mmap_mode="r")
    if jobs[0].keep_state is False:
        # The map outlives the name; the space is given back with the last reference.
        path.unlink(missing_ok=True)
    return together


def _one_file(folder: str, stores: Sequence[Any], counts: Sequence[int]) -> Path:
    if len(stores) == 1 and counts[0] == stores[0].shape[0]:
        return labels_path(folder, 0)
    path = Path(folder) / "labels.npy"
    shape = (sum(counts), stores[0].shape[1])
    whole = np.lib.format.open_memmap(path, "w+", dtype=stores[0].dtype, shape=shape)
    at = 0
    for store, n in zip(stores, counts, strict=True):
        for start in range(0, n, 1024):
            stop = min(start + 1024, n)
            whole[at + start : at + stop] = store[start:stop]
        at += n
    whole.flush()
    return path
