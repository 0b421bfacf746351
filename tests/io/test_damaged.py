"""Damaged and hostile files: an answer or an error of ours, soon and in little memory.

``make fuzz`` goes on where this stops.
"""

import gzip
import io
import os
import pickle
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import psutil
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import partita as pt
from formats_data import ALPHA, BY_CHAIN, DATA, LABELS, cmdstan, tree
from partita import validate
from partita.errors import FileError, OutOfMemoryError, PartitaError
from partita.io import isolated, read_table

# Elsewhere the memory of a reader is not limited, only its time: see SECURITY.md.
limited = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")


def sound(kind):
    """One sound file of a format."""
    buffer = io.BytesIO()
    if kind == "npz":
        np.savez(buffer, labels=LABELS)
    elif kind == "cmdstan":
        buffer.write(cmdstan(LABELS, ALPHA).encode())
    elif kind == "parquet":
        pd.DataFrame(LABELS, columns=list("abcdefghi")).to_parquet(buffer)
    elif kind == "rds":
        buffer.write(gzip.decompress((DATA / "bnpmix.rds").read_bytes()))
    elif kind == "nc3":
        return bytes(xr.Dataset({"z": (("draw", "i"), LABELS.astype("i4"))}).to_netcdf())
    return buffer.getvalue()


damage = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=8)), max_size=4
)


def damaged(content, changes, kept):
    content = bytearray(content)
    for place, new in changes:
        at = int(place * len(content))
        content[at : at + len(new)] = new
    return bytes(content[: int(kept * len(content))])


def attempt(path, content, **how):
    path.write_bytes(content)
    said = ""
    try:
        assert read_table(path, **how).labels.ndim == 2
    except PartitaError as error:
        said = str(error)
    assert "\n" not in said


@pytest.mark.parametrize("kind", ["npz", "cmdstan"])
@given(changes=damage, kept=st.sampled_from([1.0, 1.0, 0.9, 0.5]))
@settings(max_examples=20)
def test_damaged_here(tmp_path, kind, changes, kept):
    attempt(tmp_path / "a", damaged(sound(kind), changes, kept))


@pytest.mark.parametrize("kind", ["parquet", "rds", "nc3", "nc"])
@given(changes=damage, kept=st.sampled_from([1.0, 1.0, 0.9]))
@settings(max_examples=2)
def test_damaged_and_read_in_a_process_of_its_own(tmp_path_factory, kind, changes, kept):
    folder = tmp_path_factory.mktemp("damaged")
    if kind == "nc":
        tree().to_netcdf(folder / "a.nc", engine="h5netcdf")
        content = (folder / "a.nc").read_bytes()
    else:
        content = sound(kind)
    attempt(folder / "b", damaged(content, changes, kept), isolate=True)


