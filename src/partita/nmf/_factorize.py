"""The verb: restarts, the best of them, and what is read off it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import devices, validate
from partita.devices import to_host
from partita.distributed import is_up, noticing
from partita.nmf import _fast, _landmarks, _multiplicative, _readings, _starts
from partita.nmf._common import Factors, Model, Target, Width, device_block
from partita.nmf._parallel import mapper, one_blas_thread
from partita.nmf._target import as_target, check_host_dtype, like

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf._readings import Reading
    from partita.typing import Seed

SOLVERS = ("fast", "mu")
LANES = 4  # ranks under way at once on a GPU, at most
TEMPORARIES = 8  # of items by items that a step of each has, at most
STACKED = 1 << 31  # items by items, over all fits: up to here the ranks of "mu" share a stack on a
STACKED_ON_CPU = 1 << 26  # GPU, and in another library on a CPU


@dataclass(frozen=True, eq=False)
class Factorization:
    """A fit of π̂ by non-negative factors: the restart of least objective, and all the others.

    Parameters
    ----------
    model : str
    rank : int
    solver : str
    normalize : str
        How H was scaled before ``labels`` and ``memberships`` were read off; W and H are not.
    W : array, shape (n, rank)
    H : array, shape (rank, n)
    offset : array, shape (n,), or None
    objective : float
        Of W and H as they are; exact.
    n_iter : int
    converged : bool
        Whether the solver's own rule stopped it, not its limit on iterations.
    restart_objectives : ndarray, shape (n_restarts,)
    restarts : tuple of Factors
        W, H and offset of every restart, in their order.
    cut_short : bool
        Whether a time limit ended it before all restarts were done.
    """

    model: str
    rank: int
    solver: str
    normalize: str
    W: Any
    H: Any
    offset: Any
    objective: float
    n_iter: int
    converged: bool
    restart_objectives: NDArray[np.float64]
    restarts: tuple[Factors, ...]
    cut_short: bool = False

    def read(self, normalize: str | None = None) -> Reading:
        """Read labels and memberships off H by another choice of its scale."""
        how = validate.choice("normalize", normalize or self.normalize, _readings.READINGS)
        return _readings.read(to_host(self.W), to_host(self.H), how)

    def read_restarts(self, normalize: str | None = None) -> NDArray[np.int64]:
        """Return the labels of every restart, shape (n_restarts, n)."""
        how = validate.choice("normalize", normalize or self.normalize, _readings.READINGS)
        found = [_readings.read(to_host(f.W), to_host(f.H), how).labels for f in self.restarts]
        return np.stack(found)

    @cached_property
    def _reading(self) -> Reading:
        return self.read()

    @property
    def labels(self) -> NDArray[np.int64]:
        """The hard partition, canonical, shape (n,)."""
        return self._reading.labels

    @property
    def memberships(self) -> NDArray[np.float64]:
        """Rows that sum to 1, shape (n, rank): a measure of belonging, no posterior probability."""
        return self._reading.memberships

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Items whose column of H is all zero, shape (n,); their memberships are uniform."""
        return self._reading.undecided

    @property
    def restart_labels(self) -> NDArray[np.int64]:
        """The labels of every restart, shape (n_restarts, n)."""
        return self.read_restarts()

    def __repr__(self) -> str:
        return (
            f"Factorization({self.model}, rank {self.rank}, {self.H.shape[1]} items, "
            f"objective {self.objective:.6g})"
        )


def fit(
    target: Target, models: Mapping[str, Model], *, model: str, rank: int, n_init: int,
    solver: str, init: Any, normalize: str, seed: int, parallel: Callable[..., Any],
) -> Factorization:  # fmt: skip
    """Factorise a target that has been checked; ``parallel(work, parts)`` maps in order."""
    chosen = models[model]
    if solver == "fast" and _landmarks.serves(target, chosen, init):
        fits = _landmarks.solve(
            models, target, parallel, fit, model=model, rank=rank, n_init=n_init, seed=seed
        )
        fits = _settled(chosen, target, fits, fits.factors)
        return _reported(fits, model, rank, solver, normalize)
    place = target if solver == "mu" else target.double
    begun = _starts.starts(place, chosen, rank, n_init, init, seed)
    if solver == "mu":
        fits = _mu(chosen, target, begun, parallel)
    else:
        base = None if chosen.begins_at is None else models[chosen.begins_at]
        fits = _quick(chosen, target, begun, parallel, base, (rank, n_init, init, seed))
    return _reported(fits, model, rank, solver, normalize)


