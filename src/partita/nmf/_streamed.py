"""NMF of the similarity of draws of any size, which is never formed.

The Frobenius models are restarted on a few landmarks, the best restart extended to a sample of some
ten thousand items by non-negative regression and iterated there on a randomised eigenfactor of π̂
with K + 12 columns and the rest of its diagonal (`_alternation`); then all items are fitted to the
sample, and both factors in turn to π̂ of all items (`_batch`). ``kl`` and ``ns`` are fitted on the
landmarks alone and extended (`_divergence`). The objective of the Frobenius models is exact but for
‖π̂‖², which beyond some size is an estimate from sampled rows, the same number for every rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.distributed import Pieces, current, each_under, map_items, under
from partita.draws import own_sums
from partita.nmf import _batch, _divergence, _landmarks, _pieces
from partita.nmf._alternation import QUICK, TOLERANCE, Alternated, Field, alternate, correct
from partita.nmf._eigen import eigenfactor
from partita.nmf._frobenius import frobenius2, norm_of_all
from partita.nmf._parallel import one_blas_thread
from partita.nmf._symmetric_pieces import Descended, descend, exact_steps
from partita.nmf._target import of_array
from partita.partitions import canonical
from partita.similarity import Landmarks, landmarks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.nmf._divergence import Groups
    from partita.nmf._factorize import Factorization

N_SAMPLE = 32_768  # items that factors are iterated on, at most; a quarter of it, at least
_SAMPLED = 1 << 25  # labels of those, at most
DRAWS_AN_ITEM = 4  # up to which going through the draws was measured to be the quicker
N_ROUNDS = 3  # of both factors in turn
MORE = 12  # eigenvectors beyond the rank


@dataclass(frozen=True, eq=False)
class StreamedFit:
    """A fit whose factors are in pieces (K, items of a block); W is None for divergences.

    ``scales`` are those by which rows of H are multiplied before labels are read off; ``small`` is
    the fit of the landmarks, with every restart.
    """

    model: str
    rank: int
    labels_at: Any
    W: Pieces | None
    H: Pieces
    offset: Pieces | None
    objective: float
    n_iter: int
    converged: bool
    small: Factorization
    scales: dict[str, NDArray[np.float64]]
    about: dict[str, Any] = field(default_factory=dict)
    n_jobs: int = 1

    @property
    def restart_objectives(self) -> NDArray[np.float64]:
        """Those of the restarts, on the landmarks."""
        return self.small.restart_objectives

    def restart_labels(self, how: str) -> NDArray[np.int64]:
        """The labels of the landmarks by every restart, shape (n_restarts, n_landmarks)."""
        return self.small.read_restarts(how)

    def n_undecided(self, how: str) -> int:
        """How many items have nothing in their column of H; their memberships are uniform."""
        parts = map_items(
            _pieces.n_blank, self.labels_at, along=(self.H,), shared=(self.scales[how],),
            reads=False, n_jobs=self.n_jobs,
        )  # fmt: skip
        return sum(parts)

    def winners(self, how: str) -> NDArray[np.int64]:
        """The factor of every item, shape (n,), by one choice of the scale of H."""
        parts = map_items(
            _pieces.won, self.labels_at, along=(self.H,), shared=(self.scales[how],), reads=False,
            n_jobs=self.n_jobs,
        )  # fmt: skip
        return np.concatenate(list(parts))

    def labels(self, how: str) -> NDArray[np.int64]:
        """The hard partition, canonical."""
        return canonical(self.winners(how))

    def memberships(self, how: str) -> NDArray[np.float64]:
        """Shape (n, rank); column k belongs to label k, factors that win no item come after."""
        winners = self.winners(how)
        _, first = np.unique(winners, return_index=True)
        order = winners[np.sort(first)]
        order = np.concatenate([order, np.setdiff1d(np.arange(self.rank), order)])
        parts = map_items(
            _pieces.shares, self.labels_at, along=(self.H,), shared=(self.scales[how], order),
            reads=False, n_jobs=self.n_jobs,
        )  # fmt: skip
        return np.concatenate(list(parts))

    def brought(self, pieces: Pieces) -> NDArray[np.float64]:
        """A factor as one array (K, n)."""
        parts = map_items(_pieces.copied, self.labels_at, along=(pieces,), reads=False)
        return np.concatenate(list(parts), axis=-1)


class Streamed:
    """What the fits of one model to the same draws share.

    Parameters
    ----------
    draws : Draws
        Distinct and weighted.
    model : str
    ranks : sequence of int
        All that will be asked for.
    n_init : int
        Restarts, on the landmarks.
    seed, n_jobs : int

    Attributes
    ----------
    small : list of Factorization
        Those of the landmarks, so far.
    """

    def __init__(
        self, draws: Draws, model: str, ranks: Sequence[int], n_init: int, seed: int, n_jobs: int
    ) -> None:
        self.draws, self.model, self.ranks = draws, model, ranks
        self.n_init, self.seed, self.n_jobs = n_init, seed, n_jobs
        self.small: list[Factorization] = []
        self._grouped: Groups | None = None
        self._is_exact = False

    @staticmethod
    def is_quicker(model: str, n_items: int, n_draws: int) -> bool:
        """Whether a model is fitted sooner so than as a matrix, of items of which that has room.

        A product with π̂ is n² K operations as a matrix and some n M K through the draws.
        """
        few = max(_landmarks.N_LANDMARKS, n_draws // DRAWS_AN_ITEM)
        return model not in ("kl", "ns") and n_items > few

    @cached_property
    def sample(self) -> Landmarks:
        """The items on which factors are iterated: all, or as many as are quick."""
        size = min(max(N_SAMPLE // 4, _SAMPLED // self.draws.n_draws), N_SAMPLE)
        return landmarks(self.draws, size, self.seed, n_jobs=self.n_jobs)

    @cached_property
    def landmarks(self) -> Landmarks:
        """Those of the sample that the restarts are fitted to, where they are in it.

        Their labels are numbered as in all draws.
        """
        few = self.sample.draws
        found = landmarks(few, _landmarks.N_LANDMARKS, self.seed, n_jobs=self.n_jobs)
        return replace(found, labels=self.sample.labels[:, found.items])

    @property
    def items(self) -> NDArray[np.intp]:
        """The landmarks among all items."""
        return self.sample.items[self.landmarks.items]

    @cached_property
    def field(self) -> Field:
        """The sample with its eigenfactor, which serves every rank."""
        few = self.sample.draws
        eigen = eigenfactor(few, max(self.ranks) + MORE, n_jobs=self.n_jobs)
        norm2, self._is_exact = frobenius2(few, eigen, self.seed, n_jobs=self.n_jobs)
        return Field(few, eigen, norm2, self.n_jobs)

    @cached_property
    def norm2(self) -> tuple[float, bool]:
        """‖π̂‖² of all items, and whether it is exact."""
        field = self.field
        if self.sample.size == self.draws.n_items:
            return field.norm2, self._is_exact
        return norm_of_all(self.draws, self.sample, field.eigen, self.seed, self.n_jobs)

    @cached_property
    def at_landmarks(self) -> NDArray[np.float64]:
        """The eigenvectors at the landmarks, (r, s)."""
        vectors = np.concatenate(self.field.eigen.vectors, axis=1)
        return np.ascontiguousarray(vectors[:, self.landmarks.items])

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """The similarity of the landmarks."""
        return self.landmarks.similarity(self.n_jobs)

    @cached_property
    def mass(self) -> NDArray[np.float64] | None:
        """How much of the sample each landmark stands for; None where they are all of it."""
        few = self.sample.draws
        if self.landmarks.size == self.sample.size:
            return None
        one = np.zeros(few.n_items, dtype=np.int64)
        sums = own_sums(few, one, 1, n_jobs=self.n_jobs)[self.landmarks.items]
        return _landmarks.masses(self.matrix, sums, few.n_items)

    def fits(self) -> Iterator[StreamedFit]:
        """Yield a fit for each rank.

        When the time is up, or Ctrl-C comes, ``small`` has what was fitted to the landmarks.
        """
        from partita.nmf._factorize import factorize_ranks

        with under(None), one_blas_thread():
            matrix = self.matrix
            mass = None if self.model in ("kl", "ns") else self.mass
        target = replace(of_array(matrix, symmetric=True), mixed=True, mass=mass)
        found = factorize_ranks(
            target, model=self.model, ranks=self.ranks, n_init=self.n_init, solver="fast",
            seed=self.seed, n_jobs=self.n_jobs,
        )  # fmt: skip
        yield from self._of_all(self._kept(each_under(current(), found)), matrix)

    def _kept(self, found: Iterator[Factorization]) -> Iterator[Factorization]:
        for small in found:
            self.small.append(small)
            yield small

    def _of_all(
        self, found: Iterator[Factorization], matrix: NDArray[np.float64]
    ) -> Iterator[StreamedFit]:
        """Extend fits of the landmarks to all items."""
        if self.model in ("kl", "ns"):
            for small in found:
                with one_blas_thread():
                    fit = self._divergence(small, matrix)
                yield fit
            return
        for few in _batch.batches(found, self.draws):
            with one_blas_thread():
                fits = self._frobenius(few) if self.model != "symmetric" else self._symmetric(few)
            while fits:
                yield fits.pop(0)

    def _divergence(self, small: Any, matrix: NDArray[np.float64]) -> StreamedFit:
        H = _divergence.extend(self._groups(matrix), self.draws, small, n_jobs=self.n_jobs)
        w2, h2 = (small.W**2).sum(axis=0), (small.H**2).sum(axis=1)
        about = {
            "approximation": "landmarks", "landmarks": self.landmarks.size,
            "objective_of": "landmarks", "restarts_on": "landmarks",
        }  # fmt: skip
        return StreamedFit(
            self.model, small.rank, self.draws.labels, None, H, None, small.objective,
            small.n_iter, small.converged, small,
            scales_of(w2, h2, small.W.sum(axis=0)), about, self.n_jobs,
        )  # fmt: skip

    def _groups(self, matrix: NDArray[np.float64]) -> Groups:
        if self._grouped is None:
            self._grouped = _divergence.groups(
                self.draws, self.landmarks, matrix, n_jobs=self.n_jobs
            )
        return self._grouped

    def _frobenius(self, few: Sequence[Any]) -> list[StreamedFit]:
        """``ls`` and ``offset`` of several ranks: iterated on the sample, then fitted to all."""
        fixed = 1 if self.model == "offset" else 0
        done = [self._alternated(small, fixed) for small in few]
        W, H, crosses = _batch.alternate(
            self.draws, self.sample.labels, [A for A, _, _ in done], fixed=fixed,
            n_jobs=self.n_jobs, rounds=self._n_rounds([one for _, _, one in done]),
        )  # fmt: skip
        fits = []
        for i, small in enumerate(few):
            k, how = small.rank, (self.draws, self.n_jobs)
            w2, h2 = np.diagonal(W.grams[i])[:k], np.diagonal(H.grams[i])[:k]
            square = float((W.grams[i] * H.grams[i]).sum())
            objective = 0.5 * (self.norm2[0] - 2.0 * crosses[i] + square)
            offset = W.last_row(i, *how) if fixed else None
            factors = W.rows(i, *how, less=fixed), H.rows(i, *how, less=fixed), offset
            scales = scales_of(w2, h2, W.totals[i][:k])
            fits.append(self._fit(small, *factors, objective, *done[i][1:], scales))
        return fits

    def _n_rounds(self, converged: Sequence[bool]) -> int:
        """How often π̂ itself is gone back to where the eigenfactor leaves out what factors fit."""
        return 0 if all(converged) or self.draws.labels.size > QUICK else N_ROUNDS

    def _leading(self, small: Any) -> NDArray[np.intp]:
        return _landmarks.leading(small, float((self.matrix * self.matrix).sum()))

    def _alternated(self, small: Any, fixed: int) -> tuple[NDArray[np.float64], int, bool]:
        """W of the sample, (K, s), after alternation there."""
        lead = self._leading(small)
        found = [self._begun(small.restarts[r], fixed) for r in lead]
        best = min(found, key=lambda one: one.objective)
        if self.field.is_quick:
            best = correct(self.field, best, fixed)
        return np.concatenate(best.A, axis=1), best.n_iter, best.converged

    def _begun(self, few: Any, fixed: int) -> Alternated:
        """A restart on the landmarks extended to the sample and iterated there."""
        A, B = few.W.T, few.H
        if fixed:
            A = np.concatenate([A, few.offset[None]])
            B = np.concatenate([B, np.ones((1, B.shape[1]))])
        Bs, _ = self.field.extend(A, self.at_landmarks, fixed, self.mass)
        As, sums = self.field.extend(B, self.at_landmarks, 0, self.mass)
        return alternate(self.field, Alternated(As, Bs, sums), fixed, TOLERANCE)

    def _symmetric(self, few: Sequence[Any]) -> list[StreamedFit]:
        done = [self._descended(small) for small in few]
        factors = [np.concatenate(one.H, axis=1) for one in done]
        table = _batch.sample_sums(
            self.draws, self.sample.labels, np.concatenate(factors), self.n_jobs
        )
        grams = [x @ x.T for x in factors]
        stack, _, _ = _batch.fit(self.draws, table, grams, sums=False, n_jobs=self.n_jobs)
        fits = []
        for i, small in enumerate(few):
            H = stack.rows(i, self.draws, self.n_jobs)
            H, totals, objective = exact_steps(self.draws, H, self.norm2[0], n_jobs=self.n_jobs)
            ones = np.ones(small.rank)
            scales = scales_of(ones, ones, totals)
            how = done[i].n_iter, done[i].converged
            fits.append(self._fit(small, H, H, None, objective, *how, scales))
        return fits

    def _descended(self, small: Any) -> Descended:
        """``symmetric`` of the sample, from the restarts that may be the best there."""
        lead = self._leading(small)
        found = []
        for r in lead:
            begun = self.field.extend(small.restarts[r].H, self.at_landmarks, 0, self.mass)
            found.append(descend(self.field, Descended(*begun)))
        return min(found, key=lambda one: one.objective)

    def _fit(
        self, small: Any, W: Pieces, H: Pieces, offset: Pieces | None, objective: float,
        n_iter: int, converged: bool, scales: dict[str, NDArray[np.float64]],
    ) -> StreamedFit:  # fmt: skip
        about = {
            "approximation": "eigenfactor",
            "eigenvectors": self.field.eigen.rank,
            "sample": self.sample.size,
            "landmarks": self.landmarks.size,
            "objective_norm": "exact" if self.norm2[1] else "sampled",
            "restarts_on": "landmarks",
        }
        return StreamedFit(
            self.model, small.rank, self.draws.labels, W, H, offset, max(objective, 0.0), n_iter,
            converged, small, scales, about, self.n_jobs,
        )  # fmt: skip


def scales_of(w2: Any, h2: Any, w1: Any) -> dict[str, NDArray[np.float64]]:
    """The factor by which each row of H is multiplied, for every reading (`_readings`)."""
    w, h = np.sqrt(w2), np.sqrt(h2)
    alive = (w > 0) & (h > 0)
    return {
        "balance": np.sqrt(np.where(alive, w, 0.0) / np.where(alive, h, 1.0)),
        "columns": np.asarray(w1, dtype=np.float64),
        "as-is": np.ones(w.size),
    }
