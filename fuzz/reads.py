"""What each target does with a file: the reader under test, and what an answer must be."""

from __future__ import annotations

import struct
import zipfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import partita
import partita.io
from partita.cli import data as tables
from partita.cli import reading
from partita.estimation import Estimate
from partita.mixture import checkpoint

MEMBER = struct.Struct("<BI")
X = np.r_[np.linspace(-6, -4, 6), np.linspace(4, 6, 6)][:, None]


def table(path: Path) -> None:
    assert partita.io.read_table(path).labels.ndim == 2


def data(path: Path) -> None:
    found = tables.read_data(Namespace(data=str(path), columns=None, names=None, quiet=True))
    assert found.to_numpy().ndim == 2


def similarity(path: Path) -> None:
    found = reading.similarity(str(path))
    assert found.shape[0] == found.shape[1]


def estimate(path: Path) -> None:
    found = Estimate.load(path)
    assert len(found.to_frame()) == found.labels.size == found.sizes.sum()
    repr(found)


def weights(path: Path) -> None:
    assert partita.io.read_weights(path).array.ndim == 3


def matrix(path: Path) -> None:
    found = partita.io.read_matrix(path)
    assert found is None or found.ndim == 2


def stored(path: Path) -> None:
    found = partita.io.open_stored(path)
    n_draws, n_items = found.shape
    for rows in (slice(0, 2), slice(n_draws - 1, n_draws)):
        part = found.read(rows, slice(0, min(n_items, 1000)))
        assert part.shape[1] == min(n_items, 1000)


def sampled(folder: Path) -> partita.Draws:
    """A run of thirty scans with a checkpoint in a folder, from its beginning or gone on with."""
    return partita.sample_mixture(X, n_draws=20, n_burn=10, rng=1, checkpoint=folder)


def resumed(path: Path) -> None:
    """Go on from a checkpoint to the end: what was believed meets compiled code."""
    if not (path.parent / "run.npz").exists():
        content = path.read_bytes()
        path.unlink()
        sampled(path.parent)
        path.write_bytes(content)
    assert sampled(path.parent).n_draws == 20
    path.unlink()  # the run has put its own state there


def started(path: Path) -> None:
    """The seed of a run, as ``sample_mixture`` looks for it."""
    assert checkpoint.seed_of_run(path.parent, None, "x") >= 0


def state_arrays(folder: Path) -> dict[str, np.ndarray]:
    """A sound checkpoint, of a chain that has come to scan 15."""
    sampled(folder)
    with np.load(folder / "chain-0.npz") as file:
        found = {name: file[name] for name in file.files}
    return {**found, "scans": np.array(15), "traces": found["traces"][:5]}


def archive_names(reader: str) -> list[str]:
    """The names that a damaged archive may hold."""
    if reader == "run":
        return ["fingerprint", "seed", "format"]
    if reader == "checkpoint":
        return ["labels", "concentration", "random", "covariance", "scans", "traces"]
    steps = [
        f"path/{i}/{name}" for i in (0, 1) for name in ("labels", "memberships", "restart_labels")
    ]
    return ["about", "labels", "memberships", "history", "item_names", *steps]


def write_archive(path: Path, content: bytes, names: list[str]) -> None:
    """An ``.npz`` with sound checksums, so that what is damaged within it is come to."""
    with zipfile.ZipFile(path, "w") as file:
        written = set()
        while len(content) >= MEMBER.size:
            which, size = MEMBER.unpack(content[: MEMBER.size])
            name = names[which % len(names)]
            if name not in written:
                file.writestr(f"{name}.npy", content[MEMBER.size : MEMBER.size + size])
            written.add(name)
            content = content[MEMBER.size + size :]


class Target(SimpleNamespace):
    """A reader, the name that its file has, and how the file is put there."""

    read: Callable[[Path], None]
    archive: bool = False
    zarr: bool = False


READ: dict[str, Target] = {
    name: Target(read=table)
    for name in ("text", "premium", "cmdstan", "npy", "npz", "netcdf", "parquet", "rdata")
} | {
    "zarr": Target(read=table, zarr=True),
    "data": Target(read=data),
    "similarity": Target(read=similarity),
    "estimate": Target(read=estimate, archive=True),
    "checkpoint": Target(read=resumed, archive=True),
    "run": Target(read=started, archive=True),
    "weights": Target(read=weights),
    "matrix": Target(read=matrix),
    "stored-npy": Target(read=stored),
    "stored-zarr": Target(read=stored, zarr=True),
    "stored-parquet": Target(read=stored),
}