def _reported(
    fits: _fast.Fits, model: str, rank: int, solver: str, normalize: str
) -> Factorization:
    choose = np.argmin if solver == "mu" else lambda x: _fast.ranking(x)[0]
    best = int(choose(fits.objective))
    restarts = tuple(
        Factors(*(None if x is None else x[r, ...] for x in fits.factors))
        for r in range(fits.objective.size)
    )
    return Factorization(
        model, rank, solver, normalize, *restarts[best], float(fits.objective[best]),
        int(fits.n_iter[best]), bool(fits.converged[best]), fits.objective, restarts,
    )  # fmt: skip


def _stack(target: Target, begun: list[Factors]) -> Factors:
    return Factors(
        *(
            None if xs[0] is None else target.xp.stack(list(xs), axis=0)
            for xs in zip(*begun, strict=True)
        )
    )


def _mu(
    model: Model, target: Target, begun: list[Factors], parallel: Callable[..., Any]
) -> _fast.Fits:
    """Restart by restart on the host, where workers share them; stacked elsewhere."""
    V = target.array
    if V is None:
        V = target.operator.to_dense(n_jobs=1)
    if target.is_numpy:
        numbered = parallel(lambda i: _unless_late(model, V, begun[i], i), range(len(begun)))
        done = [one for one in numbered if one is not None]
        found = [one[0] for one in done]
        n_iter, converged = (np.array([one[i] for one in done]) for i in (1, 2))
    else:
        found, n_iter, converged = _multiplicative.solve_all(model, V, _stack(target, begun))
    return _scored(model, target, found, n_iter, converged)


def _unless_late(model: Model, V: Any, start: Factors, number: int) -> Any:
    """One restart of R's updates; none where the time is up, but for the first."""
    return None if number and is_up() else _multiplicative.solve(model, V, start)


def _scored(
    model: Model, target: Target, found: list[Factors], n_iter: Any, converged: Any
) -> _fast.Fits:
    factors = _stack(target, found)
    objective = to_host(model.objective(target, factors)).astype(np.float64)
    return _fast.Fits(factors, objective, n_iter, converged)


def _mu_of_ranks(model: Model, target: Target, begun: list[list[Factors]]) -> list[_fast.Fits]:
    """Several ranks in one stack, each factor that a rank does not have held at 0."""
    ranks = [one.H.shape[-2] for fits in begun for one in fits]
    stack = _stack(target, [_widened(target, one, max(ranks)) for fits in begun for one in fits])
    found, n_iter, converged = _multiplicative.solve_all(
        model, target.array, stack, _width(target, ranks)
    )
    out, lo = [], 0
    for fits in begun:
        part = slice(lo, lo + len(fits))
        K, lo = fits[0].H.shape[-2], part.stop
        narrow = [Factors(f.W[:, :K], f.H[:K, :], f.offset) for f in found[part]]
        out.append(_scored(model, target, narrow, n_iter[part], converged[part]))
    return out


def _widened(target: Target, one: Factors, most: int) -> Factors:
    K, n = one.H.shape
    more = target.xp.zeros((most - K, n), dtype=target.dtype, device=target.device)
    W = target.xp.concat([one.W, target.xp.matrix_transpose(more)], axis=-1)
    return Factors(W, target.xp.concat([one.H, more], axis=-2), one.offset)


def _width(target: Target, ranks: list[int]) -> Width:
    rows = (np.arange(max(ranks)) < np.array(ranks)[:, None])[..., None]
    return Width(
        *(like(target, np.asarray(x, float)) for x in (rows, np.array(ranks)[:, None, None]))
    )


def _quick(
    model: Model, target: Target, begun: list[Factors], parallel: Callable[..., Any],
    base: Model | None, begins: Any,
) -> _fast.Fits:  # fmt: skip
    """Solve, with equal items merged into one where there are enough of them."""
    starts = _stack(target, [one._replace(offset=None) for one in begun])
    merged = target.merged
    if merged is None or merged.sizes.size < starts.H.shape[-2]:
        fits = _fast.solve(model, target.double, starts, parallel, base, begins)
        return _settled(model, target, fits, fits.factors)
    p = model.power
    small = target.shrunk("merged", p)
    few = _placed(small, merged.shrink_factors(_brought(starts), p))
    fits = _fast.solve(model, small, few, parallel, base, begins)
    return _settled(model, target, fits, merged.spread_factors(_brought(fits.factors), p))


