"""A study killed with SIGKILL and resumed, through the shell."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")


def rows_in(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return max(0, sum(not line.startswith("#") for line in lines) - 1)


def check_resumed(tmp_path, name, words, n_rows):
    command = [sys.executable, "-m", "studies", name, *words, "-o"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    whole, cut = (tmp_path / which / name / "replicates.csv" for which in ("whole", "cut"))
    subprocess.run([*command, str(tmp_path / "whole")], check=True, **quiet)
    command = [*command, str(tmp_path / "cut")]
    running = subprocess.Popen(command, start_new_session=True, **quiet)
    while running.poll() is None and rows_in(cut) < n_rows // 2:
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert 0 < rows_in(cut) < n_rows, "the run was over before it could be killed"
    subprocess.run([*command, "--resume"], check=True, **quiet)
    assert cut.read_bytes() == whole.read_bytes()
    page = f"results/{name}/{name}.md"
    assert (tmp_path / "cut" / page).read_bytes() == (tmp_path / "whole" / page).read_bytes()


def test_killed_and_resumed_is_the_same(tmp_path):
    words = ["--configurations", "TFT", "--quick", "--n-jobs", "1"]
    check_resumed(tmp_path, "mixing", words, 12)


@pytest.mark.slow
def test_a_simulation_on_two_processes_killed_and_resumed_is_the_same(tmp_path):
    words = ["--configurations", "TTT", "FFT", "--replicates", "8", "--n-jobs", "2"]
    check_resumed(tmp_path, "simulation", words, 16)
