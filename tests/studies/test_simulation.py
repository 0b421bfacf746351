import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from partita.studies import Simulation, paper_table
from partita.studies._clock import Clock
from partita.studies.ledger import Ledger
from partita.studies.simulation import COLUMNS
from partita.studies.simulation_reasons import disagreements, under_other_readings
from partita.studies.simulation_report import beside_paper, chosen_clusters, scores_frame

SMALL = Simulation(
    replicates=2, names=("TTT", "FFF"), n_draws=60, n_burn=40, ranks=(2, 4), n_init=1
)


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulation")
    return SMALL.run(folder), folder


def test_every_cell_of_the_paper_is_there_once():
    table = paper_table("simulation")
    assert len(table) == 192
    assert not table.duplicated(["configuration", "method", "measure"]).any()
    # Read off the paper: the first cell, the last, and one that it underlines.
    keyed = table.set_index(["configuration", "method", "measure"])
    assert keyed.loc[("TTT", "nmf-ls", "Rand")].tolist() == [0.967, 0.006]
    assert keyed.loc[("FFF", "medv", "VI")].tolist() == [1.025, 0.018]
    assert keyed.loc[("FTT", "minbinder", "AR")].tolist() == [0.486, 0.007]


def test_a_run_on_two_processes_and_in_two_parts_is_the_same(findings, tmp_path):
    _, folder = findings
    replace(SMALL, names=("FFF",)).run(tmp_path)
    SMALL.run(tmp_path, n_jobs=2, resume=True)
    assert (tmp_path / "replicates.csv").read_bytes() == (folder / "replicates.csv").read_bytes()


def test_the_page_and_tables_are_written(findings, tmp_path):
    found, _ = findings
    page = found.write(tmp_path).read_text()
    assert "## a-TTT" in page
    assert "## h-FFF" in page
    assert "partita reproduce simulation --replicates 2" in page
    for name in ("cells.csv", "clusters.csv", "clusters.png", "data.png"):
        assert (tmp_path / name).stat().st_size > 100
    # At TTT nothing is hard: every method is near the ceiling.
    cells = found.tables["cells"]["mean"]
    assert cells[("TTT", "minvi", "AR")] > 0.95


def test_differences_are_in_combined_standard_errors():
    rng = np.random.default_rng(0)
    rows = {("TTT", i): tuple(rng.random(len(COLUMNS))) for i in range(9)}
    table = beside_paper(scores_frame(COLUMNS, rows))
    at = COLUMNS.index("minvi:VI")
    values = np.array([row[at] for row in rows.values()])
    cell = table.loc[("TTT", "minvi", "VI")]
    se = values.std(ddof=1) / 3
    assert cell["mean"] == pytest.approx(values.mean())
    assert cell["se"] == pytest.approx(se)
    # VI is a distance: below the paper's 0.168 would be better, above is worse.
    wanted = -(values.mean() - 0.168) / np.sqrt(se**2 + 0.023**2 + 0.0005**2 / 3)
    assert cell["z"] == pytest.approx(wanted)


def test_clusters_above_eight_count_as_eight():
    rows = {("TTT", i): tuple(np.full(len(COLUMNS), 7.0 + 3 * i)) for i in range(2)}
    counts = chosen_clusters(scores_frame(COLUMNS, rows))
    assert counts.loc[("TTT", "medv")].to_dict() == {7: 1, 8: 1}


