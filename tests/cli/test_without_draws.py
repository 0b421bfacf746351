"""What the shell does with a similarity alone, and with runs that leave items out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import partita as pt


@pytest.fixture(scope="module")
def draws():
    return pt.datasets.simulate_draws(20, 30, n_clusters=3, rng=1)


@pytest.fixture
def matrix(shell, draws, tmp_path):
    draws.save(tmp_path / "draws.npz")
    shell("similarity", tmp_path / "draws.npz", "-o", tmp_path / "matrix.csv")
    return tmp_path / "matrix.csv"


def test_a_matrix_taken_for_draws_is_recognised(shell, matrix):
    assert "looks like a similarity matrix" in shell.refused("estimate", matrix)


def test_tables_page_and_figure_of_a_matrix(shell, matrix, tmp_path):
    said = shell("uncertainty", matrix, "--similarity", "--seed", "1")
    assert "Left out, since it needs draws with every label" in said
    found = shell.json("uncertainty", matrix, "--similarity", "--seed", "1")
    assert {"items", "clusters"} <= found.keys()
    assert "similarity" in shell.refused("uncertainty", matrix, "--similarity", "--table", "ball")
    for words in (("report", "-o", "page.html"), ("plot", "similarity", "-o", "figure.png")):
        command, *rest, name = words
        kind = rest[:1] if command == "plot" else []
        file = tmp_path / name
        shell(command, *kind, matrix, "--similarity", "-o", file)
        assert file.stat().st_size > 1_000


def test_runs_that_leave_items_out(shell, draws, tmp_path):
    labels = draws.labels[:15].astype(int)
    holes = np.where(np.random.default_rng(0).random(labels.shape) < 0.8, labels, -1)
    frame = pd.DataFrame(holes.T, index=[f"cell{k}" for k in range(20)])
    frame.to_csv(tmp_path / "runs.csv")
    asked = shell.refused("estimate", tmp_path / "runs.csv")
    assert "--orient items" in asked
    how = ("--orient", "items", "--missing=-1", "--seed", "0")
    found = shell.json("estimate", tmp_path / "runs.csv", *how)
    best = pt.estimate(pt.Draws(holes, missing=-1), rng=0)
    assert [row["cluster"] for row in found["items"]] == best.labels.tolist()
    file = tmp_path / "page.html"
    shell("report", tmp_path / "runs.csv", *how, "--wording", "consensus", "-o", file)
    assert "Consensus matrix" in file.read_text()
