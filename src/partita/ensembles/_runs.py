"""Run a clusterer many times, on parts of the data and with other settings, and keep the labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.draws import Draws
from partita.errors import InvalidTypeError, InvalidValueError, PartitaWarning
from partita.parallel import map_blocks, one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Seed

_FEWEST, _MOST = 2, 12  # clusters asked for where nothing is said


def consensus(
    estimator: Any,
    X: Any,
    *,
    n_runs: int = 100,
    subsample: float = 0.8,
    vary: Mapping[str, Sequence[Any]] | None = None,
    noise: str = "absent",
    rng: Seed = None,
    n_jobs: int | None = -1,
) -> Draws:
    """Run a clusterer many times on parts of the data, and return the runs as draws.

    What partita does with posterior draws it then does with the runs: the partition that agrees
    best with all, how sure each item is of its place, a report. Runs of any other kind, such as
    columns of labels that are there already, need none of this: :class:`Draws` takes them.

    Parameters
    ----------
    estimator : scikit-learn clusterer or callable
        Something with ``fit_predict``, which is cloned for each run, or a function
        ``f(X, rng, **settings)`` that returns labels.
    X : array-like, DataFrame, sparse matrix or list, a row an item
    n_runs : int
    subsample : float
        The share of the items that each run sees, from 0 to 1; 1 is all of them.
    vary : mapping of str to sequence, optional
        Settings and the values to try, each equally often, in random order. If None, ``n_clusters``
        from 2 to 12 where the estimator has it, else seeds alone. A ``random_state`` is always set.
    noise : {"absent", "singleton"}
        What a label of -1 means, as density-based clusterers give it: that the run says nothing of
        the item, or that it is a cluster of its own.
    rng : int, SeedSequence or Generator, optional
        One seed gives the same runs on any number of threads.
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    Draws
        One draw a run, with missing labels for the items that it did not see; ``traces`` hold what
        varied. Values that are no numbers stand there as their positions in ``vary``.

    Warns
    -----
    PartitaWarning
        If Ctrl-C ended the runs; those that are done are returned.

    References
    ----------
    Monti, Tamayo, Mesirov & Golub (2003), Consensus clustering, Machine Learning 52.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> runs = consensus(KMeans(n_init=1), X, vary={"n_clusters": [2]}, n_runs=20, rng=0)
    >>> runs.n_draws, sorted(runs.traces)
    (20, ['n_clusters'])
    >>> import partita as pt
    >>> pt.estimate(runs, rng=0).labels
    array([0, 0, 0, 1, 1, 1])
    """
    validate.integer("n_runs", n_runs, least=1)
    validate.real("subsample", subsample, low=0, high=1, open_low=True)
    validate.choice("noise", noise, ("absent", "singleton"))
    items = _Items.of(X)
    n_seen = min(items.n_items, max(2, round(subsample * items.n_items)))
    settings = _checked(vary, estimator, n_seen)
    seed = validate.seed(rng)
    plan = _plan(settings, n_runs, seed)
    children = np.random.SeedSequence(seed).spawn(n_runs)

    def run(part: slice) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        random = np.random.default_rng(children[part.start])
        seen = np.sort(random.choice(items.n_items, n_seen, replace=False))
        chosen = {name: values[plan[name][part.start]] for name, values in settings.items()}
        return _labels(estimator, items, seen, chosen, random, noise)

    done = _until_interrupted(run, n_runs, validate.n_jobs(n_jobs))
    n_done = len(done)
    labels, observed = np.stack([labels for labels, _ in done]), np.stack([o for _, o in done])
    return Draws(
        labels,
        item_names=items.names,
        observed=observed,
        traces={name: _trace(settings[name], plan[name][:n_done]) for name in settings},
        about={
            "method": "consensus",
            "estimator": " ".join(repr(estimator).split()),
            "subsample": float(subsample),
            "seed": str(seed),
        },
    )


@dataclass(frozen=True)
class _Items:
    """The data, of which some rows can be taken."""

    X: Any
    n_items: int
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: Any) -> _Items:
        """Anything with rows; lists of numbers become arrays, lists of documents stay lists."""
        if hasattr(X, "iloc"):
            index = [str(name) for name in X.index]
            counts = index == list(map(str, range(len(index))))
            return cls(X, len(X), None if counts else tuple(index))
        if not hasattr(X, "shape"):
            X = list(X)
            X = X if X and isinstance(X[0], str) else np.asarray(X)
        n_items = int(X.shape[0]) if hasattr(X, "shape") and X.shape else len(X)
        if n_items < 2:
            raise InvalidValueError(f"`X` must have two rows or more; got {n_items}.")
        return cls(X, n_items)

    def rows(self, seen: NDArray[np.intp]) -> Any:
        """The data of some items."""
        if hasattr(self.X, "iloc"):
            return self.X.iloc[seen]
        return [self.X[i] for i in seen] if isinstance(self.X, list) else self.X[seen]


def _checked(
    vary: Mapping[str, Sequence[Any]] | None, estimator: Any, n_seen: int
) -> dict[str, list[Any]]:
    """The settings and their values; those that are usual if nothing was said."""
    known = estimator.get_params() if hasattr(estimator, "get_params") else None
    if known is None and not callable(estimator):
        raise InvalidTypeError(
            "`estimator` must be a clusterer as scikit-learn has them, with `fit_predict`, or a "
            f"function f(X, rng) that returns labels; got {estimator!r}."
        )
    if vary is None:
        usual = {"n_clusters": list(range(_FEWEST, max(_FEWEST, min(_MOST, n_seen - 1)) + 1))}
        return usual if known is not None and "n_clusters" in known else {}
    if not isinstance(vary, Mapping) or any(
        isinstance(values, str) or not len(list(values)) for values in vary.values()
    ):
        raise InvalidTypeError(
            "`vary` must map names of settings to the values to try, such as {'n_clusters': "
            f"range(2, 13)}}; got {vary!r}."
        )
    for name in vary:
        if known is not None and name not in known:
            raise InvalidValueError(
                f"`vary` must name settings of {type(estimator).__name__}; got {name!r}"
                f"{validate.did_you_mean(name, list(known))}."
            )
    return {str(name): list(values) for name, values in vary.items()}


def _plan(settings: dict[str, list[Any]], n_runs: int, seed: int) -> dict[str, NDArray[np.int64]]:
    """Which value each run has of every setting: each as often as the others, in random order."""
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(n_runs,)))
    plan = {}
    for name, values in settings.items():
        rounds = [random.permutation(len(values)) for _ in range(-(-n_runs // len(values)))]
        plan[name] = np.concatenate(rounds)[:n_runs]
    return plan


def _labels(
    estimator: Any, items: _Items, seen: NDArray[np.intp], settings: dict[str, Any],
    random: np.random.Generator, noise: str,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:  # fmt: skip
    """One run: the labels of all items, and which of them it has."""
    X = items.rows(seen)
    if not hasattr(estimator, "get_params"):
        found = estimator(X, random, **settings)
    else:
        from sklearn.base import clone
        from threadpoolctl import threadpool_limits

        one = clone(estimator)
        own = {"random_state": int(random.integers(2**31 - 1))}
        known = one.get_params()
        one.set_params(**{k: v for k, v in own.items() if k in known}, **settings)
        with one_blas_thread(), threadpool_limits(1, user_api="openmp"):
            found = one.fit_predict(X)
    given = validate.labels("labels", found, n_items=seen.size)
    is_noise = np.asarray(found) == -1 if given.dtype.kind == "i" else np.zeros(seen.size, bool)
    codes = np.unique(given, return_inverse=True)[1].astype(np.int64)
    if noise == "singleton":
        codes = np.where(is_noise, codes.max() + 1 + np.arange(seen.size), codes)
        is_noise = np.zeros(seen.size, bool)
    labels, observed = np.zeros(items.n_items, np.int64), np.zeros(items.n_items, bool)
    labels[seen], observed[seen] = codes, ~is_noise
    return labels, observed


def _until_interrupted(
    run: Callable[[slice], Any], n_runs: int, n_jobs: int
) -> list[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Make the runs, or those until Ctrl-C; runs that found nothing but noise are left out."""
    done: list[Any] = []
    try:
        parts = [slice(i, i + 1) for i in range(n_runs)]
        done.extend(map_blocks(run, parts, n_jobs=n_jobs, label="runs"))
    except KeyboardInterrupt:
        if not done:
            raise
        warnings.warn(
            f"The runs were interrupted; {len(done)} of {n_runs} are done and returned.",
            PartitaWarning,
            stacklevel=3,
        )
    return done


def _trace(values: list[Any], chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values that the runs had, or their positions where they are no numbers."""
    is_number = all(isinstance(v, int | float | np.number) for v in values)
    return np.asarray([values[i] if is_number else i for i in chosen], dtype=np.float64)
