"""Partitions read off non-negative factorisations of π̂: the paper's method."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, nmf, validate
from partita.distributed import Clock, OutOfTimeError, each_under, noticing, progress, stoppable
from partita.errors import InvalidValueError
from partita.partitions import smallest_dtype
from partita.search._common import Candidate
from partita.search._nmf_large import from_landmarks
from partita.search._polish import polish

if TYPE_CHECKING:
    from partita.evidence import Evidence
    from partita.losses import Loss
    from partita.nmf import Factorization


_QUICK = 2_000  # items of a matrix whose iterations are short, so that Ctrl-C can wait for one
_PASS = 1e-8  # seconds for each item and draw, to extend and score at last


@dataclass(frozen=True, repr=False)
class NMF:
    """Factorise π̂ at several ranks and offer the hard partition of each (paper, Section 4).

    For each rank the restart of least objective is kept, and the loss then chooses among the
    ranks. The scale of H is a choice that changes the partition (see :func:`partita.factorize`),
    so each reading is offered and the loss chooses among those too; ``info["reading"]`` says
    which won. Ranks beyond the number of items are left out; if all are, n is the one rank.

    Beyond 1,500 items, unless the similarity is given as a matrix or (up to 5,000 items) there are
    more than four draws an item, ``ls``, ``offset`` and
    ``symmetric`` never form π̂. They make their restarts on 1,500 landmarks, whose objectives and
    labels are what ``restart_objectives`` and ``restart_labels`` hold then, iterate on a randomised
    eigenfactor of at most 32,768 items, and end with products of π̂ itself over all items. Beyond
    5,000 items ``kl`` and ``ns`` are fitted on the landmarks and extended to the other items by
    non-negative regression. ``info["approximation"]`` says which.

    Parameters
    ----------
    model : {"ls", "kl", "ns", "offset", "symmetric"}
    ranks : sequence of int
        The ranks to try; 2 to 12 by default, as in the paper.
    n_init : int
        Restarts at each rank.
    solver : {"fast", "mu"}
    normalize : str or sequence of str
        The readings to offer: any of "balance", "columns", "as-is".
    polish : bool
        Also hand the best of these partitions to the greedy moves, and offer what they make of
        it, without memberships.
    device : str, optional
        Factorise there: "cuda", "cuda:1", or with the library named, "torch:cuda", "cupy:cuda",
        "torch:cpu". By default where the similarity is.
    dtype : {"float32", "float64"}, optional
        Of the factors on a device, as in :func:`partita.factorize`; float32 by default.
    time_limit : float, optional
        Seconds after which the ranks that are done are what there is, with a warning that names
        those left out; if none is done, what the first restarts had come to, ``cut_short``. The
        similarity itself, and beyond 5,000 items the landmarks, are made in any case, and what is
        polished is polished in the time that is left.

    References
    ----------
    Wang & Porter, the paper that partita implements; Brunet et al. (2004), PNAS 101.
    """

    model: str = "kl"
    ranks: Sequence[int] = field(default_factory=lambda: range(2, 13))
    n_init: int = 10
    solver: str = "fast"
    normalize: str | tuple[str, ...] = nmf.READINGS
    polish: bool = False
    device: str | None = None
    dtype: str | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        validate.lookup("model", self.model, nmf.NAMES)
        validate.integer("n_init", self.n_init, least=1)
        validate.choice("solver", self.solver, nmf.SOLVERS)
        readings = (self.normalize,) if isinstance(self.normalize, str) else self.normalize
        for one in readings:
            validate.choice("normalize", one, nmf.READINGS)
        if self.dtype is not None:
            dtype = validate.float_dtype("dtype", self.dtype)
            object.__setattr__(self, "dtype", dtype.name)
        if self.time_limit is not None:
            validate.real("time_limit", self.time_limit, low=0, open_low=True)
        ranks = [validate.integer("ranks", k, least=1) for k in self.ranks]
        if not ranks or not readings:
            raise InvalidValueError("`ranks` and `normalize` must name at least one each.")
        object.__setattr__(self, "ranks", tuple(sorted(set(ranks))))
        object.__setattr__(self, "normalize", tuple(readings))

    def __repr__(self) -> str:
        """The call that makes it, without what is as ever."""
        plain = NMF(self.model)
        names = [one.name for one in fields(self) if one.name != "model"]
        said = [
            f"{name}={value!r}"
            for name in names
            if (value := getattr(self, name)) != getattr(plain, name)
        ]
        return f"NMF({', '.join([repr(self.model), *said])})"

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Generator[Candidate, None, str | None]:
        """Yield, rank by rank, one partition for each reading of the best restart.

        What is returned at the end says which ranks the time was too short for, if any.
        """
        n, clock = evidence.n_items, Clock(self.time_limit)
        ranks = [k for k in self.ranks if k <= n] or [n]
        if self._goes_through_draws(evidence):
            return (yield from self._streamed(evidence, loss, ranks, rng, n_jobs, clock))
        with progress(len(ranks) * self.n_init, f"nmf-{self.model}") as bar:
            found = nmf.factorize_ranks(
                evidence.similarity,
                model=self.model,
                ranks=ranks,
                n_init=self.n_init,
                solver=self.solver,
                seed=validate.seed(rng),
                n_jobs=n_jobs,
                device=self.device,
                dtype=self.dtype,
            )
            offered: list[Candidate] = []
            matrix = self._matrix(evidence)
            watched = stoppable if n <= _QUICK else each_under
            for fit in watched(clock, found):
                bar.advance(self.n_init, f"rank {fit.rank}")
                if fit.cut_short and any("cut_short" not in one.info for one in offered):
                    continue
                read = [replace(one, info={**one.info, **matrix}) for one in self.read(fit)]
                yield from read
                offered += read
        if not self.polish or clock.is_up():
            return _too_short_for(ranks, offered, polish=self.polish)
        partitions = np.stack([c.labels for c in offered])
        values = losses.expected(loss, partitions, evidence, n_jobs=n_jobs)
        best = offered[int(np.argmin(values))]
        with noticing() as was_cut:
            polished = self._polished(best, evidence, loss, rng, clock, matrix)
        yield polished
        return _too_short_for(ranks, offered, polish=bool(was_cut))

    def _polished(
        self, best: Candidate, evidence: Evidence, loss: Loss, rng: np.random.Generator,
        clock: Clock, about: dict[str, Any],
    ) -> Candidate:  # fmt: skip
        labels = polish(best.labels, evidence, loss, rng=rng, time_limit=clock.left())
        return Candidate(labels, info={"polished": True, "from_rank": best.info["rank"], **about})

    def _goes_through_draws(self, evidence: Evidence) -> bool:
        """Whether π̂ is not formed: it need not be, or a product with it costs more."""
        if self.solver != "fast" or self.device is not None or evidence.is_on_device:
            return False
        if evidence.is_large:
            return True
        if not evidence.has_draws or (evidence.is_similarity and evidence.has_dense):
            return False
        draws = evidence.draws if evidence.streams else evidence.distinct
        return nmf.Streamed.is_quicker(self.model, draws.n_items, draws.n_draws)

    def _matrix(self, evidence: Evidence) -> dict[str, str]:
        """Where a matrix is made that the evidence does not know of."""
        device = self.device
        if device is None and evidence.is_on_device:
            device = evidence.similarity.device
        if device is not None and device != "cpu":
            return {"matrix": device}
        return {"matrix": "memory"} if evidence.is_large else {}

    def _streamed(
        self, evidence: Evidence, loss: Loss, ranks: list[int], rng: np.random.Generator,
        n_jobs: int, clock: Clock,
    ) -> Generator[Candidate, None, str | None]:  # fmt: skip
        """Yield the best reading of each rank; memberships only where it is the best so far.

        Where the time is up, or Ctrl-C comes, before any rank is done, the best of the landmarks.
        """
        seed, draws = validate.seed(rng), evidence.distinct
        shared = nmf.Streamed(draws, self.model, ranks, self.n_init, seed, n_jobs)
        clock.reserve(_PASS * evidence.n_items * draws.n_draws)
        offered: list[Candidate] = []
        end: OutOfTimeError | KeyboardInterrupt | None = None
        try:
            for one in self._each_rank(shared, evidence, loss, n_jobs, clock):
                yield one
                offered.append(one)
        except (OutOfTimeError, KeyboardInterrupt) as error:
            end = error
        if not offered and shared.small:
            offered = [from_landmarks(shared, draws, loss, self.normalize, n_jobs)]
            yield offered[0]
        if isinstance(end, KeyboardInterrupt):
            raise end
        if not self.polish or clock.is_up():
            return _too_short_for(ranks, offered, polish=self.polish)
        best = min(offered, key=lambda one: one.expected_loss or 0.0)
        with noticing() as was_cut:
            polished = self._polished(best, evidence, loss, rng, clock, {})
        yield polished
        return _too_short_for(ranks, offered, polish=bool(was_cut))

    def _each_rank(
        self, shared: nmf.Streamed, evidence: Evidence, loss: Loss, n_jobs: int, clock: Clock
    ) -> Iterator[Candidate]:
        least = np.inf
        with progress(len(shared.ranks), f"nmf-{self.model}") as bar:
            for fit in stoppable(clock, shared.fits(), breaks_off=True):
                one = self._best_reading(fit, evidence, loss, n_jobs)
                assert one.expected_loss is not None
                if one.expected_loss < least:
                    least = one.expected_loss
                    one = replace(one, memberships=fit.memberships(one.info["reading"]))
                yield one
                bar.advance(1, f"rank {fit.rank}")

    def _best_reading(
        self, fit: nmf.StreamedFit, evidence: Evidence, loss: Loss, n_jobs: int
    ) -> Candidate:
        found: list[tuple[str, Any]] = []
        for how in self.normalize:
            labels = fit.labels(how)
            if all((labels != other).any() for _, other in found):
                found.append((how, labels))
        partitions = np.stack([labels for _, labels in found])
        values = losses.expected(loss, partitions, evidence, n_jobs=n_jobs)
        best = int(np.argmin(values))
        how, labels = found[best]
        about = {
            "rank": fit.rank, "model": fit.model, "reading": how, "objective": fit.objective,
            "n_iter": fit.n_iter, "converged": fit.converged, "undecided": fit.n_undecided(how),
            **fit.about,
            "restart_labels": fit.restart_labels(how).astype(smallest_dtype(fit.rank)),
            "restart_objectives": fit.restart_objectives,
        }  # fmt: skip
        return Candidate(labels, expected_loss=float(values[best]), info=about)

    def read(self, fit: Factorization) -> Iterator[Candidate]:
        """Yield one partition of a fit for each reading."""
        for how in self.normalize:
            reading = fit.read(how)
            yield Candidate(
                reading.labels, memberships=reading.memberships, info=_about(fit, how, reading)
            )


def _too_short_for(ranks: list[int], offered: list[Candidate], *, polish: bool) -> str | None:
    """Say which ranks the time was too short for, and whether for the polishing."""
    done = {one.info["rank"] for one in offered if "cut_short" not in one.info}
    left = [rank for rank in ranks if rank not in done]
    if not left:
        said = "`time_limit` was too short for all of the polishing (`polish`). Allow more seconds."
        return said if polish else None
    noun = "rank" if len(left) == 1 else "ranks"
    what = f"the {noun} {', '.join(map(str, left))}"
    came = "this is what it had come to" if len(left) == 1 else "this is what they had come to"
    if done:
        came = "the others are what was chosen from"
    return (
        f"`time_limit` was too short for {what}{' and the polishing' if polish else ''}; {came}. "
        "Allow more seconds, or try fewer `ranks` or restarts (`n_init`)."
    )


def _about(fit: Factorization, how: str, reading: nmf.Reading) -> dict[str, Any]:
    restarts = fit.read_restarts(how)
    return {
        "rank": fit.rank,
        "model": fit.model,
        "reading": how,
        "objective": fit.objective,
        "n_iter": fit.n_iter,
        "converged": fit.converged,
        "undecided": int(reading.undecided.sum()),
        "restart_labels": restarts.astype(smallest_dtype(fit.rank)),
        "restart_objectives": fit.restart_objectives,
        **({"cut_short": True} if fit.cut_short else {}),
    }
