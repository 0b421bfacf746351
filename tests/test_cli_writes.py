"""The shell writes to the paths that it was given and nowhere else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from partita.cli import COMMANDS as CLI_COMMANDS
from partita.cli import main, options_of
from partita.datasets import load_galaxies, simulate_draws
from partita.estimation import Estimate

# Every command, and what it is to write; the first of each is what it writes by --output.
WRITES = {
    "info": (["info", "draws.npz"], ["out/info.json"]),
    "estimate": (["estimate", "draws.npz", "--search", "average"], ["out/estimate.csv"]),
    "compare": (["compare", "draws.npz", "--method", "minvi"], ["out/table.csv"]),
    "uncertainty": (["uncertainty", "draws.npz", "--search", "average"], ["out/sure.json"]),
    "certify": (["certify", "draws.npz"], ["out/proof.json"]),
    "diagnose": (["diagnose", "draws.npz"], ["out/chains.json"]),
    "similarity": (["similarity", "draws.npz"], ["out/psm.npy"]),
    "plot": (["plot", "similarity", "draws.npz"], ["out/figure.svg"]),
    "report": (["report", "draws.npz"], ["out/report.html"]),
    "sample": (["sample", "data.csv", "--draws", "5", "--burn", "5"], ["out/draws.npz"]),
    "run": (
        ["run", "data.csv", "--draws", "9", "--burn", "5", "--save-draws", "out/draws.npz"],
        ["out/best.csv", "out/draws.npz"],
    ),
    "reproduce": (["reproduce", "soft", "--quick"], ["out/again/"]),
    "completion": (["completion", "bash"], []),
}
SLOW = ("report", "run", "reproduce")
DEFAULTS = {
    "sample": (["sample", "data.csv", "--draws", "5", "--burn", "5"], "draws.npz"),
    "report": (["report", "draws.npz", "--search", "average", "--no-compare"], "report.html"),
}


def everything(folder):
    return {
        os.path.join(place, name): os.stat(os.path.join(place, name)).st_mtime_ns
        for place, _, names in os.walk(folder)
        for name in names
    }


class Watch:
    """Python's own account of the paths that are opened for writing, made, renamed or removed."""

    heard: list[str] | None = None
    is_set = False

    @classmethod
    def hook(cls, event, arguments):
        if cls.heard is None or event not in ("open", "os.mkdir", "os.rename", "os.remove"):
            return
        if event == "open":
            _, mode, flags = arguments
            if not (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and "w" not in (
                mode or ""
            ):
                return
        places = arguments[:2] if event == "os.rename" else arguments[:1]
        cls.heard += [os.fsdecode(p) for p in places if isinstance(p, str | bytes | os.PathLike)]


@pytest.fixture
def written(monkeypatch, tmp_path):
    """Run a command in a folder of its own; what it wrote, wherever that is."""
    work = tmp_path / "work"
    (work / "out").mkdir(parents=True)
    simulate_draws(8, 20, n_clusters=2, rng=0).save(work / "draws.npz")
    np.savetxt(work / "data.csv", load_galaxies().data[:20], delimiter=",")
    monkeypatch.chdir(work)
    if not Watch.is_set:
        sys.addaudithook(Watch.hook)
        Watch.is_set = True

    def written(words):
        Watch.heard = []
        try:
            assert main(words) == 0
            heard = {os.path.abspath(path) for path in Watch.heard}
        finally:
            Watch.heard = None
        return {path for path in heard if not is_cache(path)}, work

    return written


def is_cache(path):
    """Whether a path is of a cache that is no result: compiled code, fonts, or nowhere."""
    parts = path.replace(os.sep, "/").split("/")
    kept = {"__pycache__", "numba_cache", "matplotlib"} & set(parts)
    return bool(kept) or path == os.devnull or path.startswith("/dev/")


COMMANDS = [pytest.param(c, marks=pytest.mark.slow if c in SLOW else ()) for c in WRITES]


def test_every_command_is_here():
    assert set(WRITES) == set(CLI_COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_written_beside_the_output(written, command):
    words, wanted = WRITES[command]
    if wanted:
        words = [*words, "-o", wanted[0]]
    if "--jobs" in options_of(command):
        words = [*words, "--jobs", "1"]
    if "--seed" in options_of(command):
        words = [*words, "--seed", "0"]
    before = everything(".")
    heard, work = written(words)
    new = {path for path, when in everything(".").items() if before.get(path) != when}
    new = {os.path.normpath(path).replace(os.sep, "/") for path in new}
    if command == "reproduce":
        assert new
        assert all(path.startswith("out/again/") for path in new)
    else:
        assert new == set(wanted)
    assert {path for path in heard if not path.startswith(str(work / "out"))} == set()


@pytest.mark.parametrize("command", ["sample", pytest.param("report", marks=pytest.mark.slow)])
def test_default_outputs_are_those_that_are_named(written, command):
    words, name = DEFAULTS[command]
    before = everything(".")
    heard, work = written([*words, "--jobs", "1", "--seed", "0"])
    new = {path for path, when in everything(".").items() if before.get(path) != when}
    assert {os.path.normpath(path) for path in new} == {name}
    # Beside its place first, by a name of its own, and renamed into it.
    assert {os.path.dirname(path) for path in heard} == {str(work)}


@pytest.mark.slow
def test_a_process_of_its_own_leaves_nothing_at_home(tmp_path):
    home, work = tmp_path / "home", tmp_path / "work"
    (work / "out").mkdir(parents=True)
    home.mkdir()
    simulate_draws(8, 20, n_clusters=2, rng=0).save(work / "draws.npz")
    places = {"HOME": str(home), "TMPDIR": str(home), "MPLCONFIGDIR": str(tmp_path / "mpl")}
    words = [*WRITES["report"][0], "-o", "out/report.html"]
    done = subprocess.run(
        [sys.executable, "-m", "partita", *words],
        cwd=work,
        env=os.environ | places,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert everything(home) == {}


@pytest.fixture
def store(tmp_path):
    """Forty draws of 90 items in a Zarr store of nine chunks."""
    zarr = pytest.importorskip("zarr")
    labels = np.random.default_rng(0).integers(1, 4, (40, 90)).astype(np.uint8)
    made = zarr.create_array(tmp_path / "a.zarr", shape=labels.shape, chunks=(40, 10), dtype="u1")
    made[:] = labels
    return tmp_path / "a.zarr"


def test_a_corrupt_block_in_the_middle_of_a_store_leaves_earlier_results(store, tmp_path, capsys):
    kept = tmp_path / "results"
    kept.mkdir()
    words = ["estimate", str(store), "--stored", "--seed", "0"]
    words += ["-o", str(kept / "best.csv"), "--save", str(kept / "best.npz")]
    assert main(words) == 0
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    chunk = store / "c" / "0" / "4"
    chunk.write_bytes(chunk.read_bytes()[:-3])
    capsys.readouterr()
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "c/0/4" in said.replace("\\", "/")
    assert "truncated or corrupt" in said
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device here")
def test_a_full_disk_is_one_line(store, capsys):
    words = ["estimate", str(store), "--seed", "0", "-o", "/dev/full", "--format", "csv"]
    assert main(words) == 2
    assert "cannot be written: No space left" in capsys.readouterr().err


BROKEN_OFF = {
    "estimate": ["estimate", "draws.npz", "--search", "average", "-o", "out.csv"],
    "saved": ["estimate", "draws.npz", "--search", "average", "--save", "out.npz"],
    "npy": ["similarity", "draws.npz", "-o", "out.npy"],
    "npz": ["similarity", "draws.npz", "-o", "out.npz"],
    "csv": ["similarity", "draws.npz", "-o", "out.csv"],
    "uncertainty": ["uncertainty", "draws.npz", "--search", "average", "-o", "out.csv"],
    "sample": ["sample", "data.csv", "--draws", "5", "--burn", "5", "-o", "out.npz"],
    "report": ["report", "draws.npz", "--no-compare", "-o", "out.html"],
    "plot": ["plot", "similarity", "draws.npz", "-o", "out.svg"],
}


@pytest.mark.filterwarnings("ignore::partita.errors.PartitaWarning")
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("command", BROKEN_OFF)
def test_what_was_there_is_kept_when_a_write_breaks_off(
    tmp_path, monkeypatch, capsys, command, error
):
    """A full disk and Ctrl-C, after all that is to be written was written beside."""
    words = BROKEN_OFF[command]
    monkeypatch.chdir(tmp_path)
    simulate_draws(8, 20, n_clusters=2, rng=0).save("draws.npz")
    np.savetxt("data.csv", load_galaxies().data[:20], delimiter=",")
    (tmp_path / words[-1]).write_bytes(b"earlier")
    before = sorted(os.listdir())

    def broken(*_):
        raise error

    monkeypatch.setattr("partita.io._write.os.replace", broken)
    code = main([*words, "--seed", "0"] if words[0] not in ("similarity",) else words)
    said = capsys.readouterr().err
    assert code == (130 if isinstance(error, KeyboardInterrupt) else 2)
    assert ("interrupted" if code == 130 else f"{words[-1]}' cannot be written: No space") in said
    assert (tmp_path / words[-1]).read_bytes() == b"earlier"
    assert sorted(os.listdir()) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device here")
def test_what_can_be_written_is_though_the_rest_cannot(tmp_path, capsys):
    simulate_draws(8, 20, n_clusters=2, rng=0).save(tmp_path / "draws.npz")
    words = ["estimate", str(tmp_path / "draws.npz"), "--seed", "0", "--save", "/dev/full"]
    assert main([*words, "-o", str(tmp_path / "out.csv")]) == 2
    assert "'/dev/full' cannot be written: No space left" in capsys.readouterr().err
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 9
    assert main([*words, "-o", "/dev/full", "--format", "csv"]) == 2
    said = capsys.readouterr().err
    assert said.count("No space left") == 2
    kept = re.findall(r"What was to be there is in '(\S+)'", said)
    assert len(kept) == 2
    whole = Estimate.load(kept[0])
    with open(kept[1]) as file:
        assert len(file.readlines()) == 9
    for path in kept:
        shutil.rmtree(os.path.dirname(path))
    assert whole.labels.size == 8


LIMITED = """
import resource, sys
from partita.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""
FULL = {
    "estimate": ["estimate", "draws.npz", "--method", "minvi", "-o", "OUT.csv"],
    "save": ["estimate", "draws.npz", "--method", "minvi", "--save", "OUT.npz"],
    "similarity": ["similarity", "draws.npz", "-o", "OUT.npz"],
    "plot": ["plot", "similarity", "draws.npz", "--method", "minvi", "-o", "OUT.svg"],
    "report": ["report", "draws.npz", "--method", "minvi", "--no-compare", "-o", "OUT.html"],
    "sample": ["sample", "data.csv", "--draws", "20", "--burn", "2", "--jobs", "1", "-o",
               "OUT.npz"],
    "checkpoint": ["sample", "data.csv", "--draws", "200", "--burn", "2", "--checkpoint", "OUT",
                   "-o", "kept.npz"],
    "study": ["reproduce", "soft", "--quick", "-o", "OUT", "--pages", "OUT"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
@pytest.mark.parametrize("command", FULL)
def test_a_disk_that_fills_up_leaves_nothing_under_the_name(tmp_path, command):
    """The system itself breaks off the write, wherever it is, after a few hundred bytes."""
    simulate_draws(60, 20, n_clusters=2, rng=0).save(tmp_path / "draws.npz")
    np.savetxt(tmp_path / "data.csv", load_galaxies().data, delimiter=",")
    words = FULL[command]
    before = sorted(os.listdir(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "300", *words], capture_output=True, text=True,
        cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert re.search(r"^partita: '.*OUT.*' cannot be written: File too large\. .*; make room", last)
    left = sorted(os.listdir(tmp_path))
    assert [name for name in left if not name.startswith("OUT")] == before
    for folder, _, files in os.walk(tmp_path / "OUT"):
        for name in files:
            assert not name.endswith(".tmp")
            assert os.path.getsize(os.path.join(folder, name)) < 300  # those that were whole


def never(*_, **__):
    pytest.fail("The work was done.")


@pytest.mark.parametrize("option", ["-o", "--save"])
def test_a_place_that_is_not_there_is_said_before_the_work(tmp_path, capsys, monkeypatch, option):
    simulate_draws(8, 20, n_clusters=2, rng=0).save(tmp_path / "draws.npz")
    monkeypatch.setattr("partita.estimation.estimate", never)
    monkeypatch.setattr("partita.similarity.posterior_similarity", never)
    place = str(tmp_path / "nowhere" / "a.csv")
    assert main(["estimate", str(tmp_path / "draws.npz"), option, place]) == 2
    assert "there is no directory" in capsys.readouterr().err
    within = str(tmp_path / "draws.npz" / "a.csv")  # a file where a folder should be
    assert main(["estimate", str(tmp_path / "draws.npz"), option, within]) == 2
    assert "a.csv' cannot be written: there is no directory" in capsys.readouterr().err
    if option == "-o":
        assert main(["similarity", str(tmp_path / "draws.npz"), "-o", place[:-4] + ".npy"]) == 2
        assert main(["similarity", str(tmp_path / "draws.npz"), "-o", "a.zarr"]) == 2


def test_what_was_written_where_is_said(tmp_path, capsys):
    simulate_draws(8, 20, n_clusters=2, rng=0).save(tmp_path / "draws.npz")
    file, out, kept = (str(tmp_path / name) for name in ("draws.npz", "out.csv", "kept.npz"))
    assert main(["estimate", file, "--seed", "0", "-o", out, "--save", kept]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    saved, written = said.err.splitlines()
    assert saved == f"The whole estimate written to {kept}"
    assert written.startswith("1 cluster, expected vi ")
    assert written.endswith(f", written to {out}")
    for words, what in (
        (["compare", file, "--method", "minvi", "-o", out], "The result"),
        (["similarity", file, "-o", str(tmp_path / "psm.npy")], "The similarity"),
        (["plot", "n-clusters", file, "-o", str(tmp_path / "a.svg")], "The figure"),
    ):
        assert main(words) == 0
        assert capsys.readouterr().err == f"{what} written to {words[-1]}\n"
