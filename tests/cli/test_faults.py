"""Every command under a failing disk, memory or system: one line, exit 2, nothing half written.

``faults.c`` is put between Python and the C library and fails the k-th call of a kind, counted
from where the command's own work begins: it has been run once in the same process by then.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import partita as pt

COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(
    COMPILER is None or not sys.platform.startswith("linux"), reason="needs a C compiler on Linux"
)
KINDS = ("write", "fsync", "rename", "fork", "thread", "memory")
DRIVER = """
import contextlib, ctypes, io, json, os, shutil, sys
from partita.cli import main
kinds, ks, words = json.loads(sys.argv[1])
faults = ctypes.CDLL(None)

def run(number=0, k=0):
    shutil.rmtree("out", ignore_errors=True)
    os.mkdir("out")
    for name in before:
        with open(f"out/{name}", "w") as file:
            file.write("earlier")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        faults.fault_arm(number, k)
        try:
            code = main(words)
        except BaseException as error:
            code = repr(error)
        failed = faults.fault_disarm()
    files = {}
    for place, _, names in os.walk("out"):
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                files[os.path.relpath(os.path.join(place, name), "out")] = file.read().hex()
    return {"failed": failed, "code": code, "err": err.getvalue(), "files": files}

before = ()
whole = run()
before = tuple(name for name in whole["files"] if os.sep not in name)
found = []
for kind in kinds:
    for k in ks:
        one = run(kinds[kind], k)
        found.append({"kind": kind, "k": k, **one})
        if not one["failed"]:
            break
print(json.dumps({"whole": whole, "found": found}))
"""
FEW = ("--n-draws", "30", "--n-burn", "10", "--seed", "0")
COMMANDS = {
    "estimate": "estimate draws.npz --seed 0 --save out/e.npz -o out/a.csv",
    "compare": "compare draws.npz --methods minvi --seed 0 -o out/a.json",
    "uncertainty": "uncertainty draws.npz --method minvi -o out/a.csv",
    "parameters": "parameters draws.npz --estimate e.npz --params p.npz -o out/a.json",
    "certify": "certify draws.npz --labels e.npz -o out/a.json",
    "diagnose": "diagnose draws.npz -o out/a.csv",
    "similarity": "similarity draws.npz -o out/a.npy",
    "plot": "plot similarity draws.npz --estimate e.npz -o out/a.png --dpi 50",
    "report": "report draws.npz --estimate e.npz --no-comparison -o out/a.html",
    "run": f"run data.csv {' '.join(FEW)} --save-draws out/d.npz --report out/a.html -o out/a.csv "
    "--no-comparison",
    "sample": f"sample data.csv {' '.join(FEW)} --checkpoint out/run -o out/d.npz",
    "info": "info draws.npz -o out/a.json",
    "isolated": "info draws.nc --isolate -o out/a.json",
}
NOTES = (" written to ", "The report is", "partita: warning: ", "  - ")  # not errors


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    made = tmp_path_factory.mktemp("shim") / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
    return made


@pytest.fixture
def work(tmp_path):
    draws = pt.datasets.simulate_draws(400, 40, n_clusters=3, rng=0)
    draws.save(tmp_path / "draws.npz")
    pt.estimate(draws, search="average", rng=0).save(tmp_path / "e.npz")
    np.savez(tmp_path / "p.npz", mu=np.zeros((40, int(draws.codes.max()) + 1)))
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, 2))
    np.savetxt(tmp_path / "data.csv", table, delimiter=",", header="x,y", comments="")
    return tmp_path


def under_faults(work, shim, words, kinds, ks):
    """What the command did by itself, and under each fault that it met."""
    numbers = {kind: 1 + KINDS.index(kind) for kind in kinds}  # as in faults.c
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps([numbers, list(ks), words.split()])],
        capture_output=True, text=True, cwd=work, check=False,
        env=os.environ | {"LD_PRELOAD": str(shim), "TMPDIR": str(work), "MPLBACKEND": "Agg"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["whole"]["code"] == 0, told["whole"]["err"]
    return told["whole"], [one for one in told["found"] if one["failed"]]


def check(whole, one):
    """An error is one line, and every file is as it was or as it should be."""
    where = (one["kind"], one["k"], one["code"], one["err"])
    lines = [line for line in one["err"].splitlines() if not any(n in line for n in NOTES)]
    kept = set(one["files"])
    assert not [name for name in kept if name.endswith(".tmp")], where
    if one["code"] == 0:  # it could do without
        assert one["kind"] in ("thread", "memory"), where
        assert lines == [], where
        return
    assert one["code"] == 2, where
    assert len(lines) == 1, where
    assert lines[0].startswith("partita: "), where
    for name, content in one["files"].items():
        if os.sep not in name:  # not of a checkpoint
            known = bytes.fromhex(whole["files"][name])
            assert is_whole(bytes.fromhex(content), known, name), where


def is_whole(content, known, name):
    """Whether a file is as it was, or as the command writes it but for the time it took."""
    if name.endswith(".npz") and content != b"earlier":
        with np.load(io.BytesIO(content)) as arrays:
            return all(arrays[key].size for key in arrays)
    if name.endswith(".html"):
        return content == b"earlier" or content.endswith(known[-20:])
    return content in (b"earlier", known)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_fault(work, shim, command):
    if command == "isolated":
        xr = pytest.importorskip("xarray")
        labels = pt.read_draws(work / "draws.npz").labels
        xr.Dataset({"z": (("draw", "item"), labels)}).to_netcdf(work / "draws.nc")
    kinds, ks = KINDS, (1, 2, 5)
    if command == "isolated":  # a process each time
        kinds, ks = ("write", "rename", "fork"), (1,)
    whole, found = under_faults(work, shim, COMMANDS[command], kinds, ks)
    met = {one["kind"] for one in found}
    assert {"write", "rename"} <= met
    assert command != "isolated" or "fork" in met
    for one in found:
        check(whole, one)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_fifty_faults(work, shim, command):
    if command == "isolated":
        pytest.skip("one process, which three faults are enough for")
    whole, found = under_faults(work, shim, COMMANDS[command], KINDS, range(1, 51))
    for one in found:
        check(whole, one)


@pytest.mark.parametrize("command", ["sample", "run", "estimate", "report"])
def test_no_work_is_lost_to_a_disk(work, shim, command):
    """Where the result cannot be put where it should be, it is in the temporary folder."""
    words = COMMANDS[command].replace("--checkpoint out/run", "")
    _, found = under_faults(work, shim, words, ("write", "rename"), (1,))
    kept = list(work.glob("partita-*/*"))
    assert len(kept) == len(found) == 2
    for path in kept:
        if path.name == "d.npz":
            assert pt.read_draws(path).n_draws == 120
        elif path.name == "e.npz":
            assert pt.Estimate.load(path).labels.size == 400
        else:
            assert path.stat().st_size > 1_000_000  # the page


@pytest.mark.parametrize("kind", ["write", "rename", "fsync"])
def test_a_checkpoint_survives_a_fault(work, shim, kind, shell, monkeypatch):
    """The run goes on from what was kept, to the draws it would have given."""
    monkeypatch.chdir(work)
    words = COMMANDS["sample"]
    whole, _ = under_faults(work, shim, words, (kind,), (4,))
    shell(*words.split())
    assert Path("out/d.npz").read_bytes().hex() == whole["files"]["d.npz"]