SCRIPT = """
from partita.studies import Simulation
Simulation(replicates=6, names=("TTT",), n_draws=60, n_burn=40, ranks=(2, 4), n_init=1).run(
    {folder!r}, resume=True
)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_killed_and_resumed_is_the_same(tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    subprocess.run([sys.executable, "-c", SCRIPT.format(folder=str(whole))], check=True)
    command = [sys.executable, "-c", SCRIPT.format(folder=str(cut))]
    running = subprocess.Popen(command, start_new_session=True)
    path = cut / "replicates.csv"
    while running.poll() is None and not (path.exists() and path.read_text().count("\n") > 4):
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    kept = path.read_text().count("\n") - 3
    assert 0 < kept < 6, "the run was over before it could be killed"
    subprocess.run(command, check=True)
    assert path.read_bytes() == (whole / "replicates.csv").read_bytes()


def test_seconds_are_beside_the_scores_and_not_in_them(findings):
    found, folder = findings
    seconds = (folder / "seconds.csv").read_text().splitlines()
    assert seconds[2] == "piece,replicate,cpu,wall"
    assert len(seconds) == 3 + 4
    assert all(float(value) > 0 for line in seconds[3:] for value in line.split(",")[2:])
    assert "of processor time for 4 replicates" in found.text


def test_other_settings_have_their_own_folder_and_are_compared(findings, tmp_path):
    _, folder = findings
    assert Simulation().slug == "simulation"
    changed = replace(SMALL, moves="gibbs", start="one", names=("TTT",))
    assert changed.slug == "simulation-gibbs-one"
    shutil.copytree(folder, tmp_path / "simulation")
    changed.run(tmp_path / changed.slug)
    found = SMALL.run(tmp_path / "simulation", resume=True)
    table = found.tables["beside-simulation-gibbs-one"]
    assert set(table.index.get_level_values("configuration")) == {"TTT"}
    cell = table.loc[("TTT", "minvi", "AR")]
    books = [
        Ledger.peek(tmp_path / slug / "replicates.csv") for slug in ("simulation", changed.slug)
    ]
    at = COLUMNS.index("minvi:AR")
    ours, theirs = (np.array([book.rows["TTT", r][at] for r in (0, 1)]) for book in books)
    assert cell["ours"] == pytest.approx(ours.mean())
    assert cell["difference"] == pytest.approx((theirs - ours).mean())
    assert cell["se"] == pytest.approx((theirs - ours).std(ddof=1) / np.sqrt(2))
    assert cell["paper"] == 0.925
    assert "### simulation-gibbs-one" in found.text


def test_a_line_says_how_long_it_will_take(capsys):
    with Clock(20, 100, "replicates", every=0.0) as clock:
        clock.advance("TTT 3")
    assert "partita: 21 of 100 replicates; 0 minutes gone" in capsys.readouterr().err
    assert "10 minutes gone, about 790 left" in clock.line(600.0)


def test_each_cell_that_disagrees_has_the_reason_that_its_numbers_give():
    at = {name: i for i, name in enumerate(COLUMNS)}
    rng = np.random.default_rng(1)

    def row(panel):
        values = np.zeros(len(COLUMNS))
        for cell in paper_table("simulation").itertuples():
            if cell.configuration == panel:
                for name in (name for name in at if name.split(":")[1] == cell.measure):
                    if name.split(":")[0].split("/")[0] == cell.method:
                        values[at[name]] = cell.mean
        values[[at["oracle:Rand"], at["oracle:AR"], at["oracle:VI"]]] = (0.99, 0.98, 0.05)
        return values

    rows = {}
    for r in range(6):
        for panel in ("TTT", "TFT", "FTF", "FTT"):
            rows[panel, r] = row(panel) + 1e-4 * rng.standard_normal(len(COLUMNS))
        rows["TTT", r][at["minvi:AR"]] += 0.06  # where the paper's chains missed clusters
        rows["TFT", r][at["nmf-offset/vi:AR"]] += 0.2  # far behind MaxPear in the paper
        rows["FTF", r][at["oracle:AR"]] = 0.59  # the paper has 0.662
        rows["FTF", r][at["maxpear:AR"]] -= 0.1
        rows["FTT", r][at["minvi:AR"]] += 0.1
    table = beside_paper(scores_frame(COLUMNS, rows))
    shown = ["minvi", "maxpear", "nmf-offset/vi"]
    changed = table.assign(sets=50, z_changed=0.5, z_ours=table.z, reading="")
    further = changed.assign(z_changed=-1.0)
    found = disagreements(table, shown, {"simulation-gibbs": further, "simulation-mu": changed})
    assert found.by[found.reason == "changed"].tolist() == ["simulation-mu"]
    for few_or_far in (changed.assign(sets=49), changed.assign(z_changed=-3.5)):
        told = disagreements(table, shown, {"simulation-mu": few_or_far})
        assert told.reason["FTT", "minvi", "AR"] == "open"
        assert (told.by == "").all()
    assert found.reason.to_dict() == {
        ("FTT", "minvi", "AR"): "changed",
        ("TTT", "minvi", "AR"): "chains",
        ("TFT", "nmf-offset/vi", "AR"): "nmf",
        ("FTF", "maxpear", "AR"): "ceiling",
    }
    other = changed.assign(sets=20, reading="scale=0.6")
    told = disagreements(table, shown, {"simulation-scale=0.6": other.assign(sets=50)})
    assert told.reason["FTT", "minvi", "AR"] == "open"  # other data explain no such cell
    row = under_other_readings(found, {"simulation-scale=0.6": other}).loc["simulation-scale=0.6"]
    assert (row["data sets"], row["cells"], row["within 3"], row["rms z"]) == (20, 1, 1, 0.5)
    assert row["rms z as printed"] == pytest.approx(abs(table.z["FTF", "maxpear", "AR"]))
    assert under_other_readings(found, {"simulation-mu": changed}).empty
