"""Losses that are a ratio of two sums, and how they are averaged.

With ``cell(x)`` summed over the clusters of a draw (t), of the estimate (e) and over their
contingency table (j), and w = cell(n), the loss of one draw is a ratio of two combinations of
(t, e, j, w, min(t, e), t·e/w, n).

On a similarity the mean over draws is moved inside (eq. 7 of the paper): Σ over cells of cell(x)
is Σ over items of cell(x)/x, with x the number of items that share the item's cell, and that
number's mean over draws is Σ_j π̂_ij for t and Σ_j x_ij π̂_ij for j. So every loss here has both
forms; ``needs`` says which is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from partita import _core, validate
from partita.draws import contingency, offsets_of, streams
from partita.errors import InvalidValueError
from partita.parallel import blocks, map_blocks
from partita.partitions import Tree, canonical, counted_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.evidence import Evidence
    from partita.similarity import Similarity
    from partita.typing import FloatArray, IntArray, Needs

_WORK = 20_000_000  # label look-ups in about fifty milliseconds
_CLIMBED = 1_000_000  # entries of a similarity summed together, and sums held at once, at most


@runtime_checkable
class Loss(Protocol):
    """What a loss must be: callable on two partitions, and plain about what it needs.

    A loss may also have ``expected(partitions, evidence, *, n_jobs)`` for many partitions at once
    and ``expected_along(tree, evidence, *, n_jobs)`` for every cut of a tree; without them
    the mean over draws of the loss itself is taken.
    """

    needs: ClassVar[Needs]

    def __call__(self, truth: Any, labels: Any) -> float:
        """Return the loss of reporting ``labels`` when ``truth`` is so."""


class Basis(NamedTuple):
    """The terms that a loss combines; arrays of one shape, or numbers."""

    t: Any
    e: Any
    j: Any
    w: float
    n: float


@dataclass(frozen=True)
class Combination:
    """Coefficients of (t, e, j, w, min(t, e), t·e/w, n)."""

    t: float = 0.0
    e: float = 0.0
    j: float = 0.0
    w: float = 0.0
    least: float = 0.0
    product: float = 0.0
    n: float = 0.0

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """The coefficients as an array."""
        numbers = self.t, self.e, self.j, self.w, self.least, self.product, self.n
        return np.array(numbers, dtype=np.float64)

    def __call__(self, b: Basis) -> Any:
        """Evaluate on a basis; t·e/w is 0 when w is 0."""
        total = self.t * b.t + self.e * b.e + self.j * b.j + (self.w * b.w + self.n * b.n)
        if self.least:
            total = total + self.least * np.minimum(b.t, b.e)
        if self.product and b.w:
            total = total + self.product * b.t * b.e / b.w
        return total


def pairs(x: Any) -> Any:
    """x²: pairs of items, an item with itself included."""
    return np.square(np.asarray(x, dtype=np.float64))


def entropy(x: Any) -> Any:
    """x log₂ x, and 0 at 0."""
    x = np.asarray(x, dtype=np.float64)
    return x * _core.log2(np.where(x > 0, x, 1.0).ravel()).reshape(x.shape)


def distinct_pairs(x: Any) -> Any:
    """x(x - 1)/2: pairs of different items."""
    x = np.asarray(x, dtype=np.float64)
    return x * (x - 1) / 2


@dataclass(frozen=True)
class RatioLoss:
    """A loss of the form ``numerator(basis) / denominator(basis)``; subclass it to add one.

    A subclass sets ``needs``, ``cell`` (vectorised over x ≥ 0), ``numerator`` and
    ``denominator``, and is then evaluated, and searched, by a core that knows none of them.
    """

    needs: ClassVar[Needs]

    def cell(self, x: Any) -> Any:
        """Return what a cell, or a cluster, of x items contributes."""
        raise TypeError(f"{type(self).__name__} must define `cell`.")

    @property
    def numerator(self) -> Combination:
        """Coefficients of the numerator."""
        raise TypeError(f"{type(self).__name__} must define `numerator`.")

    @property
    def denominator(self) -> Combination:
        """Coefficients of the denominator."""
        raise TypeError(f"{type(self).__name__} must define `denominator`.")

    def table(self, n_items: int) -> NDArray[np.float64]:
        """Tabulate ``cell`` at 0, 1, ..., n."""
        return np.asarray(self.cell(np.arange(n_items + 1)), dtype=np.float64)

    def tables(
        self, n_items: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The loss as the core takes it: ``cell`` tabulated, and the coefficients of both sums."""
        return self.table(n_items), self.numerator.coefficients, self.denominator.coefficients

    def ratio(self, basis: Basis) -> Any:
        """Numerator over denominator; 0 where the numerator is, identical partitions included."""
        top = np.asarray(self.numerator(basis), dtype=np.float64)
        bottom = np.asarray(self.denominator(basis), dtype=np.float64)
        noise = 64 * np.finfo(np.float64).eps * (abs(basis.w) + basis.n)
        safe = np.where(bottom > 0, bottom, 1.0)
        return np.where((np.abs(top) <= noise) | (bottom <= 0), 0.0, top / safe)

    def __call__(self, truth: Any, labels: Any) -> float:
        """Return the loss of reporting ``labels`` when ``truth`` is so.

        Parameters
        ----------
        truth, labels : array-like of shape (n,)
            Two partitions of the same items, labelled by any integers or strings.
        """
        first = canonical(validate.labels("truth", truth))
        second = canonical(validate.labels("labels", labels, n_items=first.size))
        _, cells = np.unique(first * (second.max() + 1) + second, return_counts=True)
        table = self.table(first.size)
        t, e = table[np.bincount(first)].sum(), table[np.bincount(second)].sum()
        return float(self.ratio(Basis(t, e, table[cells].sum(), table[-1], first.size)))

    def reads_draws(self, evidence: Evidence, n_partitions: int) -> bool:
        """Whether to evaluate on the draws: a must, or the cheaper of two equal answers."""
        if self.needs != "either":
            return self.needs == "draws"
        if evidence.has_dense or not evidence.has_draws:
            return False
        return n_partitions * 100 < evidence.n_items

    def on_similarity(
        self, partitions: IntArray, similarity: Similarity, n_jobs: int = 1
    ) -> NDArray[np.float64]:
        """Return the loss of each of the (p, n) partitions, taken on the similarity."""
        n, table = similarity.n_items, self.table(similarity.n_items)
        e, j = np.empty(len(partitions)), np.empty(len(partitions))
        for at, labels in enumerate(partitions):
            e[at] = table[np.unique(labels, return_counts=True)[1]].sum()
            j[at] = self._per_item(similarity.own_sums(labels, n_jobs=n_jobs)).sum()
        t = self._per_item(similarity.row_sums).sum()
        return np.asarray(self.ratio(Basis(t, e, j, table[-1], n)))

    def _per_item(self, x: Any) -> Any:
        """cell(x)/x, what each of x items in a cell contributes."""
        return self.cell(x) / x

    def expected_along(
        self, tree: Tree, evidence: Evidence, *, n_jobs: int = 1
    ) -> NDArray[np.float64]:
        """Return the expected loss of the cuts into 1, ..., n clusters, in one pass over the tree.

        Every node's share of e and j is found once; going down, a split replaces one node's share
        by its children's.
        """
        table = self.table(tree.n_items)
        e = tree.accumulate(table[tree.size])
        if self.reads_draws(evidence, tree.n_items):
            return self._along_draws(tree, table, e, evidence.distinct, n_jobs)
        j = tree.accumulate(self._node_sums(tree, evidence.dense))
        t = self._per_item(evidence.similarity.row_sums).sum()
        return np.asarray(self.ratio(Basis(t, e, j, table[-1], tree.n_items)))

    def _along_draws(
        self, tree: Tree, table: NDArray[np.float64], e: NDArray[np.float64], draws: Draws,
        n_jobs: int,
    ) -> NDArray[np.float64]:  # fmt: skip
        held, weights = np.ascontiguousarray(draws.labels), draws.probabilities

        def work(part: slice) -> NDArray[np.float64]:
            nodes = _core.node_sums(tree.children, held[part], table)
            basis = Basis(nodes[:, -1:], e, tree.accumulate(nodes), table[-1], tree.n_items)
            return np.asarray((weights[part, None] * self.ratio(basis)).sum(axis=0))

        out = np.zeros(tree.n_items)
        parts = blocks(draws.n_draws, max(1, 500_000 // tree.n_items))
        for losses in map_blocks(work, parts, n_jobs=n_jobs, label="cuts"):
            out += losses
        return out

    def _node_sums(self, tree: Tree, matrix: FloatArray) -> NDArray[np.float64]:
        """Σ over a node's items i of cell(x)/x at x = Σ_j in node π̂_ij, for every node."""
        n = tree.n_items
        sums, out = np.ones(n), np.empty(2 * n - 1)
        out[:n] = self._per_item(sums)
        for nodes in tree.runs(_CLIMBED):
            each = []
            for left, right in tree.children[nodes.start - n : nodes.stop - n]:
                one, other = tree.items(left), tree.items(right)
                for part in blocks(one.size, max(1, _CLIMBED // other.size)):
                    between = matrix[one[part, None], other]
                    sums[one[part]] += between.sum(axis=1, dtype=np.float64)
                    sums[other] += between.sum(axis=0, dtype=np.float64)
                each += [sums[one], sums[other]]
            starts = np.cumsum(tree.size[nodes]) - tree.size[nodes]
            out[nodes] = np.add.reduceat(self._per_item(np.concatenate(each)), starts)
        return out


@dataclass(frozen=True)
class WeightedLoss(RatioLoss):
    """A loss with the numerator a·t + (2 - a)·e - 2j: a is the weight of its first term."""

    a: float | None = 1.0

    def __post_init__(self) -> None:
        if self.a is not None:
            object.__setattr__(self, "a", validate.real("a", self.a, low=0, high=2))

    @property
    def weight(self) -> float:
        """The number a; an error where it is still to be chosen."""
        if self.a is None:
            raise InvalidValueError(
                "`a` must be a number here: `a=None` is for `estimate(..., n_clusters=k)`, which "
                "chooses the weight that gives k clusters."
            )
        return self.a

    @property
    def numerator(self) -> Combination:
        """a·t + (2 - a)·e - 2j."""
        return Combination(t=self.weight, e=2 - self.weight, j=-2)


def expected(
    loss: Loss, partitions: IntArray, evidence: Evidence, *, n_jobs: int = 1
) -> NDArray[np.float64]:
    """Return the expected loss of each partition, by the loss's own way or its mean over draws."""
    own = getattr(loss, "expected", None)
    if own is not None:
        return np.asarray(own(partitions, evidence, n_jobs=n_jobs), dtype=np.float64)
    if isinstance(loss, RatioLoss) and not loss.reads_draws(evidence, len(partitions)):
        return loss.on_similarity(partitions, evidence.similarity, n_jobs)
    draws = evidence.distinct
    return distances(loss, partitions, draws, weights=draws.probabilities, n_jobs=n_jobs)


def distances(
    loss: Loss,
    partitions: IntArray,
    draws: Draws,
    *,
    weights: NDArray[np.float64] | None = None,
    n_jobs: int = 1,
) -> NDArray[np.float64]:
    """Return the loss of reporting each of the (p, n) partitions when each draw is the truth.

    Returns
    -------
    ndarray, shape (p, n_draws), or (p,) if there are weights: the weighted sums over the draws

    Examples
    --------
    >>> from partita.draws import Draws
    >>> from partita.losses import VI
    >>> distances(VI(), np.array([[0, 0, 1, 1]]), Draws([[0, 0, 1, 1], [0, 1, 0, 1]]))
    array([[0., 2.]])
    """
    if not isinstance(loss, RatioLoss):
        each = [[loss(draw, labels) for draw in draws.labels] for labels in partitions]
        far = np.asarray(each, dtype=np.float64)
        return far if weights is None else far @ weights
    table, n = loss.table(draws.n_items), draws.n_items
    asked, counts = _partitions(partitions)
    if streams(draws):
        offsets, found, t = offsets_of(draws), [], None
        for one in contingency(draws, list(asked), n_jobs=n_jobs, label="losses"):
            t = np.add.reduceat(table[one.row_sizes()], offsets[:-1]) if t is None else t
            e = float(table[one.column_sizes(offsets)].sum())
            found.append(loss.ratio(Basis(t, e, one.joint(offsets, table), table[-1], n)))
        far = np.stack(found)
        return far if weights is None else np.asarray(far @ weights)
    whole, one_cluster = np.zeros((1, n), np.uint32), np.ones(1, np.int64)

    def work(part: tuple[slice, slice]) -> NDArray[np.float64]:
        some, rows = part
        labels, sizes = np.ascontiguousarray(draws.labels[some]), draws.n_clusters[some]
        (t,) = _core.joint_sums(labels, sizes, whole, one_cluster, table)
        (e,) = _core.joint_sums(asked[rows], counts[rows], whole, one_cluster, table)
        j = _core.joint_sums(labels, sizes, asked[rows], counts[rows], table)
        far = np.asarray(loss.ratio(Basis(t, e[:, None], j, table[-1], n)))
        return far if weights is None else (far * weights[some]).sum(axis=1)

    out = np.zeros(asked.shape[0] if weights is not None else (asked.shape[0], draws.n_draws))
    parts = list(_grid(draws.n_draws, asked.shape[0], n))
    done = map_blocks(work, parts, n_jobs=n_jobs, label="losses")
    for (some, rows), far in zip(parts, done, strict=True):
        if weights is None:
            out[rows, some] = far
        else:
            out[rows] += far
    return out


def _partitions(labels: IntArray) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Canonical rows in the dtype that the core takes candidates in, and their n_clusters."""
    rows, counts = counted_rows(np.asarray(labels))
    return np.ascontiguousarray(rows, dtype=np.uint32), counts


def _grid(n_draws: int, n_partitions: int, n_items: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of draws by blocks of partitions, each a bounded amount of work."""
    of_draws = min(n_draws, max(1, _WORK // n_items))
    of_partitions = max(1, _WORK // (n_items * of_draws))
    for rows in blocks(n_partitions, of_partitions):
        for columns in blocks(n_draws, of_draws):
            yield columns, rows
