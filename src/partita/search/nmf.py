"""Partitions read off non-negative factorisations of π̂: the paper's method."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, nmf, validate
from partita.errors import InvalidValueError
from partita.parallel import Stop, noticing, progress, stoppable
from partita.partitions import smallest_dtype
from partita.search._common import Candidate
from partita.search._polish import polish
from partita.similarity import Similarity, posterior_similarity

if TYPE_CHECKING:
    from partita.evidence import Evidence
    from partita.losses import Loss
    from partita.nmf import Factorization


@dataclass(frozen=True, repr=False)
class NMF:
    """Factorise π̂ at several ranks and offer the hard partition of each (paper, Section 4).

    For each rank the restart of least objective is kept, and the loss then chooses among the
    ranks. The scale of H is a choice that changes the partition (see :func:`partita.factorize`),
    so each reading is offered and the loss chooses among those too; ``info["reading"]`` says
    which won. Memberships are those of balanced factors, whichever won. Ranks beyond the number of
    items are left out; if all are, n is the one rank.

    Beyond 1,500 items restarts are fitted to 400 landmarks, whose objectives and labels are what
    ``restart_objectives`` and ``restart_labels`` hold then (``info["landmarks"]``); the best is
    extended to all items and improved there, through the draws where π̂ is not a matrix.

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
        similarity itself is made in any case, and what is polished is polished in the time that is
        left.

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
        validate.lookup("model", self.model, dict.fromkeys(nmf.MODELS))
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
        clock = Stop(self.time_limit)
        ranks = [k for k in self.ranks if k <= evidence.n_items] or [evidence.n_items]
        similarity, matrix = self._similarity(evidence)
        offered: list[Candidate] = []
        with progress(len(ranks) * self.n_init, f"nmf-{self.model}") as bar:
            found = nmf.factorize_ranks(
                similarity,
                model=self.model,
                ranks=ranks,
                n_init=self.n_init,
                solver=self.solver,
                seed=validate.seed(rng),
                n_jobs=n_jobs,
                device=self.device,
                dtype=self.dtype,
                on_restart=lambda rank: bar.advance(1, f"rank {rank}"),
            )
            for fit in stoppable(clock, found):
                if fit.cut_short and any("cut_short" not in one.info for one in offered):
                    continue
                read = list(self.read(fit, matrix))
                yield from read
                offered += read
        if not self.polish or clock.is_late():
            return _too_short_for(ranks, offered, polish=self.polish)
        partitions = np.stack([c.labels for c in offered])
        values = losses.expected(loss, partitions, evidence, n_jobs=n_jobs)
        best = offered[int(np.argmin(values))]
        with noticing() as was_cut:
            labels = polish(best.labels, evidence, loss, rng=rng, time_limit=clock.left())
        about = {"polished": True, "from_rank": best.info["rank"]} | matrix
        yield Candidate(labels, info=about)
        return _too_short_for(ranks, offered, polish=bool(was_cut))

    def _similarity(self, evidence: Evidence) -> tuple[Similarity, dict[str, str]]:
        """What to factorise, and where a matrix is that the evidence does not know of.

        Least squares of very many items is quicker through the draws. A divergence goes over the
        whole matrix several times, and has it made where the evidence allows one.
        """
        device = self.device
        if device is None and evidence.is_on_device:
            device = evidence.similarity.device
        if device not in (None, "cpu"):
            return evidence.similarity, {"matrix": str(device)}
        needs_matrix = self.solver == "mu" or self.model in ("kl", "ns")
        if not evidence.is_large or needs_matrix:
            similarity = evidence.similarity
            made = evidence.is_large and (similarity.is_dense or self.solver == "mu")
            return similarity, {"matrix": "memory"} if made else {}
        return posterior_similarity(evidence.distinct, kind="implicit"), {}

    def read(self, fit: Factorization, about: dict[str, Any] | None = None) -> Iterator[Candidate]:
        """Yield one partition of a fit for each reading."""
        for how in self.normalize:
            reading, restarts = fit.read(how), fit.read_restarts(how)
            info = {
                "rank": fit.rank,
                "model": fit.model,
                "reading": how,
                "objective": fit.objective,
                "n_iter": fit.n_iter,
                "converged": fit.converged,
                "undecided": int(reading.undecided.sum()),
                "restart_labels": restarts.astype(smallest_dtype(fit.rank)),
                "restart_objectives": fit.restart_objectives,
                "membership_spread": fit.membership_spread,
                **({} if fit.landmarks is None else {"landmarks": fit.landmarks.size}),
                **({"cut_short": True} if fit.cut_short else {}),
                **(about or {}),
            }
            yield Candidate(reading.labels, memberships=reading.memberships, info=info)


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
