"""How a launch of the GPU kernel is cut; what it computes is tested on a card (test_gpu.py)."""

from __future__ import annotations

import numpy as np
import pytest

from partita.kernels import nmf_quotients


@pytest.mark.parametrize("n", [1, 511, 512, 513, 20_000, 100_000])
@pytest.mark.parametrize("rank", [1, 2, 7, 12, 24])
@pytest.mark.parametrize("itemsize", [4, 8])
def test_every_column_and_row_is_in_one_piece(n, rank, itemsize):
    launch = nmf_quotients.Launch.plan(10, rank, n, itemsize)
    fits, columns, parts = launch.grid
    width = launch.items * nmf_quotients.THREADS
    assert fits == 10
    assert (columns - 1) * width < n <= columns * width
    assert (parts - 1) * launch.chunk < n <= parts * launch.chunk
    assert parts <= nmf_quotients.MOST_PARTS
    assert launch.chunk % nmf_quotients.TILE == 0
    assert 2 * rank * launch.items * itemsize <= 4 * 96


def test_ranks_too_wide_are_left_to_arrays():
    assert nmf_quotients.Launch.plan(1, 49, 100, 4).items == 0
    assert nmf_quotients.Launch.plan(1, 25, 100, 8).items == 0


def test_a_tile_is_a_whole_number_of_steps():
    assert nmf_quotients.TILE % nmf_quotients.DEPTH == 0
    assert "#define K 7\n" in nmf_quotients.source(7, 4, "float32")
    assert "#define REAL double\n" in nmf_quotients.source(7, 2, "float64")


def test_a_cpu_has_none():
    torch = pytest.importorskip("torch")
    V, A = np.ones((4, 4)), np.ones((1, 2, 4))
    assert nmf_quotients.quotient_sums(V, A, A) is None
    assert nmf_quotients.quotient_sums(*(torch.asarray(x) for x in (V, A, A))) is None
