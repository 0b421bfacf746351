"""The verb: restarts, the best of them, and what is read off it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.devices import to_host
from partita.io import Shown, to_dataset
from partita.nmf import readings, updates
from partita.nmf.descent import ROUGH, Fit, begun, descend, refined
from partita.nmf.model import SOLVERS, Factors, Model, namespace
from partita.nmf.representatives import Representatives, representatives
from partita.nmf.starts import starts
from partita.nmf.target import MANY, Target, as_target
from partita.nmf.workers import mapper
from partita.parallel import is_up, noticing, one_blas_thread

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from partita.nmf.descent import Problem
    from partita.nmf.readings import Reading
    from partita.typing import Seed

SAME = 1e-8  # of the objective: restarts of "fast" that reached one minimum
TIED = 1e-4  # of the objective: restarts that data could not tell apart


@dataclass(frozen=True, eq=False)
class Factorization(Shown):
    """A fit of π̂ by non-negative factors: the restart of least objective, and all the others.

    Parameters
    ----------
    model : str
    rank : int
    solver : str
    normalize : str
        How H was scaled before ``labels`` were read off; W and H are not. Memberships are always
        read with balanced factors.
    W : array, shape (n, rank)
    H : array, shape (rank, n)
    offset : array, shape (n,), or None
    objective : float
        Of W and H as they are, over all items. Of more than 20,000, that of "kl" and "ns" is of the
        landmarks, and that of the others has a constant that is estimated.
    n_iter : int
    converged : bool
        Whether the solver's own rule stopped it, not its limit on iterations.
    restart_objectives : ndarray, shape (n_restarts,)
        Of the landmarks, where there are some.
    restarts : tuple of Factors
        W, H and offset of every restart, in their order; of the landmarks, where there are some.
    kept : int
        Which restart was kept.
    landmarks : ndarray or None
        The items that the restarts were fitted to, where those were too many.
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
    kept: int
    landmarks: NDArray[np.intp] | None = None
    cut_short: bool = False

    def read(self, normalize: str | None = None) -> Reading:
        """Read labels off H by another choice of its scale, and the memberships."""
        how = validate.choice("normalize", normalize or self.normalize, readings.READINGS)
        return readings.read(Factors(self.W, self.H), how)

    def read_restarts(self, normalize: str | None = None) -> NDArray[np.int64]:
        """Return the labels of every restart, shape (n_restarts, n or landmarks)."""
        how = validate.choice("normalize", normalize or self.normalize, readings.READINGS)
        return np.stack([readings.read(one, how).labels for one in self.restarts])

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
        """The labels of every restart, shape (n_restarts, n or landmarks)."""
        return self.read_restarts()

    @cached_property
    def membership_spread(self) -> NDArray[np.float64]:
        """How far each item's memberships are left open by the objective, shape (n,).

        The largest range of one of its memberships over the restarts whose objective is within
        1e-4 of the best, with factors matched to those of the restart that is kept. NaN where
        fewer than three restarts tie, and for items that are no landmarks where there are some.
        """
        least = float(self.restart_objectives[self.kept])
        tied = np.flatnonzero(self.restart_objectives <= least * (1.0 + TIED))
        found = readings.spread(self.restarts, tied, self.kept)
        if self.landmarks is None:
            return found
        of_all = np.full(self.H.shape[-1], np.nan)
        of_all[self.landmarks] = found
        return of_all

    def to_xarray(self) -> xr.Dataset:
        """Return W, H, labels, memberships and objectives; ``item``, ``factor``, ``restart``."""
        variables: dict[str, Any] = {
            "W": (["item", "factor"], to_host(self.W)),
            "H": (["factor", "item"], to_host(self.H)),
            "labels": (["item"], self.labels),
            "memberships": (["item", "factor"], self.memberships),
            "membership_spread": (["item"], self.membership_spread),
            "restart_objective": (["restart"], self.restart_objectives),
        }
        if self.offset is not None:
            variables["offset"] = (["item"], to_host(self.offset))
        about = {"model": self.model, "solver": self.solver, "objective": self.objective}
        return to_dataset(variables, about)

    def __repr__(self) -> str:
        return (
            f"Factorization({self.model}, rank {self.rank}, {self.H.shape[1]} items, "
            f"objective {self.objective:.6g})"
        )


def unwatched(rank: int) -> None:
    """Nothing, after a restart."""


