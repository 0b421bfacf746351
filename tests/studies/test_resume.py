"""A long study killed with SIGKILL and resumed, through the shell and on two processes."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")


def command(folder, *words):
    return [sys.executable, "-m", "partita", "reproduce", *words, "-o", str(folder)]


def kill_half_way(words, path, n_rows):
    """Start a run, end it and its workers once ``n_rows`` lines are there; return their number."""
    running = subprocess.Popen(
        words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while running.poll() is None and rows_in(path) < n_rows:
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    return rows_in(path)


def rows_in(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return max(0, sum(not line.startswith("#") for line in lines) - 1)


def check_resumed(tmp_path, words, slug, n_rows):
    whole, cut = tmp_path / "whole" / slug, tmp_path / "cut" / slug
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command(whole.parent, *words), **quiet)
    path = cut / "replicates.csv"
    kept = kill_half_way(command(cut.parent, *words), path, n_rows // 2)
    assert 0 < kept < n_rows, "the run was over before it could be killed"
    before = path.read_text().splitlines()[:-1]
    subprocess.run(command(cut.parent, *words, "--resume"), **quiet)
    assert rows_in(path) == n_rows
    # What was there is kept as it was, and nothing else differs from a run in one go.
    assert set(before) <= set(path.read_text().splitlines())
    written = sorted(p.name for p in whole.iterdir() if p.name != "seconds.csv")
    assert written == sorted(p.name for p in cut.iterdir() if p.name != "seconds.csv")
    for name in written:
        if name != "simulation.md":  # it tells the seconds
            assert (cut / name).read_bytes() == (whole / name).read_bytes(), name


@pytest.mark.slow
def test_a_quick_simulation_killed_half_way_and_resumed_is_the_same(tmp_path):
    """Two processes, the paper's number of draws, all ranks and restarts: minutes."""
    words = ["simulation", "--configurations", "TTT", "FFT", "--replicates", "8", "--n-jobs", "2"]
    check_resumed(tmp_path, words, "simulation", 16)


@pytest.mark.slow
def test_a_study_of_chains_killed_and_resumed_is_the_same(tmp_path):
    words = ["mixing", "--configurations", "TFT", "--quick", "--n-jobs", "1"]
    check_resumed(tmp_path, words, "mixing", 12)
