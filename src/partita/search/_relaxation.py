"""The optimum of the relaxed clique-partitioning problem: a proximal point method.

Where a partition is no optimum of the program over all triangles, paying its debts comes to an end
before all are paid (:mod:`partita.search._debts`). From there a point x of the program is moved
instead: to the least of Σ d x + ε/2 Σ (x - x0)², x0 being the point before, which the multipliers
of triangles find one by one, each in closed form. A few rounds over the triangles are enough for a
step; violated ones are added after each. The multipliers bound the cost of every partition, and the
bound goes to the program's.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import kernels
from partita.search._program import violated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float64]
    Triangles: TypeAlias = NDArray[np.int64]

_NEAR = 0.05  # ε, in the units of similarities
_PASSES = 5  # over all triangles, before x0 moves on
_VIOLATION = 1e-3  # that counts
_LOOK, _RISE = 20, 0.05  # rounds in which the bound must rise by this share of the gap
_CALL = 2_500_000  # triangles, or pairs, of a compiled call


def _compiled() -> Any:
    """The compiled moves; they know arrays, not types."""
    return kernels.relaxation


def relax(
    d: Matrix,
    labels: NDArray[np.int64],
    triangles: Triangles,
    y: NDArray[np.float64],
    target: float,
    deadline: float,
) -> tuple[Triangles, NDArray[np.float64]]:
    """Return triangles (j, i, k), x_ij + x_jk - x_ik ≤ 1, and multipliers of a high bound.

    Beginning at those given, until the bound reaches ``target``, hardly rises, or time is up.
    """
    point = _Point(d, labels, triangles, y)
    bounds, best = [point.bound], point.held()
    while bounds[-1] < target and time.monotonic() < deadline:
        before = bounds[-1 - _LOOK] if len(bounds) > _LOOK else -np.inf
        if bounds[-1] - before < _RISE * (target - before):
            break
        if not (point.climb(deadline) and point.move_on(deadline)):
            break
        if point.bound > bounds[-1]:
            best = point.held()
        bounds.append(max(bounds[-1], point.bound))
        if not point.extend(deadline):
            break
    return point.as_rows(*best)


class _Point:
    """Where the program is, and the multipliers that hold it there."""

    def __init__(
        self, d: Matrix, labels: NDArray[np.int64], triangles: Triangles, y: NDArray[np.float64]
    ) -> None:
        self.d, self.n = d, labels.size
        self.x = (labels[:, None] == labels).astype(np.float64)
        np.fill_diagonal(self.x, 0.0)
        self.place = np.int32 if self.n**2 < 2**31 else np.int64
        self.triangles, self.paid = self._places(triangles), y / _NEAR
        charged = np.empty_like(d)
        starts = 3 * np.arange(len(y) + 1)
        kernels.cliques.charge(d, triangles.ravel(), starts, y, charged)
        self.bound = float(np.minimum(np.triu(charged, 1), 0.0).sum() - y.sum())
        self.u = self.x - charged / _NEAR

    def _places(self, triangles: Triangles) -> NDArray[Any]:
        """The places of the pairs ik, ij, jk, where i < k."""
        j, i, k = triangles[:, 0], triangles[:, 1:].min(axis=1), triangles[:, 1:].max(axis=1)
        pairs = [np.minimum(a, b) * self.n + np.maximum(a, b) for a, b in ((i, k), (i, j), (j, k))]
        return np.stack(pairs, axis=1).astype(self.place)

    def held(self) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The triangles that charge something, and their multipliers."""
        kept = self.paid > 0
        return self.triangles[kept], self.paid[kept]

    def as_rows(
        self, triangles: NDArray[Any], paid: NDArray[np.float64]
    ) -> tuple[Triangles, NDArray[np.float64]]:
        """Triangles as rows j, i, k, and their multipliers in the units of costs."""
        (i, k), one = np.divmod(triangles[:, 0].astype(np.int64), self.n), triangles[:, 1]
        return np.stack([one // self.n + one % self.n - i, i, k], axis=1), _NEAR * paid

    def climb(self, deadline: float) -> bool:
        """Make the most of every multiplier a few times; False if time was up."""
        for _ in range(_PASSES):
            for start in range(0, self.paid.size, _CALL):
                at = slice(start, start + _CALL)
                if time.monotonic() > deadline:
                    return False
                _compiled().climb(self.u, self.triangles[at], self.paid[at])
        return True

    def move_on(self, deadline: float) -> bool:
        """Stay near the point reached from now on; False if time was up."""
        total, step = 0.0, max(1, _CALL // self.n)
        for start in range(0, self.n, step):
            if time.monotonic() > deadline:
                return False
            total += _compiled().move_on(self.u, self.x, start, min(self.n, start + step))
        self.bound = _NEAR * (total - float(self.paid.sum()))
        return True

    def extend(self, deadline: float) -> bool:
        """Drop the triangles that charge nothing and add violated ones; False if time was up."""
        found = violated(self.x, self.d, _VIOLATION, deadline)
        if found is None:
            return False
        triangles, paid = self.held()
        self.triangles = np.concatenate([triangles, self._places(found[0])])
        self.paid = np.concatenate([paid, np.zeros(len(found[0]))])
        return True