@dataclass(frozen=True, eq=False)
class _Task:
    """What the factorisations of one similarity by one model share."""

    target: Target
    model: Model
    n_init: int
    solver: str
    init: Any
    normalize: str
    seed: int
    most: int  # of the ranks
    on_restart: Callable[[int], None]  # called with the rank after every restart

    @cached_property
    def marks(self) -> Representatives:
        return representatives(self.target, self.most, self.seed)

    @cached_property
    def problem(self) -> Problem:
        return self.marks.problem(self.model.method)

    def __getstate__(self) -> dict[str, Any]:
        """In another process nobody watches the restarts."""
        return vars(self) | {"on_restart": unwatched}

    def prepare(self) -> None:
        """Make what ranks share before they part."""
        if self.solver == "fast":
            _ = self.problem

    def fit(self, rank: int, parallel: Callable[..., Any]) -> Factorization:
        """Factorise at one rank; ``parallel(work, parts)`` maps in order."""
        if self.solver == "mu":
            return self._by_updates(rank, parallel)
        return self._fast(rank, parallel)

    def _by_updates(self, rank: int, parallel: Callable[..., Any]) -> Factorization:
        """R's updates: a restart at a time on the host, all of them stacked on a device."""
        target, model = self.target, self.model
        V = target.dense(why='the solver "mu" factorises')
        begin = starts(
            model, rank, self.n_init, self.init, self.seed, target.n_items, lambda: to_host(V),
            high=max(1.0, float(namespace(V).max(V))),
        )  # fmt: skip
        begin = [target.put_factors(one) for one in begin]
        groups = [[one] for one in begin] if target.is_on_host else [begin]

        def solve(number: int) -> Any:
            if number and is_up():
                return None
            found = updates.solve(model, V, groups[number])
            for _ in groups[number]:
                self.on_restart(rank)
            return found

        done = [one for one in parallel(solve, range(len(groups))) if one is not None]
        found: tuple[Factors, ...] = tuple(factors for some, _, _ in done for factors in some)
        objective = np.array([float(model.objective(V, one)) for one in found])
        n_iter, converged = (np.concatenate([one[i] for one in done]) for i in (1, 2))
        best = int(np.argmin(objective))
        return Factorization(
            model.name, rank, "mu", self.normalize, *found[best], float(objective[best]),
            int(n_iter[best]), bool(converged[best]), objective, found, best,
        )  # fmt: skip

    def _fast(self, rank: int, parallel: Callable[..., Any]) -> Factorization:
        target, model, marks = self.target, self.model, self.marks
        fits = self._restarts(model, rank, parallel)
        spread = [marks.spread(fit.blocks, model.method) for fit in fits]
        found = [model.method.to_factors(blocks) for blocks in spread]
        objective = np.array([fit.objective for fit in fits])
        best = _canonical(found, objective, 1e-5 * model.method.size(self.problem))
        chosen, fit, landmarks = found[best], fits[best], None
        if target.n_items > MANY:
            blocks = model.method.extend(target, marks, spread[best])
            fit = model.method.improve(target, blocks) or replace(fit, blocks=blocks)
            chosen, landmarks = model.method.to_factors(fit.blocks), marks.items
        else:
            found = [target.put_factors(one) for one in found]
        return Factorization(
            model.name, rank, "fast", self.normalize, *target.put_factors(chosen), fit.objective,
            fits[best].n_iter, fit.converged, objective, tuple(found), best, landmarks,
        )  # fmt: skip

    def _restarts(self, model: Model, rank: int, parallel: Callable[..., Any]) -> list[Fit]:
        from partita.nmf import NAMES

        problem, marks, method = self.problem, self.marks, model.method
        size = problem.n_items if self.target.n_items > MANY else self.target.n_items
        begin = starts(model, rank, self.n_init, self.init, self.seed, size, self.target.matrix)

        def start(number: int) -> Fit | None:
            if number and is_up():
                return None
            if begin[number].H.shape[1] == self.target.n_items:
                blocks = method.to_blocks(begin[number], np.ones(self.target.n_items))
                blocks = tuple(marks.shrink(x, method) for x in blocks)
            else:
                blocks = method.to_blocks(begin[number], problem.border)
            fit = begun(problem, method, blocks)
            if model is self.model:
                self.on_restart(rank)
            return fit

        def onwards(fit: Fit) -> Fit:
            factors = NAMES[model.begins_at or ""].method.to_factors(fit.blocks)
            fit = replace(fit, blocks=method.to_blocks(factors, problem.border))
            return descend(problem, fit, ROUGH, method)

        fits = [fit for fit in parallel(start, range(len(begin))) if fit is not None]
        if model.begins_at is None:
            return refined(problem, method, fits, parallel)
        others = parallel(onwards, self._restarts(NAMES[model.begins_at], rank, parallel))
        fits = refined(problem, method, [*others, *fits], parallel)
        return [
            min(pair, key=lambda fit: fit.objective)
            for pair in zip(fits, fits[len(others) :], strict=False)
        ]


