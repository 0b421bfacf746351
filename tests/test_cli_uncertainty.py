"""``partita uncertainty`` and ``partita diagnose``, as a user runs them."""

from __future__ import annotations

import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest

import partita as pt
from partita.cli import main
from partita.cli._uncertainty import _TABLES


@pytest.fixture
def csv(tmp_path, draws):
    path = tmp_path / "draws.csv"
    names = [f"item{i}" for i in range(draws.n_items)]
    pd.DataFrame(draws.labels + 1, columns=names).to_csv(path, index=False)
    return path


@pytest.fixture
def saved(tmp_path, draws):
    best = pt.estimate(draws, search="average", rng=1)
    best.save(tmp_path / "best.npz")
    return tmp_path / "best.npz"


def run(capsys, *words):
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_summary(capsys, csv, saved):
    code, out, err = run(capsys, "uncertainty", csv, "--estimate", saved)
    assert (code, err) == (0, "")
    for words in (
        "Estimate(4 clusters of 60 items",
        "Monte Carlo error: LossError(vi 1.15651 ±",
        "CredibleBall(0.95 of the posterior within vi",
        "upper_vertical",
        "posterior of the number of clusters",
        "the items least sure of their place",
    ):
        assert words in out


def test_json_holds_it_all_and_equals_python(capsys, csv, saved, draws):
    _, out, _ = run(capsys, "uncertainty", csv, "--estimate", saved, "--format", "json")
    answer = json.loads(out)
    best = pt.Estimate.load(saved)
    ball = pt.credible_ball(best, draws)
    assert answer["ball"][0]["distance"] == ball.radius
    assert answer["ball"][0]["item3"] == ball.horizontal.labels[0, 3]
    items = pt.item_uncertainty(best, draws)
    assert [row["entropy"] for row in answer["items"]] == items["entropy"].tolist()
    assert answer["items"][0]["item"] == "item0"
    assert answer["error"][0]["error"] == pt.loss_error(best, draws).error
    assert sum(row["probability"] for row in answer["n-clusters"]) == pytest.approx(1)
    assert len(answer["clusters"]) == best.n_clusters


@pytest.mark.parametrize("table", sorted(_TABLES))
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_every_table_in_every_format(capsys, csv, saved, table, form):
    words = ("uncertainty", csv, "--table", table, "--format", form, "--seed", 0, "--modes", 2)
    code, out, err = run(capsys, *words, "--estimate", saved)
    assert (code, err) == (0, "")
    if form == "json":
        assert len(json.loads(out)) > 0
    elif form == "csv":
        assert len(pd.read_csv(io.StringIO(out))) > 0
    else:
        assert len(out.splitlines()) > 1


def test_modes_carry_their_partitions(capsys, csv, draws):
    words = ("uncertainty", csv, "--table", "modes", "--modes", 2, "--seed", 3)
    _, out, _ = run(capsys, *words, "--format", "csv")
    frame = pd.read_csv(io.StringIO(out), index_col="mode")
    modes = pt.summarize_modes(draws, n_modes=2, rng=3)
    assert frame["weight"].tolist() == modes.weights.tolist()
    assert np.array_equal(frame.filter(like="item").to_numpy(), modes.labels)


def test_csv_without_a_table_is_the_items(capsys, csv, tmp_path):
    out_file = tmp_path / "items.csv"
    code, out, _ = run(capsys, "uncertainty", csv, "--method", "minvi", "-o", out_file)
    assert (code, out) == (0, "")
    assert pd.read_csv(out_file)["item"].tolist()[:2] == ["item0", "item1"]


@pytest.mark.parametrize(
    "words",
    [
        ("--prob", "1.5"),
        ("--ball-loss", "pear"),
        ("--estimate", "x.npz", "--loss", "vi"),
        ("--estimate", "x.npz"),
        ("--table", "modes", "--modes", "0"),
        ("--table", "modes", "--modes", "some"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_2(capsys, csv, words):
    code, out, err = run(capsys, "uncertainty", csv, *words)
    assert (code, out) == (2, "")
    assert err.startswith("partita: ")
    assert err.count("\n") == 1


def test_diagnose_says_it_plainly(capsys, csv):
    code, out, err = run(capsys, "diagnose", csv, "--chains", 2)
    assert (code, err) == (0, "")
    assert out.startswith("Nothing speaks against these draws.")
    assert "vi to a central draw" in out
    _, out, _ = run(capsys, "diagnose", csv, "--chains", 2, "--burn", 50, "--thin", 2, "--trace")
    assert len(out.splitlines()) == 2 + 150
    code, _, err = run(capsys, "diagnose", csv, "--chains", 3)
    assert code == 2
    assert "must divide the number of draws, 400; got 3" in err


def test_diagnose_stuck_chains_as_json_and_csv(capsys, tmp_path):
    labels = np.repeat([[0, 0, 1, 1], [0, 1, 2, 2]], 100, axis=0)
    pt.Draws(labels, chains=np.repeat([0, 1], 100)).save(tmp_path / "stuck.npz")
    code, out, _ = run(capsys, "diagnose", tmp_path / "stuck.npz", "--format", "json")
    answer = json.loads(out)
    assert (code, answer["trusted"], answer["gap"]["difference"]) == (0, False, 1.0)
    assert answer["quantities"][0] | {"mean": 0, "sd": 0, "mcse": 0, "ess": 0} == {
        "quantity": "K",
        "rhat": "inf",
        "mean": 0,
        "sd": 0,
        "mcse": 0,
        "ess": 0,
    }
    _, out, _ = run(capsys, "diagnose", tmp_path / "stuck.npz", "--format", "csv", "--pairs", 1)
    assert pd.read_csv(io.StringIO(out))["quantity"].tolist()[:2] == ["K", "vi to a central draw"]


def test_estimate_warns_on_stderr(capsys, tmp_path):
    labels = np.repeat([[0, 0, 1, 1], [0, 1, 2, 2]], 100, axis=0)
    pt.Draws(labels, chains=np.repeat([0, 1], 100)).save(tmp_path / "stuck.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, out, err = run(capsys, "estimate", tmp_path / "stuck.npz", "--format", "csv")
    assert code == 0
    assert err.startswith("partita: warning: The chains disagree on the number of clusters")
    assert err.count("\n") == 1
    assert out.startswith("item,cluster")


def test_diagnose_against_a_saved_estimate(capsys, csv, saved, draws):
    words = ("diagnose", csv, "--estimate", saved, "--loss", "binder", "--format", "csv")
    _, out, _ = run(capsys, *words)
    frame = pd.read_csv(io.StringIO(out), index_col="quantity")
    expected = pt.expected_loss(pt.Estimate.load(saved).labels, draws, loss="binder")
    assert frame.loc["binder to the estimate", "mean"] == pytest.approx(expected)
