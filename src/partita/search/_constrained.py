"""Partitions that must keep to constraints: what they are, every one of few items, a descent.

Items that must be together are one block, and blocks are what is put into clusters. Of at most ten
blocks every partition is looked at; of more, partitions that were found without constraints, cuts
of a dendrogram and random ones are mended until they keep to the constraints, and then blocks are
moved, exchanged and clusters joined while the loss falls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita.errors import InvalidTypeError, InvalidValueError
from partita.parallel import Stop
from partita.partitions import canonical, enumerate_partitions, extended
from partita.search._common import Candidate
from partita.search._hierarchy import dendrogram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.evidence import Evidence
    from partita.losses import Loss
    from partita.typing import IntArray

_MOST_BLOCKS = 10  # 115,975 partitions
_RANDOM = 24  # random starts of a descent
_CUTS = 12  # cuts of a dendrogram that a descent starts from
_ROWS = 5_000_000  # labels of partitions that are scored together
_PAIRS = 40  # blocks up to which pairs of them are exchanged
_BETTER = 1e-12


@dataclass(frozen=True, eq=False)
class Constraints:
    """What a partition must keep to.

    Parameters
    ----------
    block : ndarray of int64, shape (n_items,)
        Which block each item is in; a block stays together.
    apart : ndarray of bool, shape (n_blocks, n_blocks)
        Which blocks may not be together.
    min_size : int
    n_clusters : int, optional
    """

    block: NDArray[np.int64]
    apart: NDArray[np.bool_]
    min_size: int = 1
    n_clusters: int | None = None

    @classmethod
    def of(
        cls, n_items: int, names: Sequence[str] | None = None, *, min_size: int | None = None,
        must_link: Any = None, cannot_link: Any = None, fixed: Any = None,
        n_clusters: int | None = None,
    ) -> Constraints:  # fmt: skip
        """Check what was given; contradictions that can be seen are errors."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        linked = _pairs("must_link", must_link, n_items, names)
        parted = _pairs("cannot_link", cannot_link, n_items, names)
        if fixed is not None:
            labels = validate.labels("fixed", fixed, n_items=n_items)
            told = np.flatnonzero(labels != -1)
            first = {
                int(label): int(i) for i, label in zip(told[::-1], labels[told][::-1], strict=True)
            }
            linked = [*linked, *((first[int(labels[i])], int(i)) for i in told)]
            heads = list(first.values())
            parted = [*parted, *((a, b) for a in heads for b in heads if a < b)]
        rows, cols = np.array([*linked, (0, 0)]).T
        graph = coo_matrix((np.ones(len(rows)), (rows, cols)), shape=(n_items, n_items))
        count, block = connected_components(graph, directed=False)
        apart = np.zeros((count, count), dtype=bool)
        for a, b in parted:
            if block[a] == block[b]:
                raise InvalidValueError(
                    f"`must_link`, `cannot_link` and `fixed` contradict each other: items {a} and "
                    f"{b} must be together and apart."
                )
            apart[block[a], block[b]] = apart[block[b], block[a]] = True
        least = 1 if min_size is None else validate.integer("min_size", min_size, least=1)
        if least * (n_clusters or 1) > n_items:
            raise InvalidValueError(
                f"`min_size` cannot be met: {n_clusters or 1} clusters of {least} items or more, "
                f"and there are {n_items}."
            )
        return cls(canonical(block), _in_order(apart, block), least, n_clusters)

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return len(self.apart)

    @property
    def is_small(self) -> bool:
        """Whether every partition is looked at."""
        return self.n_blocks <= _MOST_BLOCKS

    @property
    def weight(self) -> NDArray[np.int64]:
        """The items of each block."""
        return np.bincount(self.block)

    def holds(self, labels: IntArray) -> bool:
        """Whether a partition of the items keeps to them."""
        first = np.unique(self.block, return_index=True)[1]
        of_block = np.asarray(labels)[first]
        return bool((of_block[self.block] == labels).all()) and self._holds(canonical(of_block))

    def _holds(self, labels: NDArray[np.int64]) -> bool:
        """The same of a partition of the blocks."""
        sizes = np.bincount(labels, self.weight)
        together = labels[:, None] == labels
        return bool(
            sizes[sizes > 0].min() >= self.min_size
            and not (together & self.apart).any()
            and self.n_clusters in (None, int((sizes > 0).sum()))
        )


