from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.metrics.cluster import contingency_matrix

from partita.partitions import (
    Tree,
    bell_number,
    canonical,
    contingency,
    counted_rows,
    distinct_rows,
    enumerate_partitions,
    join,
    meet,
    n_clusters,
)

pairs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 5), min_size=n, max_size=n)] * 2)
)


def together(labels):
    labels = np.asarray(labels)
    return labels[:, None] == labels[None, :]


@given(pairs)
def test_canonical_numbers_by_first_appearance_and_keeps_the_partition(pair):
    labels = canonical(pair[0])
    assert np.array_equal(together(labels), together(pair[0]))
    first = [labels.tolist().index(k) for k in range(n_clusters(labels))]
    assert first == sorted(first)


@given(pairs)
def test_contingency_equals_scikit_learn(pair):
    a, b = pair
    ours = contingency(a, b)
    theirs = contingency_matrix(canonical(a), canonical(b))
    assert np.array_equal(ours, theirs)


@given(pairs)
def test_meet_and_join_are_the_bounds_of_the_lattice(pair):
    a, b = (together(labels) for labels in pair)
    assert np.array_equal(together(meet(*pair)), a & b)
    reach = (a | b).astype(int)
    for _ in range(len(reach)):
        reach = ((reach @ reach) > 0).astype(int)
    assert np.array_equal(together(join(*pair)), reach.astype(bool))


@pytest.mark.parametrize("n", range(1, 9))
def test_enumeration_is_complete_and_canonical(n):
    every = enumerate_partitions(n)
    assert len({tuple(row) for row in every}) == len(every) == bell_number(n)
    assert all(np.array_equal(row, canonical(row)) for row in every[:: max(1, len(every) // 50)])


def test_enumeration_refuses_what_would_not_end():
    with pytest.raises(ValueError, match=r"at most 13.*got 14, which has 190,899,322"):
        enumerate_partitions(14)


@pytest.mark.parametrize("method", ["average", "complete", "single"])
@pytest.mark.parametrize("seed", range(3))
def test_cuts_equal_scipy(method, seed):
    Z = linkage(pdist(np.random.default_rng(seed).normal(size=(25, 2))), method)
    tree = Tree.from_linkage(Z)
    for k, labels in enumerate(tree.cuts(25), start=1):
        theirs = fcluster(Z, k, criterion="maxclust")
        assert np.array_equal(together(labels), together(theirs))
        assert np.array_equal(labels, tree.cut(k))
    for height in (0.1, 0.5, 1.0, 2.0):
        theirs = fcluster(Z, height, criterion="distance")
        assert np.array_equal(together(tree.cut_at(height)), together(theirs))


def test_accumulate_sums_over_the_clusters_of_each_cut():
    Z = linkage(pdist(np.random.default_rng(0).normal(size=(12, 2))), "average")
    tree = Tree.from_linkage(Z)
    sums = tree.accumulate(tree.size.astype(float) ** 2)
    for k in range(1, 13):
        assert sums[k - 1] == (np.bincount(tree.cut(k)) ** 2).sum()


def test_a_tree_of_one_item():
    tree = Tree(np.empty((0, 2), dtype=np.int64), np.empty(0))
    assert [cut.tolist() for cut in tree.cuts(1)] == [[0]]
    assert tree.accumulate(np.array([3.0])).tolist() == [3.0]


@pytest.mark.parametrize(("n_clusters", "dtype"), [(256, np.uint8), (257, np.uint16)])
def test_rows_are_counted_and_the_one_of_most_clusters_decides_the_dtype(n_clusters, dtype):
    labels = np.zeros((3, 300), dtype=np.int64)
    labels[1] = np.minimum(np.arange(300), n_clusters - 1)[::-1] - 7
    labels[2, 150:] = 2**15
    found, counts = counted_rows(labels)
    assert found.dtype == dtype
    assert counts.tolist() == [1, n_clusters, 2]
    assert found.tolist() == [canonical(row).tolist() for row in labels]


def test_distinct_rows_are_those_of_a_dictionary():
    rows = np.random.default_rng(0).integers(0, 3, (500, 5)).astype(np.uint8)
    first, owner = distinct_rows(rows)
    seen = {}
    expected = [seen.setdefault(row.tobytes(), len(seen)) for row in rows]
    assert owner.tolist() == expected
    assert np.array_equal(rows[first][owner], rows)
    assert first.tolist() == sorted(first.tolist())
