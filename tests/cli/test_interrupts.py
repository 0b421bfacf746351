"""Ctrl-C at the shell: heard wherever it comes, once kindly and twice at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import partita as pt
from partita.cli import interrupts, main

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
# A shell that runs the tests in the background has its children ignore Ctrl-C.
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from partita.__main__ import run
try:
    print("go", flush=True)
    run()
except KeyboardInterrupt as error:
    within = error.__traceback__.tb_next
    if within is not None and within.tb_next is not None:  # deeper than the call of `run` itself
        raise
    print("partita: interrupted before it began", file=sys.stderr)
    sys.exit(130)
"""
# What an import does that Ctrl-C breaks off in compiled code: it drops the one, raises the other.
BROKEN_OFF = """
import signal
import partita.diagnostics

class Freed:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def broken(*_, **__):
    Freed()
    raise ImportError("PyCapsule_Import could not import module")

partita.diagnostics.diagnose = broken
"""
COMMANDS = {
    "sample": "sample data.csv --n-draws 200000 --seed 1 --n-jobs 2 -o out/d.npz",
    "run": "run data.csv --n-draws 200000 --n-burn 5 --seed 1 --report out/r.html "
    "--no-comparison -o out/a.csv",
    "estimate": "estimate draws.npz --search nmf-kl --n-jobs 2 --save out/e.npz -o out/a.csv",
    "report": "report draws.npz --method minvi -o out/r.html",
}


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 2))
    np.savetxt(folder / "data.csv", table, delimiter=",", header="x,y", comments="")
    pt.datasets.simulate_draws(400, 500, n_clusters=8, noise=0.3, rng=0).save(folder / "draws.npz")
    return folder


@pytest.fixture
def started(work):
    """Start a command in a process group of its own, and end the group in any case."""
    (work / "out").mkdir(exist_ok=True)
    groups = []

    def started(words):
        process = subprocess.Popen(
            [sys.executable, "-c", START, *words.split()], cwd=work, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        groups.append(process)
        assert process.stdout.readline() == "go\n"
        return process

    yield started
    for process in groups:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def check(process, work):
    _, err = process.communicate(timeout=120)
    assert process.returncode in (0, 130), err
    assert "Traceback" not in err
    if process.returncode == 130:
        assert err.splitlines()[-1].startswith("partita: interrupted"), err
    assert not [name for name in os.listdir(work / "out") if name.endswith(".tmp")]
    return process.returncode


def interrupt(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)


@pytest.mark.parametrize("moment", [0.0, 0.1, 0.2, 0.4, 0.8, 1.6])
@pytest.mark.parametrize("command", ["sample", "estimate"])
def test_ctrl_c_at_some_moments(started, work, command, moment):
    process = started(COMMANDS[command])
    time.sleep(moment)
    interrupt(process)
    check(process, work)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_at_a_grid_of_moments(started, work, command):
    for moment in np.arange(0, 2.5, 0.05):
        process = started(COMMANDS[command])
        time.sleep(moment)
        interrupt(process)
        check(process, work)


def test_the_second_ends_at_once_and_leaves_nothing_half_written(started, work):
    process = started(COMMANDS["run"])
    time.sleep(1.5)
    interrupt(process)
    time.sleep(0.2)
    interrupt(process)
    assert check(process, work) == 130


def test_kill_leaves_no_worker_behind(started):
    process = started(COMMANDS["sample"])
    time.sleep(1)
    process.kill()
    process.communicate(timeout=30)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_an_import_that_it_broke_off_is_a_line(work):
    done = subprocess.run(
        [sys.executable, "-c", BROKEN_OFF + START, "diagnose", "draws.npz"],
        cwd=work, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (130, False), done.stderr
    assert done.stderr.splitlines()[-1].startswith("partita: interrupted")


def test_one_that_python_drops_is_raised_again():
    """As when it comes while a callback frees something."""

    class Freed:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def freeing():
        with interrupts.heard():
            Freed()
            end = time.monotonic() + 20
            while time.monotonic() < end:
                time.sleep(0.01)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hook = sys.unraisablehook
    try:
        with pytest.raises(KeyboardInterrupt):
            freeing()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = hook


def test_who_listens_already_is_left_alone(work):
    heard = []

    def mine(*_):
        heard.append(1)

    before = signal.signal(signal.SIGINT, mine)
    try:
        assert main(["info", str(work / "draws.npz")]) == 0
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)
