"""Every command says what its verb in Python finds."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import partita as pt
from partita.cli import COMMANDS
from partita.cli.options import TABLES


@pytest.fixture
def saved(tmp_path, draws):
    best = pt.estimate(draws, search="average", rng=1)
    best.save(tmp_path / "best.npz")
    return tmp_path / "best.npz"


def labels_of(answer):
    return [row["cluster"] for row in answer["items"]]


def test_estimate_equals_python(shell, csv, draws):
    out = shell("estimate", csv, "--loss", "vi", "--seed", 1)
    assert out.startswith("4 clusters, sizes ")
    assert "expected vi 1.1565" in out
    assert "item59" in out
    assert shell.err == ""
    words = ("estimate", csv, "--loss", "binder", "--search", "average", "--seed", 1)
    best = pt.estimate(draws, loss="binder", search="average", rng=1)
    answer = shell.json(*words)
    assert answer["expected_loss"] == best.expected_loss
    assert labels_of(answer) == best.labels.tolist()
    assert answer["items"][3]["item"] == "item3"
    assert shell(*words, "--format", "csv").splitlines()[:2] == ["item,cluster", "item0,0"]


def test_estimate_lists_the_sizes_of_forty_clusters_at_most(shell, tmp_path):
    np.savetxt(tmp_path / "many.csv", np.tile(np.arange(50), (3, 2)), fmt="%d", delimiter=",")
    out = shell("estimate", tmp_path / "many.csv", "--search", "draws")
    assert "50 clusters, sizes " + "2, " * 39 + "2 and 10 more\n" in out


def test_searches_are_pooled_and_methods_named(shell, csv):
    words = ("estimate", csv, "--seed", 0)
    pooled = shell.json(*words, "--search", "draws", "--search", "average")
    assert pooled["expected_loss"] < shell.json(*words, "--search", "draws")["expected_loss"]
    assert shell.json(*words, "--method", "Medv")["n_clusters"] == 1


def test_settings_are_those_of_python(shell, csv, draws):
    how = pt.search.Greedy(max_clusters=2, effort=0.5)
    best = pt.estimate(draws, loss=pt.losses.VI(0.4), search=how, rng=1)
    words = ("--a", 0.4, "--max-clusters", 2, "--effort", 0.5, "--seed", 1, "--n-jobs", 1)
    answer = shell.json("estimate", csv, *words, "--time-limit", 600)
    assert (answer["loss"], answer["expected_loss"]) == ("VI(a=0.4)", best.expected_loss)
    assert answer["n_clusters"] <= 2


def test_a_number_of_clusters_is_exact_and_a_weight_may_follow_from_it(shell, csv, draws):
    words = ("--n-clusters", 4, "--seed", 1, "--n-jobs", 1)
    for more, loss in (((), "vi"), (("--a", "auto"), pt.losses.VI(a=None))):
        best = pt.estimate(draws, loss=loss, n_clusters=4, rng=1)
        answer = shell.json("estimate", csv, *words, *more)
        assert answer["n_clusters"] == 4
        assert (answer["loss"], answer["expected_loss"]) == (best.loss_name, best.expected_loss)


def test_settings_of_nmf_are_those_of_python(shell, csv, draws, tmp_path):
    how = pt.search.NMF("ls", ranks=(2, 4, 5, 6), n_init=3, polish=True)
    best = pt.estimate(draws, search=how, rng=1)
    words = ("--search", "nmf-ls", "--ranks", "2,4-6", "--n-init", 3, "--polish", "--seed", 1)
    answer = shell.json("estimate", csv, *words, "--save", tmp_path / "best.npz", "--n-jobs", 1)
    assert shell.err == f"The whole estimate written to {tmp_path / 'best.npz'}\n"
    assert labels_of(answer) == best.labels.tolist()
    path = pt.Estimate.load(tmp_path / "best.npz").path
    assert [step.rank for step in path] == [2, 4, 5, 6]
    assert all(step.restart_objectives.size == 3 for step in path)


def test_compare_with_a_truth(shell, csv, tmp_path, truth):
    for name, values in (("row.csv", truth[None, :]), ("column.csv", truth[:, None])):
        np.savetxt(tmp_path / name, values, fmt="%d", delimiter=",")
        rows = shell.json("compare", csv, "--truth", tmp_path / name, "--methods", "maxpear")
        assert rows[0]["AR"] == 1.0
    out = shell("compare", csv, "--methods", "minvi,medv")
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["minvi", "medv"]
    out = shell("compare", csv, "--methods", "minvi", "--format", "csv")
    assert out.startswith("method,K,binder")


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "json", "txt"])
def test_similarity_in_every_format(shell, csv, tmp_path, draws, suffix):
    path = tmp_path / f"psm.{suffix}"
    shell("similarity", csv, "-o", path)
    assert shell.err == f"The similarity written to {path}\n"
    if suffix in ("npy", "npz"):
        found = np.load(path) if suffix == "npy" else np.load(path)["similarity"]
    elif suffix == "json":
        found = np.array(json.loads(path.read_text())["similarity"])
    else:
        found = pd.read_csv(path, sep="," if suffix == "csv" else r"\s+", index_col=0).to_numpy()
    wanted = pt.posterior_similarity(draws).to_dense()
    np.testing.assert_allclose(found, wanted, atol=1e-12 if suffix != "txt" else 6e-4)
    if suffix in ("json", "txt"):
        return
    words = ("estimate", path, "--similarity", "--loss", "binder")
    best = pt.estimate(draws, loss="binder", search="average")
    assert shell.json(*words)["expected_loss"] <= best.expected_loss + 1e-9
    assert shell.json(*words, "--a", 1.2)["loss"] == "Binder(a=1.2)"
    shell("compare", path, "--similarity", "--methods", "minvi")
    shell.refused("estimate", path, "--similarity", "--loss", "vi")


def test_info_says_what_is_there_and_what_was_assumed(shell, csv, draws):
    out = shell("info", csv)
    assert re.search("^items +60$", out, re.M)
    assert re.search("^draws +400$", out, re.M)
    assert "assumed" in out
    assert "header" in out
    about = shell.json("info", csv, "--burn", 100, "--thin", 3)
    assert about["draws"] == 100
    assert sum(about["clusters"].values()) == pytest.approx(1)
    out = shell("info", csv, "--format", "csv")
    assert f"distinct partitions,{draws.unique().n_draws}" in out


def test_reading_options_reach_the_reader(shell, tmp_path):
    path = tmp_path / "items.tsv"
    path.write_text("name\td1\td2\nann\t1\t1\nbob\t2\t1\ncid\t2\t2\n")
    about = shell.json("info", path, "--orient", "items", "--index", "name")
    assert (about["items"], about["draws"]) == (3, 2)
    assert about["item names"] == ["ann", "bob", "cid"]
    path.write_text("0\t1\n0\t0\n1\t1\n")
    assert shell.json("info", path, "--no-header", "--no-index")["draws"] == 3
    assert shell.json("info", path, "--header")["draws"] == 2


def test_certify_judges_a_partition_in_a_file(shell, csv, draws, tmp_path):
    best = pt.estimate(draws, loss="binder", rng=0)
    best.to_frame().to_csv(tmp_path / "best.csv")
    out = shell("certify", csv, "--labels", tmp_path / "best.csv")
    assert out.endswith("no partition is better\n")
    proof = pt.certify(best.labels, draws)
    answer = shell.json("certify", csv, "--labels", tmp_path / "best.csv")
    assert answer["lower_bound"] == pytest.approx(proof.lower_bound)
    (tmp_path / "one.csv").write_text("\n".join(["0"] * draws.n_items))
    out = shell("certify", csv, "--labels", tmp_path / "one.csv", "--time-limit", 5)
    assert "another is better by at most" in out
    out = shell("certify", csv, "--loss", "binder", "--seed", 0, "--format", "csv")
    assert out.splitlines()[0].startswith("expected_loss,lower_bound")
    assert ",True," in out


def test_a_summary_of_how_sure(shell, csv, saved, draws):
    out = shell("uncertainty", csv, "--estimate", saved)
    for words in (
        "Estimate(4 clusters of 60 items", "Monte Carlo error: LossError(vi 1.15651 ±",
        "CredibleBall(0.95 of the posterior within vi", "upper_vertical",
        "posterior of the number of clusters", "the items least sure of their place",
    ):  # fmt: skip
        assert words in out
    answer = shell.json("uncertainty", csv, "--estimate", saved)
    best = pt.Estimate.load(saved)
    ball, items = pt.credible_ball(best, draws), pt.item_uncertainty(best, draws)
    assert answer["ball"][0]["distance"] == ball.radius
    assert answer["ball"][0]["item3"] == ball.horizontal.labels[0, 3]
    assert [row["entropy"] for row in answer["items"]] == items["entropy"].tolist()
    assert answer["error"][0]["error"] == pt.loss_error(best, draws).error
    assert len(answer["clusters"]) == best.n_clusters
    out = shell("uncertainty", csv, "--method", "minvi", "--format", "csv")
    assert out.splitlines()[1].startswith("item0,")


def test_the_p_value_of_a_partition_in_a_file(shell, csv, saved, draws, tmp_path):
    (tmp_path / "one.csv").write_text("\n".join(["0"] * draws.n_items))
    words = ("uncertainty", csv, "--estimate", saved, "--labels", tmp_path / "one.csv")
    ball = pt.credible_ball(pt.Estimate.load(saved), draws)
    p_value = ball.p_value(np.zeros(draws.n_items, int))
    assert shell(*words).startswith(f"p-value {p_value:.3g}, variation of information")
    assert shell.json(*words)["p_value"] == p_value
    assert str(p_value) in shell(*words, "--format", "csv")


@pytest.mark.parametrize("table", TABLES)
def test_every_table_in_every_format(shell, csv, saved, table):
    words = ("uncertainty", csv, "--table", table, "--seed", 0, "--n-modes", 2)
    words += ("--estimate", saved)
    rows = shell.json(*words)
    frame = pd.read_csv(io.StringIO(shell(*words, "--format", "csv")))
    assert len(rows) == len(frame) > 0
    assert [*rows[0]] == [*frame]
    assert len(shell(*words).splitlines()) == len(rows) + 1


def test_modes_carry_their_partitions(shell, csv, draws):
    words = ("uncertainty", csv, "--table", "modes", "--n-modes", 2, "--seed", 3)
    frame = pd.read_csv(io.StringIO(shell(*words, "--format", "csv")), index_col="mode")
    modes = pt.summarize_modes(draws, n_modes=2, rng=3)
    assert frame["weight"].tolist() == modes.weights.tolist()
    assert np.array_equal(frame.filter(like="item").to_numpy(), modes.labels)


def test_diagnose_says_it_plainly(shell, csv, saved, draws):
    out = shell("diagnose", csv, "--n-chains", 2)
    assert out.startswith("Nothing speaks against these draws.")
    assert "vi to a central draw" in out
    words = ("diagnose", csv, "--n-chains", 2)
    assert len(shell(*words, "--burn", 50, "--thin", 2, "--trace").splitlines()) == 1 + 150
    out = shell(*words, "--estimate", saved, "--loss", "binder", "--format", "csv")
    frame = pd.read_csv(io.StringIO(out), index_col="quantity")
    wanted = pt.expected_loss(pt.Estimate.load(saved).labels, draws, loss="binder")
    assert frame.loc["binder to the estimate", "mean"] == pytest.approx(wanted)


def test_chains_that_disagree(shell, tmp_path):
    labels = np.repeat([[0, 0, 1, 1], [0, 1, 2, 2]], 100, axis=0)
    pt.Draws(labels, chains=np.repeat([0, 1], 100)).save(tmp_path / "stuck.npz")
    answer = shell.json("diagnose", tmp_path / "stuck.npz", "--n-pairs", 1)
    assert (answer["trusted"], answer["gap"]["difference"]) == (False, 1.0)
    assert [row["quantity"] for row in answer["quantities"]][:2] == ["K", "vi to a central draw"]
    assert answer["quantities"][0]["rhat"] == "inf"
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        out = shell("estimate", tmp_path / "stuck.npz", "--format", "csv", "--quiet")
    assert shell.err.startswith("partita: warning: The chains disagree on the number of clusters")
    assert shell.err.count("\n") == 1
    assert out.startswith("item,cluster")


def test_a_seed_that_is_drawn_is_a_number_that_every_reader_of_json_keeps(shell, csv):
    seed = shell.json("estimate", csv, "--search", "draws")["seed"]
    assert seed == int(float(seed)) < 2**53


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, shell):
    assert shell(command, "--help").startswith(f"usage: partita {command}")


def test_version_and_help_load_nothing_heavy():
    code = (
        "import sys; from partita.cli import main\n"
        "assert main(['--help']) == 0 and main(['--version']) == 0\n"
        "heavy = {'numpy', 'pandas', 'scipy', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"partita {pt.__version__}\n")


def test_parameters_equal_python(shell, csv, saved, tmp_path):
    rng = np.random.default_rng(0)
    draws = pt.read_draws(csv)
    mu = rng.normal(size=(draws.n_draws, int(draws.codes.max()), 2))
    np.savez(tmp_path / "params.npz", mu=mu)
    words = ("parameters", csv, "--estimate", saved, "--params", tmp_path / "params.npz")
    words += ("--first-code", 1)  # the file has the draws from 1 on
    found = shell.json(*words, "--matching", "items", "--prob", 0.9)
    best = pt.Estimate.load(saved)
    how = {"method": "items", "first_code": 1}
    wanted = pt.cluster_parameters(best, draws, {"mu": mu}, **how).summary(0.9)
    assert [(row["parameter"], row["cluster"]) for row in found] == list(wanted.index)
    np.testing.assert_allclose([row["hdi_low"] for row in found], wanted["hdi_low"])
    page, figure = tmp_path / "page.html", tmp_path / "forest.png"
    shell("plot", "parameters", *words[1:], "--matching", "items", "-o", figure)
    assert figure.stat().st_size > 5_000
    shell("report", *words[1:], "--matching", "items", "--no-comparison", "-o", page)
    text = page.read_text(encoding="utf-8")
    assert "What the clusters are like" in text
    assert "mu[1]" in text


def test_run_says_what_the_clusters_are_like(shell, tmp_path):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-5, 1, 30), rng.normal(5, 1, 30)])
    pd.DataFrame({"height": x}).to_csv(tmp_path / "data.csv", index=False)
    words = ("run", tmp_path / "data.csv", "--n-draws", 200, "--n-burn", 200, "--seed", 0)
    out = shell(*words)
    lines = out[out.index("cluster means") :].splitlines()
    assert -6 < float(lines[1].removeprefix("  0: height ")) < -4
    assert 4 < float(lines[2].removeprefix("  1: height ")) < 6
    table = shell.json(*words)["parameters"]
    assert table[0]["parameter"] == "mean[height]"
    assert table[0]["hdi_low"] < table[0]["mean"] < table[0]["hdi_high"]
