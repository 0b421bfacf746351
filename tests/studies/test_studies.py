import re
from dataclasses import replace

import numpy as np
import pytest

from partita.cli import main
from partita.studies import Crabs, Galaxy, Mixing, Readings, Scaling, Soft, paper_table
from partita.studies.readings import every_reading


def test_soft_is_as_the_paper_describes(tmp_path):
    found = Soft().run(tmp_path)
    assert "3 of 3 conventional methods choose K = 2" in found.text
    shared = re.search(r"with (\d+) and (\d+) other items", found.text)
    assert all(int(count) <= 1 for count in shared.groups())
    assert found.tables["binder"]["expected Binder loss"].idxmin() == 2
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
    assert list(found.tables["tried"].index) == ["as printed"]
    ceilings = found.tables["ceilings"]
    assert np.all(np.diff(ceilings.distance) >= 0)


def test_a_chain_that_moves_finds_four_clusters(tmp_path):
    found = Mixing(replicates=2, n_draws=100, n_burn=100).run(tmp_path)
    table = found.tables["scores"]
    assert len(table) == 4 * 4
    assert (table.xs("all moves", level="chain").missed == 0).all()
    assert table.loc[("TTT", "all moves"), "AR"] > 0.95
    # Read off the paper: MinBinder, MaxPear, MinVI and Medv at a-TTT.
    wanted = np.mean([0.925, 0.925, 0.925, 0.919])
    assert table.loc["TTT", "paper's AR"].iloc[0] == pytest.approx(wanted)


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
