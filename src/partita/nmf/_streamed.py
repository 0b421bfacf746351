"""NMF of the similarity of draws of any size, which is never formed.

The Frobenius models are fitted on a randomised eigenfactor of π̂ with K + 12 columns and the rest of
its diagonal: the restarts on a sample of items (`_landmarks`), the best of them extended to all by
non-negative regression and then iterated on all. ``kl`` and ``ns`` are fitted on the sample alone
and extended (`_divergence`). The objective of the Frobenius models is exact but for ‖π̂‖², which
beyond some size is an estimate from sampled rows and the same number for every rank and restart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.distributed import Pieces, map_items, map_pieces, ordered_sum
from partita.draws import cluster_sums, offsets_of
from partita.nmf import _divergence, _pieces
from partita.nmf._eigen import Eigenfactor, eigenfactor
from partita.nmf._frobenius import frobenius2
from partita.nmf._parallel import one_blas_thread
from partita.nmf._symmetric_pieces import exact_steps, fit_symmetric
from partita.partitions import canonical
from partita.similarity import Landmarks, landmarks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.nmf._divergence import Groups
    from partita.nmf._pieces import Sums

N_LANDMARKS = 1_500  # items that the restarts are fitted to
MORE = 12  # eigenvectors beyond the rank
_EVERY, _MOST = 5, 40  # iterations in a look, looks
TOLERANCE = 1e-5
_ETA, _GROW, _GROW_CAP = 0.5, 1.3, 1.05


@dataclass(frozen=True, eq=False)
class StreamedFit:
    """A fit whose factors are in pieces (K, items of a block); W is None for divergences.

    ``scales`` are those by which rows of H are multiplied before labels are read off.
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
    restart_objectives: NDArray[np.float64]
    scales: dict[str, NDArray[np.float64]]
    about: dict[str, Any] = field(default_factory=dict)
    n_jobs: int = 1

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
    """

    def __init__(
        self, draws: Draws, model: str, ranks: Sequence[int], n_init: int, seed: int, n_jobs: int
    ) -> None:
        self.draws, self.model, self.ranks = draws, model, ranks
        self.n_init, self.seed, self.n_jobs = n_init, seed, n_jobs
        self._grouped: Groups | None = None

    @cached_property
    def landmarks(self) -> Landmarks:
        """The sample that the restarts are fitted to."""
        return landmarks(self.draws, N_LANDMARKS, self.seed, n_jobs=self.n_jobs)

    @cached_property
    def eigen(self) -> Eigenfactor:
        """The eigenfactor that serves every rank."""
        return eigenfactor(self.draws, max(self.ranks) + MORE, n_jobs=self.n_jobs)

    @cached_property
    def norm2(self) -> tuple[float, bool]:
        """‖π̂‖², and whether it is exact."""
        return frobenius2(self.draws, self.eigen, self.seed, n_jobs=self.n_jobs)

    @cached_property
    def at_landmarks(self) -> NDArray[np.float64]:
        """The eigenvectors at the landmarks, (r, s)."""
        items = self.landmarks.items
        parts = map_items(
            columns_at, self.draws.labels, along=(self.eigen.vectors,), shared=(items,),
            reads=False, n_jobs=self.n_jobs,
        )  # fmt: skip
        return np.concatenate(list(parts), axis=1)

    def fits(self) -> Iterator[StreamedFit]:
        """Yield a fit for each rank."""
        from partita.nmf._factorize import factorize_ranks
        from partita.similarity import Similarity

        with one_blas_thread():
            matrix = self.landmarks.similarity(self.n_jobs)
        found = factorize_ranks(
            Similarity._of_dense(matrix, None, None), model=self.model, ranks=self.ranks,
            n_init=self.n_init, solver="fast", seed=self.seed, n_jobs=self.n_jobs,
        )  # fmt: skip
        for small in found:
            with one_blas_thread():
                if self.model in ("kl", "ns"):
                    fit = self._divergence(small, matrix)
                else:
                    fit = self._frobenius(small)
            yield fit

    def _divergence(self, small: Any, matrix: NDArray[np.float64]) -> StreamedFit:
        H = _divergence.extend(self._groups(matrix), self.draws, small, n_jobs=self.n_jobs)
        return StreamedFit(
            self.model, small.rank, self.draws.labels, None, H, None, small.objective,
            small.n_iter, small.converged, small.restart_objectives,
            scales_of((small.W**2).sum(axis=0), (small.H**2).sum(axis=1), small.W.sum(axis=0)),
            {"approximation": "landmarks", "landmarks": self.landmarks.size,
             "objective_of": "landmarks"},
            self.n_jobs,
        )  # fmt: skip

    def _groups(self, matrix: NDArray[np.float64]) -> Groups:
        if self._grouped is None:
            self._grouped = _divergence.groups(
                self.draws, self.landmarks, matrix, n_jobs=self.n_jobs
            )
        return self._grouped

    def _frobenius(self, small: Any) -> StreamedFit:
        fixed = 1 if self.model == "offset" else 0
        A, B = small.W.T, small.H
        if fixed:
            A = np.concatenate([A, small.offset[None]])
            B = np.concatenate([B, np.ones((1, B.shape[1]))])
        norm2, exact = self.norm2
        if self.model == "symmetric":
            As, n_iter, converged = fit_symmetric(self, B, norm2)
            As = Bs = exact_steps(self, As, norm2)
            objective = self._objective(As, norm2)
        else:
            As, Bs, n_iter, converged = self._alternate(A, B, fixed, norm2)
            As, Bs, objective = self._exactly(As, Bs, fixed, norm2)
        w2, h2, w1 = self._norms(As, Bs)
        objective = max(objective, 0.0)
        k = small.rank
        about = {
            "approximation": "eigenfactor",
            "eigenvectors": self.eigen.rank,
            "landmarks": self.landmarks.size,
            "objective_norm": "exact" if exact else "sampled",
        }
        W, H, offset = As, Bs, None
        if fixed:
            W, offset = self._split(As, k)
            H, _ = self._split(Bs, k)
        return StreamedFit(
            self.model, k, self.draws.labels, W, H, offset, objective, n_iter, converged,
            np.array([objective]), scales_of(w2[:k], h2[:k], w1[:k]), about, self.n_jobs,
        )  # fmt: skip

    def mapped(
        self, work: Any, along: Sequence[Any], shared: Sequence[Any], *, n_kept: int = 1
    ) -> Any:
        """One pass over the pieces."""
        return map_pieces(
            work, self.draws.labels, along=along, shared=shared, n_kept=n_kept, reads=False,
            n_jobs=self.n_jobs,
        )  # fmt: skip

    def extend(self, X: NDArray[np.float64], fixed: int) -> tuple[Pieces, Sums]:
        """Fit every item to factors (K, s) of the landmarks."""
        eigen = self.eigen
        shared = (X @ self.at_landmarks.T, X @ X.T, fixed, eigen.values)
        found, sent = self.mapped(_pieces.extended, (eigen.vectors, eigen.residual), shared)
        return found, _pieces.Sums(*ordered_sum(map(tuple, sent)))

    def _alternate(
        self, A: NDArray[np.float64], B: NDArray[np.float64], fixed: int, norm2: float
    ) -> tuple[Pieces, Pieces, int, bool]:
        """Extrapolated alternation over all items (`_accelerate`), each half one pass."""
        eigen = self.eigen
        Bs, _ = self.extend(A, fixed)
        As, ahead = self.extend(B, 0)
        accepted = ahead
        A_at, A_old, B_old = As, As, Bs  # A_at: A ahead; old ones: those before the accepted
        beta, cap, last, before = 0.5, 1.0, np.inf, np.inf
        step = 0.0
        for it in range(1, _EVERY * _MOST + 1):
            (B_new, _), sent = self.mapped(
                _pieces.half, (eigen.vectors, eigen.residual, Bs, B_old, A_at),
                (ahead.inner, ahead.gram, eigen.values, step, beta, fixed), n_kept=2,
            )  # fmt: skip
            of_b = _summed(sent, 0)
            (A_new, A_next), sent = self.mapped(
                _pieces.half, (eigen.vectors, eigen.residual, As, A_old, B_new),
                (of_b.inner, of_b.gram, eigen.values, step, beta, 0), n_kept=2,
            )  # fmt: skip
            of_a, of_next = _summed(sent, 0), _summed(sent, 1)
            now = 0.5 * (norm2 - 2.0 * float(of_a.cross) + float((of_a.gram * of_b.gram).sum()))
            if now > last:
                A_at, ahead, A_old, B_old, step = As, accepted, As, Bs, 0.0
                cap, beta = beta, _ETA * beta
            else:
                A_old, B_old, As, Bs = As, Bs, A_new, B_new
                A_at, ahead, accepted, last = A_next, of_next, of_a, now
                step, cap = beta, min(1.0, _GROW_CAP * cap)
                beta = min(cap, _GROW * beta)
            if it % _EVERY == 0:
                if before - last <= TOLERANCE * max(last, 1e-5 * norm2):
                    return As, Bs, it, True
                before = last
        return As, Bs, it, False

    def _norms(self, As: Pieces, Bs: Pieces) -> Any:
        parts = map_items(
            _pieces.norms, self.draws.labels, along=(As, Bs), reads=False, n_jobs=self.n_jobs
        )
        return ordered_sum(parts)

    def sums(self, pieces: Pieces) -> NDArray[np.float64]:
        """ZᵀX of a factor in pieces."""
        columns, _ = self.mapped(_pieces.upright, (pieces,), ())
        width = self.gram(pieces).shape[0]
        return cluster_sums(self.draws, columns, width, n_jobs=self.n_jobs, label="factors")

    def gram(self, pieces: Pieces) -> NDArray[np.float64]:
        """X Xᵀ of a factor in pieces."""
        parts = map_items(gram, self.draws.labels, along=(pieces,), reads=False)
        return np.asarray(ordered_sum(parts))

    def _exactly(
        self, As: Pieces, Bs: Pieces, fixed: int, norm2: float
    ) -> tuple[Pieces, Pieces, float]:
        """One alternation with products of π̂ itself, and the objective after it.

        It makes up for what the eigenfactor leaves out, to first order.
        """
        draws, found = self.draws, [As, Bs]
        sums = None
        for which, held in ((1, fixed), (0, 0)):
            other = found[1 - which]
            shared = (
                offsets_of(draws), draws.probabilities, self.sums(other), self.gram(other), held
            )  # fmt: skip
            found[which], sent = map_pieces(
                _pieces.exact_half, draws.labels, along=(found[which],), shared=shared,
                n_jobs=self.n_jobs, label="factors",
            )  # fmt: skip
            sums = _pieces.Sums(*ordered_sum(map(tuple, sent)))
        assert sums is not None
        square = float((sums.gram * self.gram(found[1])).sum())
        return found[0], found[1], 0.5 * (norm2 - 2.0 * float(sums.cross) + square)

    def _objective(self, Hs: Pieces, norm2: float) -> float:
        """½‖π̂ - HᵀH‖² with ⟨π̂, HᵀH⟩ summed over the clusters of the draws."""
        sums, own = self.sums(Hs), self.gram(Hs)
        weights = np.repeat(self.draws.probabilities, np.diff(offsets_of(self.draws)))
        cross = float(weights @ (sums * sums).sum(axis=1))
        return 0.5 * (norm2 - 2.0 * cross + float((own * own).sum()))

    def _split(self, pieces: Pieces, k: int) -> tuple[Pieces, Pieces]:
        """The first k rows, and the next as an array of one axis."""
        first, _ = self.mapped(rows_to, (pieces,), (k,))
        rest, _ = self.mapped(row_at, (pieces,), (k,))
        return first, rest


def _summed(sent: Sequence[Any], which: int) -> Sums:
    return _pieces.Sums(*ordered_sum(tuple(one[which]) for one in sent))


def scales_of(w2: Any, h2: Any, w1: Any) -> dict[str, NDArray[np.float64]]:
    """The factor by which each row of H is multiplied, for every reading (`_readings`)."""
    w, h = np.sqrt(w2), np.sqrt(h2)
    alive = (w > 0) & (h > 0)
    return {
        "balance": np.sqrt(np.where(alive, w, 0.0) / np.where(alive, h, 1.0)),
        "columns": np.asarray(w1, dtype=np.float64),
        "as-is": np.ones(w.size),
    }


def columns_at(
    block: None, items: slice, vectors: NDArray[np.float64], wanted: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The columns of the items of a block that are wanted; ``wanted`` is sorted."""
    lo, hi = np.searchsorted(wanted, [items.start, items.stop])
    return np.ascontiguousarray(vectors[:, wanted[lo:hi] - items.start])


def gram(block: None, items: slice, x: Any) -> Any:
    """X Xᵀ of a block."""
    return x @ x.T


def rows_to(block: None, items: slice, x: Any, k: int) -> tuple[Any, None]:
    """The first k rows."""
    return np.ascontiguousarray(x[:k]), None


def row_at(block: None, items: slice, x: Any, k: int) -> tuple[Any, None]:
    """Row k."""
    return x[k], None