@dataclass(frozen=True, eq=False)
class Constrained:
    """A search under constraints; ``starts`` are partitions found without them."""

    constraints: Constraints
    starts: tuple[IntArray, ...] = ()
    exact: bool = False
    time_limit: float | None = None

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Iterator[Candidate]:
        """Yield the best partition, proved the best where every one was looked at."""
        scored = _Scored(self.constraints, evidence, loss, n_jobs)
        if self.constraints.is_small:
            yield from _every(self.constraints, scored)
            return
        if self.exact:
            raise InvalidValueError(
                f"`search` 'exact' under constraints looks at every partition of at most "
                f"{_MOST_BLOCKS} items, those linked counting as one; got "
                f"{self.constraints.n_blocks}. Use 'greedy'."
            )
        best: tuple[float, NDArray[np.int64]] | None = None
        clock = Stop(self.time_limit)
        for start in _starts(self, evidence, rng):
            mended = _mended(start, self.constraints, rng)
            if mended is None:
                continue
            found = _descended(mended, scored, rng)
            if best is None or found[0] < best[0] - _BETTER:
                best = found
            if clock.is_late():
                break
        if best is not None:
            yield Candidate(best[1][self.constraints.block], expected_loss=best[0])


@dataclass
class _Scored:
    """The expected loss of partitions of the blocks."""

    constraints: Constraints
    evidence: Evidence
    loss: Loss
    n_jobs: int

    def __call__(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        size = max(1, _ROWS // self.constraints.block.size)
        parts = [rows[i : i + size][:, self.constraints.block] for i in range(0, len(rows), size)]
        return np.concatenate(
            [losses.expected(self.loss, p, self.evidence, n_jobs=self.n_jobs) for p in parts]
        )


def _every(constraints: Constraints, scored: _Scored) -> Iterator[Candidate]:
    """The best of all partitions of a few blocks that keep to the constraints."""
    n = constraints.n_blocks
    head = min(n, 8)
    found = (extended(one[None], n - head) for one in enumerate_partitions(head))
    kept = [row for rows in found for row in rows if constraints._holds(row)]
    if kept:
        rows = np.array(kept)
        values = scored(rows)
        best = int(values.argmin())
        labels, value = rows[best][constraints.block], float(values[best])
        yield Candidate(labels, expected_loss=value, info={"is_optimal": True})


def _starts(
    search: Constrained, evidence: Evidence, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Partitions of the blocks to mend and descend from."""
    constraints = search.constraints
    first = np.unique(constraints.block, return_index=True)[1]
    for labels in search.starts:
        yield canonical(np.asarray(labels)[first])
    n = evidence.n_items
    if evidence.has_few_items:
        tree = dendrogram(evidence, "average")
        numbers = range(1, min(n, _CUTS) + 1)
        for k in numbers if constraints.n_clusters is None else (constraints.n_clusters,):
            yield canonical(tree.cut(k)[first])
    most = constraints.n_clusters or max(2, int(np.sqrt(constraints.n_blocks)))
    for _ in range(_RANDOM if constraints.n_blocks <= _PAIRS else 2):
        yield canonical(rng.integers(0, most, constraints.n_blocks))


def _mended(
    labels: NDArray[np.int64], constraints: Constraints, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """The partition changed until it keeps to the constraints; None where that does not succeed."""
    weight, apart = constraints.weight, constraints.apart
    out = np.full(labels.size, -1)
    for i in np.lexsort((rng.random(labels.size), -apart.sum(axis=1))).tolist():
        taken = set(out[apart[i]].tolist())
        wanted = int(labels[i])
        known = sorted(set(out[out >= 0].tolist()) - taken)
        free = labels.max() + 1 + i
        out[i] = wanted if wanted not in taken else (rng.choice(known) if known else free)
    out = canonical(out)
    target = constraints.n_clusters
    for _ in range(4 * labels.size + 4):
        sizes = np.bincount(out, weight)
        if sizes.min() >= constraints.min_size and target in (None, sizes.size):
            return out
        smallest = int(sizes.argmin())
        if sizes.min() >= constraints.min_size and target is not None and sizes.size < target:
            out = _split(out, int(sizes.argmax()), constraints, rng)
        elif target is not None and sizes.size <= target:
            out = _fed(out, smallest, constraints, rng)
        else:
            blocked = {int(k) for k in out[apart[out == smallest].any(axis=0)]}
            others = [k for k in range(sizes.size) if k != smallest and k not in blocked]
            if not others:
                out = _fed(out, smallest, constraints, rng)
            else:
                out = canonical(np.where(out == smallest, rng.choice(others), out))
    return out if constraints._holds(out) else None


def _split(
    labels: NDArray[np.int64], k: int, constraints: Constraints, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Some blocks of a cluster made one of their own."""
    own = np.flatnonzero(labels == k)
    out = labels.copy()
    out[rng.permutation(own)[: max(1, own.size // 2)]] = labels.max() + 1
    return canonical(out)


def _fed(
    labels: NDArray[np.int64], k: int, constraints: Constraints, rng: np.random.Generator
) -> NDArray[np.int64]:
    """A block of another cluster moved to one that is too small."""
    free = (labels != k) & ~constraints.apart[labels == k].any(axis=0)
    if not free.any():
        return labels
    out = labels.copy()
    out[rng.choice(np.flatnonzero(free))] = k
    return canonical(out)


def _descended(
    labels: NDArray[np.int64], scored: _Scored, rng: np.random.Generator
) -> tuple[float, NDArray[np.int64]]:
    """Take the best change of a block, of two, or of whole clusters, while the loss falls."""
    value = float(scored(labels[None])[0])
    while True:
        moved = False
        for i in rng.permutation(labels.size).tolist():
            found = _best(_moves(labels, i), labels, value, scored)
            if found is not None:
                (value, labels), moved = found, True
        if moved:
            continue
        found = _best(_large_moves(labels), labels, value, scored)
        if found is None:
            return value, labels
        value, labels = found


def _best(
    rows: list[NDArray[np.int64]], labels: NDArray[np.int64], value: float, scored: _Scored
) -> tuple[float, NDArray[np.int64]] | None:
    """The best of some partitions that keep to the constraints, if it is better."""
    kept = [canonical(row) for row in rows]
    kept = [row for row in kept if scored.constraints._holds(row)]
    if not kept:
        return None
    values = scored(np.array(kept))
    best = int(values.argmin())
    return (float(values[best]), kept[best]) if values[best] < value - _BETTER else None


def _moves(labels: NDArray[np.int64], i: int) -> list[NDArray[np.int64]]:
    """One block to every other cluster, and to one of its own."""
    rows = []
    for k in range(int(labels.max()) + 2):
        if k != labels[i]:
            row = labels.copy()
            row[i] = k
            rows.append(row)
    return rows


def _large_moves(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Two clusters joined; of few blocks, two exchanged or moved together."""
    n_clusters = int(labels.max()) + 1
    rows = [np.where(labels == b, a, labels) for a in range(n_clusters) for b in range(a)]
    if labels.size <= _PAIRS:
        for i in range(labels.size):
            for j in range(i):
                row = labels.copy()
                row[[i, j]] = labels[[j, i]]
                rows.append(row)
                for k in range(n_clusters + 1):
                    row = labels.copy()
                    row[[i, j]] = k
                    rows.append(row)
    return rows


def _pairs(
    name: str, value: Any, n_items: int, names: Sequence[str] | None
) -> list[tuple[int, int]]:
    """Pairs of items, by position or by name, as positions."""
    if value is None:
        return []
    at = {} if names is None else {one: i for i, one in enumerate(names)}
    found = []
    for pair in value:
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise InvalidTypeError(f"`{name}` must be a list of pairs of items; got {pair!r}.")
        ends = [_position(one, at) for one in pair]
        for one in ends:
            if isinstance(one, str):
                raise InvalidValueError(f"`{name}` names an item that is not there: {one!r}.")
            validate.integer(name, one, least=0, most=n_items - 1)
        found.append((int(ends[0]), int(ends[1])))
    return found


def _position(one: Any, at: dict[str, int]) -> Any:
    """Where an item of this name is, or the number that a word stands for."""
    if not isinstance(one, str):
        return one
    return at.get(one, int(one) if one.isdecimal() else one)


def _in_order(apart: NDArray[np.bool_], block: NDArray[Any]) -> NDArray[np.bool_]:
    """The pairs of blocks, numbered by the first appearance of their items."""
    order = list(dict.fromkeys(block.tolist()))
    return apart[np.ix_(order, order)]