@pytest.mark.parametrize("kind", ["csv", "tsv", "npz", "nc", "zarr", "parquet", "rds"])
def test_what_is_read_in_a_process_of_its_own_is_the_same(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    draws = pt.Draws(BY_CHAIN, traces={"alpha": ALPHA}, item_names=list("abcdefghi"))
    if kind == "csv":
        path.write_text("a,b\nred,red\nred,blue\n")
    elif kind == "tsv":
        path.write_text("a\tb\t.chain\nred\tred\t1\nred\tblue\t1\n")
    elif kind == "npz":
        draws.save(path)
    elif kind == "nc":
        tree().to_netcdf(path, engine="h5netcdf")
    elif kind == "zarr":
        tree().to_zarr(path, zarr_format=2)
    elif kind == "rds":
        path = DATA / "coda.rds"
    else:
        path.write_bytes(sound(kind))
    alone, here = pt.read_draws(path, isolate=True), pt.read_draws(path)
    assert alone == here
    assert alone.item_names == here.item_names
    assert alone.traces.keys() == here.traces.keys()
    assert alone.assumptions == here.assumptions
    assert alone.about == here.about


@pytest.fixture
def library(monkeypatch, tmp_path):
    """A file of R's, and a library for it whose behaviour a test writes."""

    def library(body):
        (tmp_path / "rdata").mkdir()
        code = f"import os, time\nclass parser:\n    def parse_data(content):\n        {body}\n"
        code += "class conversion:\n    DEFAULT_CLASS_MAP, convert = {}, None\n"
        (tmp_path / "rdata" / "__init__.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)  # the process that reads looks where this one does
        (tmp_path / "a.rds").write_bytes(b"RDX3\n")
        return str(tmp_path / "a.rds")

    return library


class TestIsolated:
    """What a reader does, its parent survives."""

    def test_an_endless_loop(self, library):
        before = time.process_time()
        with pytest.raises(FileError, match="took too long"):
            isolated.read_isolated("read_table", library("while True: pass"), {}, seconds=3)
        assert time.process_time() - before < 5

    @limited
    def test_all_the_memory(self, library):
        with pytest.raises(OutOfMemoryError, match="may use"):
            read_table(library("return bytearray(1 << 44)"), isolate=True)

    def test_a_crash(self, library):
        with pytest.raises(FileError, match=r"its reader broke \(status -?11\)"):
            read_table(library("os.kill(os.getpid(), 11)"), isolate=True)

    @pytest.mark.skipif(os.name != "posix", reason="Windows does not limit what is written")
    def test_files_cannot_be_written(self, library, tmp_path):
        new = tmp_path / "new"
        with pytest.raises(FileError, match="corrupt"):
            read_table(library(f"open({str(new)!r}, 'w', 1).write('x\\n')"), isolate=True)
        assert not new.exists() or not new.read_text()


@limited
def test_a_reader_ends_with_the_process_that_waits_for_it(library, tmp_path):
    """Which is killed, without a chance to clean up."""
    path = library("time.sleep(600)")
    code = "import sys; sys.path.insert(0, sys.argv[1]); from partita.io import read_table\n"
    code += "read_table(sys.argv[2], isolate=True)"
    process = subprocess.Popen([sys.executable, "-c", code, tmp_path, path])
    deadline, readers = time.monotonic() + 60, []
    while not readers or not readers[0].memory_info().rss > 30e6:  # it has imported something
        assert time.monotonic() < deadline
        time.sleep(0.1)
        readers = psutil.Process(process.pid).children()
    time.sleep(1)
    process.kill()
    process.wait()
    with suppress(psutil.NoSuchProcess):
        while readers[0].status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
            time.sleep(0.05)


class Boom:
    def __reduce__(self):
        return os.mkdir, ("unpickled",)


def test_pickles_are_not_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps(Boom())
    for name in ("a.csv", "a.npy", "a.npz", "a.rds", "a.nc", "a.parquet", "a.pkl", "a_z.txt"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(PartitaError):
            pt.read_draws(tmp_path / name)
    np.save(tmp_path / "o.npy", np.array([[Boom()]]), allow_pickle=True)
    np.savez(tmp_path / "o.npz", labels=np.array([[Boom()]]))
    for name in ("o.npy", "o.npz"):
        with pytest.raises(FileError, match="Python objects"):
            pt.read_draws(tmp_path / name)
    assert not (tmp_path / "unpickled").exists()


def test_a_bomb_of_zeros_in_r(tmp_path, monkeypatch):
    # R's header, a vector of 2**27 doubles, and 512 MiB of zeros in half a megabyte.
    head = b"X\n\0\0\0\2\0\4\2\2\0\2\3\0\0\0\0\x0e\x08\0\0\0"
    (tmp_path / "a.rds").write_bytes(gzip.compress(head) + gzip.compress(bytes(1 << 24)) * 32)
    monkeypatch.setattr(validate, "free_memory", lambda: 1 << 27)
    with pytest.raises(OutOfMemoryError, match="would take"):
        read_table(tmp_path / "a.rds")


def test_fill_values_that_claim_gigabytes(tmp_path):
    import h5py

    with h5py.File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("z", (2**20, 2**12), "u1", chunks=(2**12, 2**12))
    with pytest.raises((FileError, OutOfMemoryError), match="claims"):
        read_table(tmp_path / "a.nc")


def test_links_out_of_a_netcdf_file_are_not_followed(tmp_path):
    import h5py

    np.arange(24, dtype="i4").tofile(tmp_path / "secret")
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("z", (4, 6), "i4", external=[(str(tmp_path / "secret"), 0, 96)])
    with pytest.raises(FileError, match="points to other files"):
        read_table(tmp_path / "a.nc")