def _settled(model: Model, target: Target, fits: _fast.Fits, factors: Factors) -> _fast.Fits:
    """The fits with the factors that are given back, and the objectives of these."""
    exact, given = target.double, target.given or target.dtype
    found = _placed(exact, factors)
    if given == exact.dtype:
        return fits._replace(factors=found)
    rounded = Factors(*(None if x is None else target.xp.astype(x, given) for x in found))
    objective = to_host(model.objective(exact, _placed(exact, rounded)))
    return fits._replace(factors=rounded, objective=np.maximum(objective, 0.0))


def _brought(factors: Factors) -> Factors:
    return Factors(*(None if x is None else to_host(x) for x in factors))


def _placed(target: Target, factors: Factors) -> Factors:
    """The factors in the library, precision and place of the target."""
    return Factors(*(None if x is None else target.moved(x) for x in factors))


def factorize_ranks(
    similarity: Any, *, model: str, ranks: Sequence[int], n_init: int, solver: str, seed: int,
    n_jobs: int, device: Any = None, dtype: Any = None,
) -> Iterator[Factorization]:  # fmt: skip
    """Yield a factorisation for each rank, in order; the ranks run side by side.

    As many ranks as there are workers are under way at once, the largest of them first, and what
    comes out does not depend on how many. On a device, where a rank alone would not fill it, all
    the ranks of "mu" share one stack, and some ranks of "fast" are under way at once as far as
    memory allows. ``similarity`` may be what :func:`shared` made of one.

    When the clock that this runs under is up, ranks under way end with what they have,
    ``cut_short``, and there are no more.
    """
    from partita.nmf import NAMES

    dense_only, exact = NAMES[model].dense_only or solver == "mu", solver == "fast"
    target = as_target(similarity, dense_only=dense_only, device=device, dtype=dtype, exact=exact)
    if solver == "mu" and _is_small(target, len(ranks) * n_init):
        chosen = NAMES[model]
        begun = [_starts.starts(target, chosen, rank, n_init, "random", seed) for rank in ranks]
        with noticing() as was_cut:
            stacked = _mu_of_ranks(chosen, target, begun)
        for rank, fits in zip(ranks, stacked, strict=True):
            is_short = bool(was_cut) and not fits.converged.all()
            yield replace(_reported(fits, model, rank, solver, "balance"), cut_short=is_short)
        return
    apart = mapper(1)
    lane = nullcontext if target.is_numpy else devices.of(target.array).lane

    def work(rank: int) -> Factorization:
        with lane(), noticing() as was_cut:
            found = fit(
                target, NAMES, model=model, rank=rank, n_init=n_init, solver=solver, init="random",
                normalize="balance", seed=seed, parallel=apart,
            )  # fmt: skip
        return replace(found, cut_short=bool(was_cut))

    at_once = n_jobs if target.is_numpy else _in_flight(target, NAMES[model], n_init, solver)
    for lo in range(0, len(ranks), at_once):
        if lo and is_up():
            return
        with one_blas_thread():
            done = mapper(at_once)(work, list(ranks[lo : lo + at_once])[::-1])
        yield from reversed(done)


