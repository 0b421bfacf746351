import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from partita.cli import main
from partita.studies import Crabs, Galaxy, Mixing, Readings, Scaling, Soft, Solvers, paper_table
from partita.studies.ledger import Ledger
from partita.studies.mixing import shares_needed
from partita.studies.readings import every_reading
from partita.studies.solvers import COLUMNS


def test_soft_is_as_the_paper_describes(tmp_path):
    found = Soft().run(tmp_path)
    assert "3 of 3 conventional methods choose K = 2" in found.text
    shared = re.search(r"with (\d+) and (\d+) other items", found.text)
    assert all(int(count) <= 1 for count in shared.groups())
    loss = found.tables["binder"]["expected Binder loss"]
    assert loss.idxmin() == 2
    assert loss[4] < 1.2 * loss[2]
    two = found.tables["memberships"][["K2_1", "K2_2"]].max(axis=1)
    assert two[31:36].max() < 0.75 < two[1:30].min()
    found.write(tmp_path)
    assert {"data.png", "heat.png", "memberships.png"} <= {p.name for p in tmp_path.iterdir()}


def test_galaxy_without_the_papers_draws(tmp_path):
    found = Galaxy(
        n_draws=500, n_burn=200, ranks=(2, 3), n_init=1, draws=tmp_path / "absent.npz"
    ).run(tmp_path)
    table = found.tables["solutions_our"]
    assert table.loc["minvi", "clusters"] == "1-7 / 8-79 / 80-82"
    assert set(paper_table("galaxy").method) <= {name.split("/")[0] for name in table.index}
    found.write(tmp_path)
    assert (tmp_path / "memberships_our.png").exists()


def test_scaling_measures_every_cell(tmp_path):
    study = Scaling(sizes=(30, 40), ranks=(2, 3), n_init=1, repeats=1)
    found = study.run(tmp_path)
    assert len(found.tables["seconds"]) == 4 * 2 * 2
    found.write(tmp_path)


def test_readings_begin_with_what_is_printed(tmp_path):
    assert sum(reading == next(every_reading()) for reading in every_reading()) >= 1
    study = Readings(n_ceiling=2, n_tried=1, replicates=2, n_draws=60, n_burn=40)
    found = study.run(tmp_path)
    assert list(found.tables["tried"].index) == ["printed"]
    ceilings = found.tables["ceilings"]
    assert np.all(np.diff(ceilings.distance) >= 0)


def test_a_chain_that_moves_finds_four_clusters(tmp_path):
    found = Mixing(replicates=2, n_draws=100, n_burn=100).run(tmp_path)
    table = found.tables["scores"]
    assert len(table) == 4 * 4
    assert (table.xs("all moves", level="chain").missed == 0).all()
    assert set(found.tables["needed"].index) <= set(table.index.get_level_values(0))
    assert table.loc[("TTT", "all moves"), "AR"] > 0.95
    # Read off the paper: MinBinder, MaxPear, MinVI and Medv at a-TTT.
    wanted = np.mean([0.925, 0.925, 0.925, 0.919])
    assert table.loc["TTT", "paper's AR"].iloc[0] == pytest.approx(wanted)


def test_the_share_of_chains_that_missed_foretells_the_other_scores():
    """At the share that gives the paper's AR the paper's own Rand and VI must come out."""
    # The paper's conventional methods at a-TTT; with a quarter missed, what the others must be.
    rand, ar, vi = 0.96625, 0.9235, 0.17075
    missed = {"Rand": 0.8, "AR": 0.7, "VI": 0.6}
    full = {m: (x - 0.25 * missed[m]) / 0.75 for m, x in (("Rand", rand), ("AR", ar), ("VI", vi))}
    chains = pd.DataFrame(
        [{"configuration": "TTT", "missed": True, **missed}]
        + 2 * [{"configuration": "TTT", "missed": False, **full}]
    )
    row = shares_needed(chains).loc["TTT"]
    assert row["share"] == pytest.approx(0.25, abs=1e-9)
    assert row[["z Rand", "z VI"]].to_numpy() == pytest.approx([0.0, 0.0], abs=1e-9)


def test_solvers_on_the_same_draws(tmp_path):
    study = Solvers(
        replicates=2, names=("TFT",), models=("nmf-offset",), n_draws=60, n_burn=40, ranks=(2, 4),
        n_init=2,
    )  # fmt: skip
    found = study.run(tmp_path)
    objectives = found.tables["objectives"].loc[("TFT", "nmf-offset")]
    assert objectives["ranks"] == 4
    assert objectives["mu lower"] == 0
    row = found.tables["scores"].loc[("TFT", "nmf-offset", "all", "pear")]
    assert row["sets"] == 2
    assert row["loss fast"] <= row["loss mu"] + 1e-9
    assert row["AR mu - fast"] == pytest.approx(row["AR mu"] - row["AR fast"])
    assert (row["paper's AR"], row["paper's MaxPear AR"]) == (0.701, 0.967)  # read off the paper
    rows = Ledger.peek(tmp_path / "replicates.csv").rows.values()
    ar = np.array([values[COLUMNS.index("mu/pear:AR")] for values in rows])
    error = np.hypot(ar.std(ddof=1) / np.sqrt(2), 0.011)
    assert row["z AR mu"] == pytest.approx((ar.mean() - 0.701) / error)
    again = study.run(tmp_path, resume=True)
    assert again.text == found.text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["soft", "--replicates", "3"], "--replicates must go with simulation, "),
        (["crabs", "--solver", "mu"], "--solver must go with simulation; crabs has no such"),
        (["simulation", "--models", "nmf-kl"], "--models must go with solvers; "),
        (["simulation", "--configurations", "QQQ"], "--configurations must be one of 'TTT'"),
        (["mixing", "--configurations", "FTT"], "--configurations must be one of 'TTT'"),
        (["mixing", "--reading", "scale=big"], "--reading must be 'printed' or some of scale=X"),
    ],
)
def test_an_option_that_a_study_does_not_have_is_refused(capsys, tmp_path, words, said):
    assert main(["reproduce", *words, "-o", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_crabs_under_the_printed_prior_finds_four(tmp_path):
    found = replace(Crabs().quick(), n_draws=3_000).run(tmp_path)
    scores = found.tables["scores"]
    assert scores.loc[("paper", "millimetres", "minvi"), "K"] == 4
    assert scores.loc[("paper", "millimetres", "minvi"), "AR"] > 0.79
    found.write(tmp_path)


def test_shell(tmp_path, capsys):
    folder, pages = tmp_path / "out", tmp_path / "pages"
    words = ["reproduce", "soft", "--quick", "--n-jobs", "1", "-o", str(folder)]
    assert main([*words, "--pages", str(pages)]) == 0
    assert sorted(p.suffix for p in (folder / "soft").iterdir()) == [".csv", ".csv"]
    assert (pages / "soft" / "heat.png").exists()
    said = capsys.readouterr()
    assert said.out.startswith("# Soft clustering")
    assert "soft.md" in said.err
    assert main(["reproduce", "nothing"]) == 2
    assert "'simulation'" in capsys.readouterr().err
