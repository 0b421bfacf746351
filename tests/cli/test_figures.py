"""``partita plot`` and ``partita report``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import partita as pt
from partita import plots

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
    np.savez(where / "params.npz", mu=np.zeros((60, draws.n_clusters.max())))
    return where


@pytest.mark.parametrize("kind", sorted(plots.NAMES))
def test_plot(shell, folder, kind):
    out = folder / f"{kind}.png"
    words = ["plot", kind, folder / "draws.csv", "-o", out, "--seed", 0, "--dpi", 50]
    if kind not in ("comparison", "modes", "chips", "sensitivity"):
        words += ["--estimate", folder / "best.npz"]
    if kind in ("scatter", "ball"):
        words += ["--data", folder / "data.csv"]
    if kind == "parameters":
        words += ["--params", folder / "params.npz"]
    if kind in ("similarity", "comparison", "alluvial"):
        words += ["--truth", folder / "truth.csv"]
    if kind == "memberships-by-rank":
        words += ["--ranks", "2-3"]
    shell(*words)
    assert out.read_bytes().startswith(HEADS["png"])


@pytest.mark.parametrize("suffix", ["svg", "pdf"])
def test_a_figure_is_the_same_file_again(shell, folder, suffix):
    files = []
    for name in ("first", "second"):
        out = folder / f"{name}.{suffix}"
        shell("plot", "similarity", folder / "draws.csv", "-o", out, "--seed", 0)
        files.append(out.read_bytes())
    assert files[0] == files[1]
    assert files[0].startswith(HEADS[suffix])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("plot similarity DRAWS -o x.gif", "`output` must end in .png, .svg or .pdf"),
        ("plot scatter DRAWS -o x.png", "`data` must name"),
        ("plot memberships-by-rank DRAWS --ranks a -o x.png", "argument --ranks: must be"),
        ("plot nothing DRAWS -o x.png", "It must be one of"),
        ("plot similarity DRAWS -o no/where.png", "there is no directory"),
        ("plot similarity DRAWS -o x.png --dpi 0", "`dpi` must lie in"),
        ("plot reconstruction DRAWS -o x.png --rank 0", "`rank` must be"),
        ("plot scatter DRAWS -o x.png --prior none", "It must be one of"),
        ("report DRAWS --data nowhere.csv", "cannot be read"),
        ("report DRAWS --data short.csv", "must have a row for each of the 24"),
        ("report DRAWS --names a", "`names` and `columns` are of `data`"),
        ("report DRAWS -o no/where.html", "there is no directory"),
    ],
)
def test_mistakes(shell, folder, monkeypatch, words, said):
    monkeypatch.chdir(folder)
    Path("short.csv").write_text("a,b\n1,2\n3,4\n")
    assert said in shell.refused(*words.replace("DRAWS", "draws.csv").split())


def test_report(shell, folder):
    table = "name,a\n" + "".join(f"crab {i},{i}.5\n" for i in range(24))
    (folder / "named.csv").write_text(table)
    out = folder / "report.html"
    words = ["report", folder / "draws.csv", "--data", folder / "named.csv", "--names", "name"]
    words += ["--truth", folder / "truth.csv", "--no-comparison", "-o", out]
    shell(*words)
    assert shell.err == f"The report is {out}\n"
    text = out.read_text(encoding="utf-8")
    assert "partita report " in text
    assert "--seed " in text  # though none was given
    assert '"crab 23"' in text


def test_the_density_says_its_prior(shell, tmp_path):
    X = np.r_[np.zeros(12), np.full(12, 5.0)] + np.random.default_rng(0).normal(size=24)
    np.savetxt(tmp_path / "x.csv", X, header="x", comments="")
    draws = pt.sample_mixture(X, n_draws=30, n_burn=10, prior="paper", df=3, rng=0)
    out = tmp_path / "report.html"
    words = ["report", tmp_path / "draws.npz", "--data", tmp_path / "x.csv"]
    words += ["--no-comparison", "--method", "minvi", "-o", out]
    for one, more, said in (
        (draws, (), "under prior=paper, df=3.0."),
        (replace(draws, about={}), (), "under prior=independent (assumed)."),
        (replace(draws, about={}), ("--covariance", "diagonal"), "covariance=diagonal (assumed)."),
    ):
        one.save(tmp_path / "draws.npz")
        shell(*words, *more)
        assert said in out.read_text(encoding="utf-8")
