from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studies import pages, paper, soft
from studies.__main__ import STUDIES, main
from studies.crabs import Crabs
from studies.galaxy import Galaxy
from studies.ledger import Ledger
from studies.scaling import Scaling
from studies.simulation import Mixing, Readings, Simulation
from studies.soft import Soft

ROOT = Path(__file__).parents[2]
SMALL = {
    "simulation": Simulation(
        replicates=2, names=("TTT", "FFF"), n_draws=60, n_burn=40, ranks=(2, 4), n_init=1
    ),
    "mixing": Mixing(replicates=2, names=("TTT",), n_draws=60, n_burn=40),
    "readings": Readings(replicates=2, names=("TFF",), n_draws=60, n_burn=40),
    "soft": Soft(replicates=1, n_draws=300, n_burn=200),
    "scaling": Scaling(replicates=1, sizes=(30, 40), ranks=(2, 3)),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    for name, study in SMALL.items():
        study.run(folder / name)
    return folder


def test_every_study_has_a_page_from_its_ledger(folder, tmp_path):
    whole = pages.write(pages.read(folder), list(STUDIES.values()), tmp_path)
    for name in SMALL:
        page = (tmp_path / "results" / name / f"{name}.md").read_text()
        assert "## What made the numbers" in page
        assert "has changed since" not in page
        assert "{" not in page.replace("{1", "")
    text = whole.read_text()
    assert "not run of 50" not in text
    assert "| Fig. 6: NMF-ls | 1-7 / 8-76 / 77-82 | not run" in text
    assert (tmp_path / "results" / "soft" / "heat.png").stat().st_size > 1000


def test_a_run_on_two_processes_and_in_two_parts_is_the_same(folder, tmp_path):
    study = SMALL["simulation"]
    replace(study, names=("FFF",)).run(tmp_path)
    study.run(tmp_path, n_jobs=2, resume=True)
    wanted = folder / "simulation" / "replicates.csv"
    assert (tmp_path / "replicates.csv").read_bytes() == wanted.read_bytes()


def test_a_page_says_when_the_study_has_changed(folder, tmp_path):
    ledgers = pages.read(folder)
    old = [one.replace("study ", "study 0") for one in ledgers["scaling"].made]
    ledgers = {"scaling": replace(ledgers["scaling"], made=old)}
    pages.write(ledgers, [Scaling], tmp_path)
    assert "has changed since" in (tmp_path / "results" / "scaling" / "scaling.md").read_text()


def test_at_a_every_method_is_near_the_ceiling(folder):
    scores = paper.scores(Ledger.read(folder / "simulation" / "replicates.csv"))
    assert scores.loc["TTT"].xs("AR", level=1, axis=1).mean().min() > 0.95


def test_the_first_page_is_that_of_the_ledgers_in_the_repository():
    """Nothing on it that the ledgers do not show."""
    text = pages.first(pages.read(ROOT / "results"), list(STUDIES))
    assert text == (ROOT / "docs" / "reproducing.md").read_text(encoding="utf-8")


def test_soft_is_as_the_paper_describes():
    row = Soft().work("chosen data", 0)
    assert soft.holds(row) == (True, True)
    assert not soft.holds({**row, "as said": 2.0})[0]
    assert row["spread at 4"] > 0.1  # not identified


def test_galaxy_without_the_papers_draws(tmp_path):
    study = Galaxy(draws=tmp_path / "absent.npz")
    assert "draws=ours" in study.asked
    row = study.work("fast", 0)
    assert row["minvi"] == "1-7 / 8-79 / 80-82"
    assert 0 < row["K3: right cluster of 77"] < 1


def test_settings_that_make_another_run_have_another_folder():
    assert Simulation().slug == "simulation"
    assert Simulation(moves="gibbs", start="one").slug == "simulation-gibbs-one"
    assert Mixing(reading="scale=0.65").slug == "mixing-scale=0.65"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["soft", "--solver", "mu"], "`solver` is no setting of soft"),
        (["simulation", "--configurations", "QQQ"], "`configurations` must be among TTT, "),
        (["mixing", "--reading", "scale=big"], "`reading` must be 'printed' or some of scale=X"),
        (["soft", "--replicates", "0"], "`replicates` must be at least 1; got 0"),
        (["nothing"], "`name` must be one of simulation, "),
        (["soft", "--scheduler", "nowhere", "--device", "cuda"], "`device` is no setting of soft"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(capsys, tmp_path, words, said):
    assert main([*words, "-o", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_crabs_under_the_printed_prior_finds_four():
    row = Crabs(n_draws=3_000, n_burn=2_000).work("paper/millimetres", 0)
    assert row["minvi:K"] == 4
    assert row["minvi:AR"] > 0.79


@pytest.mark.slow
def test_a_device_gives_the_rows_of_the_host(tmp_path):
    """R's updates on 400 items, in float64."""
    pytest.importorskip("torch")
    study = replace(SMALL["simulation"], names=("TTT",), solver="mu")
    host, device = study.work("TTT", 0), replace(study, device="torch:cpu").work("TTT", 0)
    assert host == device


def test_chains_of_one_kind_differ_and_repeat():
    study = SMALL["mixing"]
    one, again = (study.work("TTT/Gibbs from one cluster", 0) for _ in range(2))
    assert one == again
    assert study.work("TTT/all moves", 0)["found"] == 4
    assert np.isclose(study.work("TTT/all moves", 0)["oracle:AR"], one["oracle:AR"])
