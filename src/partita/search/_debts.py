"""Multipliers of triangle inequalities that go as far as they can to prove a partition optimal.

With slacks s_ij = d_ij of pairs apart and -d_ij of pairs together, a triangle inequality that is
tight at the partition takes its multiplier from two slacks and gives it to the third, and the bound
is the partition's cost less Σ max(0, -s_ij), what is owed. So nothing but debts is to be paid:
pairs in debt find the triangle that pays most, and all triangles are balanced again and again so
that Σ max(0, -s_ij)² falls. Where the partition is an optimum of the linear program over all
triangles, that sum goes to zero, mostly at a linear rate; no program is solved.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float64]
    Triangles: TypeAlias = NDArray[np.int64]

_TIMES = 4  # triangles that a pair may be paid by in a round
_PASSES = 10  # over all triangles, a round
_LEAST = 0.3  # debts below this share of the mean wait
_LOOK, _FALL = 20, 0.7  # rounds in which the debt must fall to this share, or no more is tried
_CALL = 10_000_000  # steps of a compiled call


def _compiled() -> Any:
    """The compiled moves; they know arrays, not types."""
    return kernels.debts


def settle(
    d: Matrix, labels: NDArray[np.int64], deadline: float, tolerance: float
) -> tuple[Triangles, NDArray[np.float64]]:
    """Return triangles (j, i, k), x_ij + x_jk - x_ik ≤ 1, and multipliers.

    Until what is owed is within ``tolerance``, no longer falls, or time is up.
    """
    order = np.argsort(labels, kind="stable")
    book = _Book(d, labels, order)
    owed = [book.close()]
    while owed[-1] > tolerance and time.monotonic() < deadline:
        if len(owed) > _LOOK and owed[-1] > _FALL * owed[-1 - _LOOK]:
            break
        book.pay(deadline)
        book.balance(deadline)
        owed.append(book.close())
    return order[book.items()], book.paid[: book.found]


class _Book:
    """The slacks of all pairs, items in the order of their clusters, and who pays."""

    def __init__(self, d: Matrix, labels: NDArray[np.int64], order: NDArray[np.int64]) -> None:
        self.labels = labels[order]
        self.n = labels.size
        together = self.labels[:, None] == self.labels
        self.slack = np.ascontiguousarray(d[np.ix_(order, order)])
        self.slack[together] *= -1
        edges = np.searchsorted(self.labels, np.arange(self.labels[-1] + 2))
        self.first, self.last = edges[self.labels], edges[self.labels + 1]
        place = np.int32 if self.n**2 < 2**31 else np.int64
        self.triangles, self.paid = np.empty((0, 3), dtype=place), np.empty(0)
        self.found = self.count = 0
        self.debt = 0.0

    def close(self) -> float:
        """Drop the triangles that no longer pay, and add up what is owed."""
        at = slice(self.found)
        self.found = int(_compiled().forget(self.triangles[at], self.paid[at]))
        self.debt, self.count = _compiled().mirror(self.slack)
        return self.debt

    def pay(self, deadline: float) -> None:
        """Find triangles for the pairs that owe much."""
        room = self.found + _TIMES * self.count
        if room > self.paid.size:
            grown = max(room, 2 * self.paid.size)
            triangles, paid = np.empty((grown, 3), self.triangles.dtype), np.empty(grown)
            triangles[: self.found] = self.triangles[: self.found]
            paid[: self.found] = self.paid[: self.found]
            self.triangles, self.paid = triangles, paid
        least = _LEAST * self.debt / self.count
        step = max(1, _CALL // (self.n * int((self.last - self.first).max())))
        for start in range(0, self.n, step):
            if time.monotonic() > deadline:
                break
            stop = min(self.n, start + step)
            self.found = _compiled().pay(
                self.slack, self.first, self.last, start, stop, least, _TIMES, self.triangles,
                self.paid, self.found,
            )  # fmt: skip

    def balance(self, deadline: float) -> None:
        """Let the triangles pay more or less, again and again."""
        for _ in range(_PASSES):
            for start in range(0, self.found, _CALL // 4):
                at = slice(start, min(self.found, start + _CALL // 4))
                if time.monotonic() > deadline:
                    return
                _compiled().balance(self.slack, self.triangles[at], self.paid[at])

    def items(self) -> Triangles:
        """The triangles as rows j, i, k, x_ij + x_jk - x_ik ≤ 1."""
        gainer, giver = self.triangles[: self.found, :2].astype(np.int64).T
        i, k = gainer // self.n, gainer % self.n
        j = giver // self.n + giver % self.n - i
        inside = self.labels[i] == self.labels[k]
        beside = self.labels[j] == self.labels[i]
        start = np.where(inside | ~beside, i, k)
        middle = np.where(inside, j, np.where(beside, i, k))
        return np.stack([middle, start, np.where(inside, k, j)], axis=1)
