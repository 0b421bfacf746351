"""``partita plot`` and ``partita report``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import partita as pt
from partita import plots
from partita.cli import main

HEADS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("figures")
    draws = pt.datasets.simulate_draws(24, 60, n_clusters=3, noise=0.2, rng=0)
    np.savetxt(where / "draws.csv", draws.labels, fmt="%d", delimiter=",")
    X = np.random.default_rng(0).normal(size=(24, 2))
    np.savetxt(where / "data.csv", X, delimiter=",", header="a,b", comments="")
    np.savetxt(where / "truth.csv", np.arange(24) // 8, fmt="%d")
    pt.estimate(draws, search="nmf-kl", rng=0).save(where / "best.npz")
    return where


@pytest.mark.parametrize("kind", sorted(plots.NAMES))
def test_plot(folder, kind):
    out = folder / f"{kind}.png"
    words = ["plot", kind, str(folder / "draws.csv"), "-o", str(out), "--seed", "0", "--dpi", "50"]
    if kind != "comparison":
        words += ["--estimate", str(folder / "best.npz")]
    if kind in ("scatter", "ball"):
        words += ["--data", str(folder / "data.csv")]
    if kind in ("similarity", "comparison"):
        words += ["--truth", str(folder / "truth.csv")]
    assert main(words) == 0
    assert out.read_bytes().startswith(HEADS["png"])


@pytest.mark.parametrize("suffix", HEADS)
def test_plot_formats(folder, suffix):
    out = folder / f"figure.{suffix}"
    assert main(["plot", "n-clusters", str(folder / "draws.csv"), "-o", str(out)]) == 0
    assert out.read_bytes().startswith(HEADS[suffix])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["plot", "similarity", "-o", "x.gif"], "--output must end in .png, .svg or .pdf"),
        (["plot", "scatter", "-o", "x.png"], "--data must name"),
        (["plot", "memberships-by-rank", "--ranks", "a", "-o", "x.png"], "--ranks must be"),
        (["plot", "nothing", "-o", "x.png"], "It must be one of"),
        (["report", "--data", "nowhere.csv", "--no-compare"], "cannot be read"),
        (["report", "--data", "short.csv", "--no-compare"], "must have a row for each of the 24"),
        (["report", "--names", "a"], "`--names` and `--columns` are of `--data`"),
        (["report", "-o", "no/where.html"], "there is no directory"),
        (["plot", "similarity", "-o", "no/where.png"], "there is no directory"),
        (["plot", "similarity", "-o", "x.png", "--dpi", "0"], "`--dpi` must lie in"),
        (["plot", "reconstruction", "-o", "x.png", "--rank", "0"], "`--rank` must be"),
        (["plot", "scatter", "-o", "x.png", "--prior", "none"], "It must be one of"),
    ],
)
def test_mistakes(folder, capsys, monkeypatch, words, complaint):
    monkeypatch.chdir(folder)
    Path("short.csv").write_text("a,b\n1,2\n3,4\n")
    at = 2 if words[0] == "plot" else 1
    words = [*words[:at], "draws.csv", *words[at:]]
    try:
        code = main(words)
    except SystemExit as leaving:
        code = leaving.code
    assert code == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1


def test_report(folder, capsys):
    out = folder / "report.html"
    words = ["report", str(folder / "draws.csv"), "--data", str(folder / "data.csv"), "-o"]
    words += [str(out), "--truth", str(folder / "truth.csv"), "--no-compare", "--seed", "3"]
    assert main(words) == 0
    text = out.read_text(encoding="utf-8")
    assert "partita report " in text
    assert "--seed 3 --burn 0 --thin 1 --prior independent</code>" in text
    assert str(out) in capsys.readouterr().err


def test_run_reports(folder):
    out = folder / "run.html"
    words = ["run", str(folder / "data.csv"), "--draws", "40", "--burn", "10", "--seed", "0"]
    words += ["--report", str(out), "-o", str(folder / "estimate.csv"), "--prior", "conjugate"]
    assert main(words) == 0
    assert "partita run " in out.read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", ["svg", "pdf"])
def test_a_figure_is_the_same_file_again(folder, suffix):
    files = []
    for name in ("first", "second"):
        out = folder / f"{name}.{suffix}"
        words = ["plot", "similarity", str(folder / "draws.csv"), "-o", str(out), "--seed", "0"]
        assert main(words) == 0
        files.append(out.read_bytes())
    assert files[0] == files[1]


def test_report_names_items_by_a_column(folder):
    table = "name,a\n" + "".join(f"crab {i},{i}.5\n" for i in range(24))
    (folder / "named.csv").write_text(table)
    out = folder / "named.html"
    words = ["report", str(folder / "draws.csv"), "--data", str(folder / "named.csv")]
    words += ["--names", "name", "--no-compare", "-o", str(out), "--method", "minvi"]
    assert main(words) == 0
    text = out.read_text(encoding="utf-8")
    assert '"crab 23"' in text
    assert "--seed " in text  # though none was given


def test_the_density_says_its_prior(folder, tmp_path):
    X = np.r_[np.zeros(12), np.full(12, 5.0)] + np.random.default_rng(0).normal(size=24)
    np.savetxt(tmp_path / "x.csv", X, header="x", comments="")
    draws = pt.sample_mixture(X, n_draws=30, n_burn=10, prior="paper", df=3, rng=0)
    draws.save(tmp_path / "draws.npz")
    out = tmp_path / "report.html"
    words = ["report", str(tmp_path / "draws.npz"), "--data", str(tmp_path / "x.csv")]
    words += ["--no-compare", "--method", "minvi", "-o", str(out)]
    assert main(words) == 0
    assert "under prior=paper, df=3.0." in out.read_text(encoding="utf-8")
    unknown = replace(draws, about={})
    unknown.save(tmp_path / "draws.npz")
    assert main(words) == 0
    assert "under prior=independent (assumed)." in out.read_text(encoding="utf-8")
    assert main([*words, "--covariance", "diagonal"]) == 0
    text = out.read_text(encoding="utf-8")
    assert "under prior=independent, covariance=diagonal (assumed)." in text
    ax = plots.scatter(X, draws.labels[0], unknown)
    assert ax.get_title() == "predictive density, under prior=independent (assumed), and clusters"
