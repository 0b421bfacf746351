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


WORDS = ["--draws", "150", "--burn", "100", "--seed", "1", "--names", "who", "--jobs", "1"]


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
    few = ["--draws", "12", "--burn", "0", "--seed", "1", "--names", "who", "--jobs", "1"]
    words = ["--chains", "2", "--save-draws", str(tmp_path / "d.npz"), "--format", "json"]
    assert main(["run", str(path), *few, *words]) == 0
    said = capsys.readouterr()
    labels = [item["cluster"] for item in json.loads(said.out)["items"]]
    found = pt.diagnose(pt.read_draws(tmp_path / "d.npz"), labels)
    assert not found.trusted
    assert f"partita: warning: {found.verdict}" in said.err
    assert said.err.count("  - ") >= 1


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ([], "not numbers (who)"),
        (["--columns", "a,c"], "no column 'c'"),
        (["--columns", "a", "--concentration", "x"], "`--concentration` must be"),
    ],
)
def test_refusals(table, tmp_path, capsys, words, match):
    assert main(["sample", str(table[0]), "-o", str(tmp_path / "o.npz"), *words]) == 2
    assert match in capsys.readouterr().err


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"header": False, "index": False}, "taken as an item"),
        ({"header": True, "index": True}, "taken as an index"),
        ({"header": True, "index": False}, ""),
    ],
)
def test_every_item_is_read_and_no_index_is_data(tmp_path, capsys, mark, words, said):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(8, 2)), columns=["a", "b"])
    frame.to_csv(tmp_path / "data.csv", sep=mark, **words)
    call = ["sample", str(tmp_path / "data.csv"), "-o", str(tmp_path / "o.npz")]
    assert main([*call, "--draws", "20", "--burn", "5", "--seed", "1", "--jobs", "1"]) == 0
    found = pt.read_draws(tmp_path / "o.npz")
    again = pt.sample_mixture(frame.to_numpy(), n_draws=20, n_burn=5, n_chains=4, rng=1)
    assert (found.labels == again.labels).all()
    assert found.n_items == 8
    told = capsys.readouterr().err
    assert said in told if said else "taken as" not in told


def test_a_file_that_is_not_there(tmp_path, capsys):
    assert main(["sample", str(tmp_path / "no.csv"), "-o", "o.npz"]) == 2
    assert "cannot be read" in capsys.readouterr().err
