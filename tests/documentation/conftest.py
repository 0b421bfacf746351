"""A folder with the files that the pages speak of."""

from __future__ import annotations

import os

import numpy as np
import pytest

import partita as pt


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Draws, data, a truth and an estimate, under the names that the pages use."""
    galaxies = pt.datasets.load_galaxies()
    draws = pt.datasets.simulate_draws(40, 60, n_clusters=3, rng=0)
    names = [f"item{i}" for i in range(40)]
    np.savetxt(
        tmp_path / "draws.csv",
        draws.labels,
        fmt="%d",
        delimiter=",",
        header=",".join(names),
        comments="",
    )
    chains = pt.Draws(draws.labels, chains=np.repeat([0, 1], 30))
    chains.save(tmp_path / "draws.npz")
    truth = np.arange(40) * 3 // 40
    np.savetxt(tmp_path / "truth.csv", truth, fmt="%d")
    random = np.random.default_rng(0)
    points = truth[:, None] * 4.0 + random.normal(size=(40, 2))
    np.savetxt(tmp_path / "data.csv", points, delimiter=",", header="x,y", comments="")
    galaxies.to_frame().to_csv(tmp_path / "galaxies.csv", index=False)
    pt.estimate(draws, method="minvi").to_frame().to_csv(tmp_path / "estimate.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "MPLBACKEND", "Agg")
    return tmp_path
