"""Nothing is writable but the folder of the output: no home, no temporary folder, no caches."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import partita as pt
from partita import cli

# An audit hook sees every file that Python opens, whoever runs the tests.
SEALED = """
import errno, os, sys
kept = os.path.realpath(sys.argv[1])
def hook(event, args):
    if event == "open":
        path, mode, flags = args
        writes = any(c in mode for c in "wax+") if isinstance(mode, str) else (
            flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    elif event in ("os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink"):
        path, writes = args[0], True
    else:
        return
    if writes and isinstance(path, (str, bytes)):
        place = os.path.realpath(os.fsdecode(path))
        if not place.startswith((kept, "/dev/")):
            raise OSError(errno.EROFS, "Read-only file system", path)
sys.addaudithook(hook)
from partita.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sealed")
    pt.datasets.simulate_draws(20, 60, n_clusters=3, rng=0).save(folder / "draws.npz")
    rng = np.random.default_rng(0)
    data = rng.normal(size=(20, 2)) + np.repeat([0, 8], 10)[:, None]
    np.savetxt(folder / "data.csv", data, delimiter=",", header="x,y", comments="")
    np.savez(folder / "params.npz", mu=np.zeros((60, 20)))
    return folder


def sealed(folder, *words):
    homes = ("HOME", "TMPDIR", "XDG_CACHE_HOME")
    environment = {k: v for k, v in os.environ.items() if k not in homes}
    return subprocess.run(
        [sys.executable, "-c", SEALED, str(folder / "out"), *map(str, words)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )


COMMANDS = {
    "estimate": ("estimate", "draws.npz"),
    "estimate to a file": ("estimate", "draws.npz", "-o", "out/a.csv", "--save", "out/a.npz"),
    "compare": ("compare", "draws.npz"),
    "uncertainty": ("uncertainty", "draws.npz"),
    "diagnose": ("diagnose", "draws.npz"),
    "similarity": ("similarity", "draws.npz", "-o", "out/psm.npy"),
    "info": ("info", "draws.npz"),
    "certify": ("certify", "draws.npz"),
    "sample": ("sample", "data.csv", "--n-draws", "50", "--n-burn", "10", "-o", "out/drawn.npz"),
    "run": ("run", "data.csv", "--n-draws", "50", "--n-burn", "10", "--report", "out/run.html"),
    "parameters": ("parameters", "draws.npz", "--params", "params.npz", "-o", "out/p.csv"),
    "plot": ("plot", "similarity", "draws.npz", "-o", "out/a.png"),
    "report": ("report", "draws.npz", "-o", "out/report.html"),
}


def test_every_command_is_here():
    assert {words[0] for words in COMMANDS.values()} | {"completion"} == set(cli.COMMANDS)


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_every_command_works_where_nothing_else_is_writable(files, words):
    (files / "out").mkdir(exist_ok=True)
    done = sealed(files, *words)
    assert done.returncode == 0, done.stderr
    for word in words:
        assert not word.startswith("out/") or (files / word).stat().st_size > 0


@pytest.mark.parametrize("place", ["elsewhere/report.html", "report.html"])
def test_an_output_that_cannot_be_written_is_one_line(files, place):
    done = sealed(files, "report", "draws.npz", "-o", place)
    assert done.returncode == 2
    assert done.stderr.startswith("partita: ")
    assert done.stderr.count("\n") == 1