def _in_flight(target: Target, model: Model, n_init: int, solver: str) -> int:
    """How many ranks of a device are under way at once: a few, as far as memory allows.

    What they share is made before they part.
    """
    device = devices.of(target.array)
    if not device.is_gpu or solver == "mu":  # R's updates alone fill a card, or share a stack
        return 1
    whole = target if target.merged is None else target.shrunk("merged", model.power)
    exact = whole.double
    if model.dense_only and exact.coarse is not None:
        exact.shrunk("coarse", model.power)
    block = min(device_block(device), n_init * target.n_items**2)
    return max(1, min(LANES, device.free_memory() // (TEMPORARIES * 8 * block)))


def _is_small(target: Target, n_fits: int) -> bool:
    """Whether one operation on all the fits is still too little to be worth a launch of its own."""
    if target.is_numpy:
        return False
    most = STACKED if devices.of(target.array).is_gpu else STACKED_ON_CPU
    return n_fits * target.n_items**2 <= most


def factorize(
    similarity: Any,
    *,
    model: str = "kl",
    rank: int,
    n_init: int = 10,
    solver: str = "fast",
    init: Any = "random",
    normalize: str = "balance",
    rng: Seed = None,
    n_jobs: int | None = 1,
    device: Any = None,
    dtype: Any = None,
) -> Factorization:
    """Factorise a posterior similarity matrix, π̂ ≈ WH, by non-negative matrices (paper eq. 9).

    Parameters
    ----------
    similarity : Similarity or array of shape (n, n)
        A bare array is a similarity matrix here, of NumPy, PyTorch, CuPy or another library of the
        array API; the factors come back as arrays of that library. The least-squares models also
        work on an implicit similarity without ever forming it; of draws of more than 5,000 items
        only the best restart is then that of all items.
    model : {"ls", "kl", "ns", "offset", "symmetric"}
        What π̂ is approximated by, and in what sense.
    rank : int
        The number of factors, K.
    n_init : int
        Restarts; the one of least objective is reported.
    solver : {"fast", "mu"}
        Ours, or the multiplicative updates of the R package NMF step for step. "fast" brings every
        restart to where its objective falls by less than 1e-2 of itself in a look, the best three
        to 1e-3 and the best to 1e-5; of 1e-5 of the size of the similarity, where the objective
        is less than that. From 150 items on, restarts of the divergences are first fitted to groups
        of items with similar rows, and of them the best three are then carried on. Those of least
        squares, of more than 1,500 items, are fitted to 1,500 of them, weighted to stand for all,
        and up to three of the best, if they are different minima, carried on. Of more than 1,000
        items every other restart of the divergences begins with some of R's updates instead of a
        least-squares fit, which ends lower where there are fewer factors than clusters.
    init : {"random", "nndsvd"} or tuple
        Or one start: (W, H) or (W, H, offset). Random starts are shared between models. "fast"
        begins ``offset`` at the least-squares fit from W and H, so there the offset counts for
        "mu" alone.
    normalize : {"balance", "columns", "as-is"}
        How H is scaled before labels and memberships are read off: column k of W and row k of H of
        equal norm; columns of W that sum to 1; as the solver left it.
    rng : int, SeedSequence or Generator, optional
    n_jobs : int
        Workers for the restarts, by joblib: threads, unless a joblib backend is set.
    device : str, optional
        Where to work: "cuda", "cuda:1", or with the library named, "torch:cuda", "cupy:cuda",
        "torch:cpu". The factors come back as arrays of that library. By default where the
        similarity is, which for anything but an array of another library is the host.
    dtype : {float32, float64}, optional
        Of the factors on a device, float32 by default, and of the work of "mu", whose objectives
        and sums over items are in float64 either way. "fast" works in float64 where the device has
        room for the matrix in it, as the host does, and else in this. On the host all is float64,
        and float32 is refused, for an implicit similarity too.

    Returns
    -------
    Factorization

    References
    ----------
    Lee & Seung (2001), NIPS 13. Brunet et al. (2004), PNAS 101. Pascual-Montano et al. (2006),
    IEEE TPAMI 28. Badea (2008), PSB 13. Kuang, Ding & Park (2012), SDM. Ang & Gillis (2019),
    Neural Computation 31.

    Examples
    --------
    >>> fit = factorize([[1, 1, 0], [1, 1, 0], [0, 0, 1]], model="ls", rank=2, rng=0)
    >>> fit.labels
    array([0, 0, 1])
    >>> fit.memberships.round(3) + 0
    array([[1., 0.], [1., 0.], [0., 1.]])
    >>> bool(fit.objective < 1e-6)
    True
    """
    from partita.nmf import NAMES, _whole

    chosen = validate.lookup("model", model, NAMES)
    validate.choice("solver", solver, SOLVERS)
    validate.choice("normalize", normalize, _readings.READINGS)
    if _whole.is_streamed(similarity, model, solver, init, device):
        check_host_dtype(np.empty(0), dtype)
        return _whole.factorize_streamed(
            similarity, model=model, rank=rank, n_init=n_init, normalize=normalize, rng=rng,
            n_jobs=n_jobs,
        )  # fmt: skip
    dense_only, exact = chosen.dense_only or solver == "mu", solver == "fast"
    target = as_target(similarity, dense_only=dense_only, device=device, dtype=dtype, exact=exact)
    rank = validate.integer("rank", rank, least=1, most=target.n_items)
    with one_blas_thread():
        return fit(
            target, NAMES, model=model, rank=rank,
            n_init=validate.integer("n_init", n_init, least=1), solver=solver, init=init,
            normalize=normalize, seed=validate.seed(rng), parallel=mapper(validate.n_jobs(n_jobs)),
        )  # fmt: skip