def _canonical(found: list[Factors], objective: NDArray[np.float64], floor: float) -> int:
    """The restart to keep: of those that reached the least objective, that of least entropy.

    Valleys are flat where factors outnumber clusters, and the seed would decide otherwise.
    """
    least = float(objective.min())
    same = np.flatnonzero(objective <= least + SAME * max(least, floor))
    disorder = np.round([readings.entropy(found[r]) for r in same], 6)
    return int(same[int(np.argmin(disorder))])


def factorize_ranks(
    similarity: Any, *, model: str, ranks: Sequence[int], n_init: int, solver: str, seed: int,
    n_jobs: int, device: Any = None, dtype: Any = None,
    on_restart: Callable[[int], None] | None = None,
) -> Iterator[Factorization]:  # fmt: skip
    """Yield a factorisation for each rank, in order; the ranks run side by side.

    As many ranks as there are workers are under way at once, the largest of them first, and what
    comes out does not depend on how many. When the clock that this runs under is up, ranks under
    way end with what they have, ``cut_short``, and there are no more.
    """
    from partita.nmf import NAMES

    target = as_target(similarity, device=device, dtype=dtype)
    task = _Task(
        target, NAMES[model], n_init, solver, "random", "balance", seed, max(ranks),
        on_restart or unwatched,
    )  # fmt: skip
    at_once = n_jobs if solver == "fast" or target.is_on_host else 1
    with one_blas_thread():
        task.prepare()

    def work(rank: int) -> Factorization:
        with noticing() as was_cut:
            found = task.fit(rank, mapper(1))
        return replace(found, cut_short=bool(was_cut))

    for lo in range(0, len(ranks), at_once):
        if lo and is_up():
            return
        with one_blas_thread():
            done = mapper(at_once)(work, list(ranks[lo : lo + at_once])[::-1])
        yield from reversed(done)


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
    n_jobs: int | None = -1,
    device: Any = None,
    dtype: Any = None,
) -> Factorization:
    """Factorise a posterior similarity matrix, π̂ ≈ WH, by non-negative matrices (equation 19).

    Parameters
    ----------
    similarity : Similarity or array of shape (n, n)
        A bare array is a similarity matrix here, of NumPy, PyTorch, CuPy or another library of the
        array API; the factors come back as arrays of that library. An implicit similarity of more
        than 1,500 items is never formed.
    model : {"ls", "kl", "ns", "offset", "symmetric"}
        What π̂ is approximated by, and in what sense.
    rank : int
        The number of factors, K.
    n_init : int
        Restarts; the one of least objective is reported.
    solver : {"fast", "mu"}
        Ours, or the multiplicative updates of the R package NMF step for step. "fast" brings every
        restart to where its objective falls by less than 1e-2 of itself in a look, those within 5%
        of the best to 1e-3, those within 0.1% to 1e-5, and where several are within 1e-4, those to
        1e-8. Of restarts that then agree to 1e-8 it keeps that whose memberships have the least
        entropy. Of more than 1,500 items, the restarts
        are fitted to 400 landmarks, weighted to stand for all, and the best is extended to all
        items and improved there.
    init : {"random", "nndsvd"} or tuple
        Or one start: (W, H) or (W, H, offset). Random starts are shared between models.
    normalize : {"balance", "columns", "as-is"}
        How H is scaled before labels are read off: column k of W and row k of H of equal norm;
        columns of W that sum to 1; as the solver left it. Memberships are read by the first.
    rng : int, SeedSequence or Generator, optional
    n_jobs : int
        Workers for the restarts, by joblib: threads, unless a joblib backend is set.
    device : str, optional
        Where to work: "cuda", "cuda:1", or with the library named, "torch:cuda", "cupy:cuda",
        "torch:cpu". The factors come back as arrays of that library. By default where the
        similarity is, which for anything but an array of another library is the host. "fast" fits
        landmarks on the host, and goes over all items on the device.
    dtype : {float32, float64}, optional
        Of the matrix and the factors on a device, float32 by default; objectives and sums over
        items are in float64 either way. On the host all is float64, and float32 is refused.

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
    from partita.nmf import NAMES

    chosen = validate.lookup("model", model, NAMES)
    validate.choice("solver", solver, SOLVERS)
    validate.choice("normalize", normalize, readings.READINGS)
    target = as_target(similarity, device=device, dtype=dtype)
    rank = validate.integer("rank", rank, least=1, most=target.n_items)
    task = _Task(
        target, chosen, validate.integer("n_init", n_init, least=1), solver, init, normalize,
        validate.seed(rng), rank, unwatched,
    )  # fmt: skip
    with one_blas_thread():
        return task.fit(rank, mapper(validate.n_jobs(n_jobs)))
