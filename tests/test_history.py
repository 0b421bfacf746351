"""What an estimate remembers of the search that found it."""

from __future__ import annotations

import numpy as np
import pytest

import partita as pt


@pytest.mark.parametrize("search", ["auto", "nmf-kl", "draws", "average"])
def test_history_ends_at_the_loss_reported(draws, search):
    best = pt.estimate(draws, loss="vi", search=search, rng=0)
    seconds, values, share = best.history.T
    assert np.all(seconds >= 0)
    assert np.all((share > 0) & (share <= 1))
    assert values[share == 1].min() == pytest.approx(best.expected_loss, abs=1e-9)


def test_history_is_saved(draws, tmp_path):
    best = pt.estimate(draws, loss="vi", rng=0)
    best.save(tmp_path / "best.npz")
    np.testing.assert_array_equal(pt.Estimate.load(tmp_path / "best.npz").history, best.history)
