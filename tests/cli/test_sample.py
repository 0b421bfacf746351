"""``partita sample`` and ``partita run``."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import partita as pt
from partita.cli import main


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    frame["a"] += 9.0 * (np.arange(30) >= 15)
    frame["who"] = [f"w{i}" for i in range(30)]
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv", frame


WORDS = ["--n-draws", "150", "--n-burn", "100", "--seed", "1", "--names", "who", "--n-jobs", "1"]


def test_sample_equals_python(table, tmp_path, capsys):
    path, frame = table
    out = tmp_path / "draws.npz"
    code = main(["sample", str(path), "-o", str(out), "--prior", "conjugate", "--df", "5", *WORDS])
    assert (code, "600 draws of 30 items" in capsys.readouterr().err) == (0, True)
    wanted = pt.sample_mixture(
        frame.set_index("who"), n_draws=150, n_burn=100, n_chains=4, rng=1, prior="conjugate", df=5
    )
    assert pt.read_draws(out) == wanted


def test_run_goes_from_data_to_a_partition(table, tmp_path, capsys):
    path, _ = table
    words = ["--save-draws", str(tmp_path / "d.npz"), "--format", "json", "--concentration", "1"]
    assert main(["run", str(path), *WORDS, *words]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["n_clusters"] == 2
    assert answer["items"][0]["item"] == "w0"
    draws = pt.read_draws(tmp_path / "d.npz")
    assert set(draws.traces["concentration"]) == {1.0}
    assert draws.n_chains == 4
    assert "halves" not in str(pt.diagnose(draws))  # of a single chain


def test_run_says_what_its_report_would(table, tmp_path, capsys):
    path, _ = table
    few = ["--n-draws", "12", "--n-burn", "0", "--seed", "1", "--names", "who", "--n-jobs", "1"]
    words = ["--n-chains", "2", "--save-draws", str(tmp_path / "d.npz"), "--format", "json"]
    assert main(["run", str(path), *few, *words]) == 0
    said = capsys.readouterr()
    labels = [item["cluster"] for item in json.loads(said.out)["items"]]
    found = pt.diagnose(pt.read_draws(tmp_path / "d.npz"), labels)
    assert not found.trusted
    assert f"partita: warning: {found.verdict}" in said.err
    assert said.err.count("  - ") >= 1


def test_run_goes_on_with_chains_of_unequal_length(table, tmp_path, capsys, monkeypatch):
    """What Ctrl-C leaves while chains are sampled: of four, one whole and a part of another."""

    whole = pt.sample_mixture

    def interrupted(*args, **words):
        return whole(*args, **words).take(slice(0, 190))

    monkeypatch.setattr("partita.mixture.sample_mixture", interrupted)
    path, page = table[0], tmp_path / "page.html"
    assert (
        main(
            ["run", str(path), *WORDS, "--report", str(page), "--format", "json", "--no-comparison"]
        )
        == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert answer["n_clusters"] == 2
    first = answer["parameters"][0]
    assert (first["parameter"], first["matched"]) == ("mean[a]", 1.0)
    assert first["hdi_low"] < 0 < first["hdi_high"]
    text = page.read_text(encoding="utf-8")
    assert "partita run " in text
    assert "What the clusters are like" in text


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ([], "not numbers (who)"),
        (["--columns", "a,c"], "no column 'c'"),
        (["--columns", "a", "--concentration", "x"], "argument --concentration: must be"),
    ],
)
def test_refusals(table, tmp_path, capsys, words, match):
    assert main(["sample", str(table[0]), "-o", str(tmp_path / "o.npz"), *words]) == 2
    assert match in capsys.readouterr().err
