"""Items that stand for others in ``solver="fast"``: one for all that are equal, or landmarks.

Each has a mass m. The fit of V by AᵀB is then that of m_i^p V_ij m_j^p by factors times m^p, with
p = ½ for least squares and 1 for a divergence. For equal items nothing is lost, since for given H
the best rows of W are the same.

Of many items landmarks are fitted, and all items then in one regression on them. Where there are
fewer factors than clusters, the larger clusters get one, and in a sample the larger are others than
among all. So landmarks have masses with which rows of the similarity sum to the same over them as
over all items (calibration, Deville & Särndal 1992).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from partita.nmf.descent import Problem
from partita.nmf.target import MANY
from partita.similarity import landmark_items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf.descent import Blocks, Matrix, Method
    from partita.nmf.target import Target

LANDMARKS = 400  # of all ranks 2 to 12 of 3,000 items in under ten seconds, of a divergence
PER_FACTOR = 20  # of those for each factor, at least
FEWER = 0.75  # of the items, for merging equal ones to pay: starts are then no longer those of "mu"
LEAST = 0.1  # mass of a landmark; 1 is the mean
RIDGE = 0.05  # of a mean cluster's size: smaller ones are left as they are


@dataclass(frozen=True, eq=False)
class Representatives:
    """Some of the items, and what each stands for.

    Parameters
    ----------
    items : ndarray, shape (s,)
    mass : ndarray, shape (s,)
    matrix : ndarray, shape (s, s)
        Their similarity.
    group : ndarray, shape (n,), or None
        Which of them is equal to each item; None for landmarks.
    """

    items: NDArray[np.intp]
    mass: Matrix
    matrix: Matrix
    group: NDArray[np.intp] | None

    def problem(self, method: Method) -> Problem:
        """What is fitted instead of the whole."""
        weight = self.mass**method.power
        return Problem(self.matrix * weight * weight[:, None], weight)

    def shrink(self, X: Matrix, method: Method) -> Matrix:
        """A start of all items, (r, n), as one of these: the mean over items that are equal."""
        if self.group is None:
            found = X[:, self.items]
        else:
            found = np.stack([np.bincount(self.group, row) for row in X]) / self.mass
        return np.ascontiguousarray(found * self.mass**method.power)

    def spread(self, blocks: Blocks, method: Method) -> Blocks:
        """Factors of these as factors of the items: of all, or of the landmarks."""
        found = tuple(x * self.mass ** (-method.power) for x in blocks)
        return found if self.group is None else tuple(x[:, self.group] for x in found)

    def times(self, target: Target, X: Matrix) -> Matrix:
        """X V for factors X of these, (r, s), and V of these and all items."""
        whole = np.zeros((X.shape[0], target.n_items))
        whole[:, self.items] = X
        return target.times(whole)


def representatives(target: Target, rank: int, seed: int) -> Representatives:
    """Landmarks of many items; of fewer all, equal ones merged, like ones side by side.

    ``rank`` is the largest that will be fitted.
    """
    n = target.n_items
    if n > MANY:
        return _landmarks(target, landmark_items(n, max(LANDMARKS, PER_FACTOR * rank), seed))
    matrix = np.ascontiguousarray(target.matrix())
    _, first, group = np.unique(
        matrix.view(np.dtype((np.void, matrix.itemsize * n))).ravel(), return_index=True,
        return_inverse=True,
    )  # fmt: skip
    if first.size > FEWER * n:
        first = group = np.arange(n)
    order = _like_together(matrix[np.ix_(first, first)])
    items = first[order]
    where = np.empty_like(order)
    where[order] = np.arange(order.size)
    group = where[group.ravel()]
    mass = np.bincount(group).astype(np.float64)
    return Representatives(items, mass, np.ascontiguousarray(matrix[np.ix_(items, items)]), group)


def _like_together(matrix: Matrix) -> NDArray[np.intp]:
    """An order in which each item follows the first before it that it is mostly together with.

    Blocks of neighbours are then all zeros in many places, which steps of a divergence skip.
    """
    diagonal = np.diagonal(matrix)
    left, order = np.arange(diagonal.size), []
    while left.size:
        leader = left[0]
        near = 4.0 * matrix[leader, left] ** 2 > diagonal[left] * diagonal[leader]
        near[0] = True
        order.append(left[near])
        left = left[~near]
    return np.concatenate(order)


def _landmarks(target: Target, items: NDArray[np.intp]) -> Representatives:
    among, sums = np.empty((items.size, items.size)), np.zeros(items.size)
    for part, V in target.rows(items):
        sums += V.sum(axis=1)
        here = (items >= part.start) & (items < part.stop)
        among[:, here] = V[:, items[here] - part.start]
    order = _like_together(among)
    items, among, sums = items[order], among[np.ix_(order, order)], sums[order]
    return Representatives(items, calibrated(among, sums, target.n_items), among, None)


def calibrated(among: Matrix, sums: Matrix, n_items: int) -> Matrix:
    """The mass of every landmark, about 1: least squares for Vm = r s/n with a penalty on m - 1.

    Parameters
    ----------
    among : ndarray, shape (s, s)
        V, the similarity of the landmarks.
    sums : ndarray, shape (s,)
        r, the sums of their rows over all items.
    """
    wanted = sums * (among.shape[0] / n_items)
    penalty = (RIDGE * float(wanted.mean())) ** 2
    system = among @ among + penalty * np.eye(among.shape[0])
    more = np.linalg.solve(system, among @ (wanted - among.sum(axis=1)))
    return np.asarray(np.maximum(1.0 + more, LEAST))
