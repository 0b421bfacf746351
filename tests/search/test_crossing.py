"""Crossing the ends of runs: the blocks they share, put together anew."""

import numpy as np
import pytest

import partita as pt
from partita import losses
from partita.evidence import as_evidence
from partita.partitions import canonical
from partita.search._greedy_crossing import Blocks, crossed, shared_blocks, value_of
from partita.search._greedy_problem import problem


def two_modes(rng, n=40, n_draws=30):
    """Draws near either of two partitions, and the two."""
    modes = rng.integers(0, 3, (2, n))
    labels = np.repeat(modes, n_draws // 2, axis=0)
    noise = rng.random(labels.shape) < 0.1
    labels[noise] = rng.integers(0, 4, int(noise.sum()))
    return labels, [canonical(mode) for mode in modes]


def partitions_of(n):
    """All label vectors of n blocks."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*one, k] for one in found for k in range(max(one) + 2)]
    return np.array(found)


def test_blocks_are_what_no_partition_parts():
    ends = [np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1])]
    np.testing.assert_array_equal(shared_blocks(ends, 9), [0, 0, 1, 2, 2, 3])
    np.testing.assert_array_equal(shared_blocks(ends, 3), ends[0])


@pytest.mark.parametrize(("loss", "rel"), [("vi", 1e-12), ("id", 1e-12), ("nid", 0.02)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_way_to_put_blocks_together_is_found(loss, rel, seed):
    """Exactly where the loss is linear in j, nearly where it is made so."""
    rng = np.random.default_rng(seed)
    draws, ends = two_modes(rng, n=24)
    blocks = shared_blocks(ends, 9)
    posed = problem(losses.resolve(loss), as_evidence(draws))
    found = crossed(posed, posed, ends, 99, rng, 3, 8)
    ways = partitions_of(int(blocks.max()) + 1)[:, blocks]
    values = pt.expected_loss(ways, draws, loss=loss)
    assert min(value for value, _ in found) == pytest.approx(values.min(), rel=rel)
    for value, labels in found:
        assert value == pytest.approx(float(pt.expected_loss(labels, draws, loss=loss)), rel=1e-12)
        assert len(np.unique(np.stack([blocks, labels]), axis=1).T) == blocks.max() + 1


def test_at_most_so_many_clusters():
    rng = np.random.default_rng(3)
    draws, ends = two_modes(rng)
    posed = problem(losses.resolve("id"), as_evidence(draws))
    assert all(labels.max() < 3 for _, labels in crossed(posed, posed, ends, 3, rng, 9, 8))


def test_few_draws_first_and_merged_items():
    """Ends may part items that are alike on the few draws."""
    rng = np.random.default_rng(4)
    draws, ends = two_modes(rng, n_draws=60)
    few = problem(losses.resolve("nid"), as_evidence(draws[[0, 1, -1]]))
    many = problem(losses.resolve("nid"), as_evidence(draws))
    assert few.n < 40
    found = crossed(few, many, ends, 99, rng, 3, 8)
    least = min(value_of(many, end) for end in ends)
    assert min(value for value, _ in found) <= least * (1 + 1e-12)


def test_nothing_where_there_is_but_one_way_or_too_many():
    rng = np.random.default_rng(5)
    draws, ends = two_modes(rng)
    posed = problem(losses.resolve("id"), as_evidence(draws))
    assert crossed(posed, posed, ends[:1], 99, rng, 3, 8) == []
    assert crossed(posed, posed, [np.arange(40), *ends], 99, rng, 3, 8) == []


@pytest.mark.parametrize("loss", ["id", "vi"])
def test_the_cost_of_blocks_is_the_loss(loss):
    """Where the loss is linear in j; between the points of e it is a chord of it."""
    rng = np.random.default_rng(6)
    draws, ends = two_modes(rng)
    posed = problem(losses.resolve(loss), as_evidence(draws))
    made = Blocks(posed, shared_blocks(ends, 24), ends[0])
    for end in ends:
        labels = made.of(end)
        sizes = np.bincount(labels, made.mass).astype(int)
        j = sum(made.alpha @ posed.cell[made.parts[labels == k].sum(0)] for k in np.unique(labels))
        at = np.arange(made.grid.size) / made.density + made.low
        cost = np.interp(posed.cell[sizes].sum(), at, made.grid) - j
        assert cost == pytest.approx(float(pt.expected_loss(end, draws, loss=loss)), rel=1e-4)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_default_search_crosses_two_modes(seed):
    """No way to put the blocks of the two modes together is better than what is found."""
    draws, ends = two_modes(np.random.default_rng(7), n=60, n_draws=300)
    blocks = shared_blocks(ends, 9)
    ways = partitions_of(int(blocks.max()) + 1)[:, blocks]
    least = pt.expected_loss(ways, draws, loss="id").min()
    found = pt.estimate(draws, loss="id", rng=seed)
    assert found.expected_loss <= least * (1 + 1e-12)
