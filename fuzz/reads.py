"""What each target does with a file: the reader under test, and what an answer must be."""

from __future__ import annotations

import struct
import zipfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import partita.io
from partita.cli import _data, _matrix, _written
from partita.estimation import Estimate
from partita.mixture import chain, checkpoint, partition_priors, priors, sampler
from partita.mixture.moves import Moves

MEMBER = struct.Struct("<BI")
X = np.r_[np.linspace(-6, -4, 6), np.linspace(4, 6, 6)][:, None]


def table(path: Path) -> None:
    assert partita.io.read_table(path).labels.ndim == 2


def data(path: Path) -> None:
    found = _data.read_table(Namespace(data=str(path), columns=None, names=None))
    assert found.to_numpy().ndim == 2


def similarity(path: Path) -> None:
    found = _matrix.read_similarity(str(path), key=None)
    assert found.shape[0] == found.shape[1]


def estimate(path: Path) -> None:
    found = Estimate.load(path)
    assert len(found.to_frame()) == found.labels.size == found.sizes.sum()
    repr(found)


def written(path: Path) -> None:
    found = _written.read_estimate(str(path))
    assert len(found.to_frame()) == found.labels.size == found.sizes.sum()
    repr(found)


def weights(path: Path) -> None:
    assert partita.io.read_weights(path).array.ndim == 3


def matrix(path: Path) -> None:
    found = partita.io.read_matrix(path)
    assert found is None or found.ndim == 2


def _blocks(found: Any) -> None:
    n_draws, n_items = found.shape
    for rows in (slice(0, 2), slice(n_draws - 1, n_draws)):
        part = found.read(rows, slice(0, min(n_items, 1000)))
        assert part.shape[1] == min(n_items, 1000)


def stored_npy(path: Path) -> None:
    _blocks(partita.io.open_npy(path))


def stored_zarr(path: Path) -> None:
    _blocks(partita.io.open_zarr(path))


def stored_parquet(path: Path) -> None:
    found = partita.io.open_parquet(path)
    try:
        _blocks(found)
    finally:
        found.close()


def job(folder: Path) -> chain.Job:
    """A chain of some thirty scans whose checkpoint is in a folder."""
    return chain.Job(
        chain=0,
        resolved=priors.named("independent", None).complete(X, "full"),
        partition=partition_priors.named("dirichlet"),
        concentration=partition_priors.concentration(None),
        moves=Moves(),
        start="kmeans",
        seed=1,
        n_draws=20,
        n_burn=10,
        thin=1,
        fingerprint="x",
        folder=str(folder),
        keep_state=True,
    )


def resumed(path: Path) -> None:
    """Go on from a checkpoint to the end: what was believed meets compiled code."""
    one = job(path.parent)
    labels = chain.labels_path(one.folder, 0)
    if not labels.exists():
        np.save(labels, np.zeros((one.n_draws, len(X)), np.uint8))
    run = chain.run_chain(one, lambda report: False)
    assert run.n_done == one.n_draws
    path.unlink()  # the run has put its own state there


def started(path: Path) -> None:
    """The seed of a run, as ``sample_mixture`` looks for it."""
    assert sampler._kept_seed(path.parent, None, "x") >= 0


def state_arrays(folder: Path) -> dict[str, np.ndarray]:
    """A sound checkpoint: that of a chain stopped in the middle."""
    one, budget = job(folder), chain._BUDGET
    chain._BUDGET = 1
    try:
        chain.run_chain(one, lambda report: report.scan > 15)
    finally:
        chain._BUDGET = budget
    with np.load(checkpoint.state_path(one)) as file:
        return {name: file[name] for name in file.files}


def archive_names(reader: str) -> list[str]:
    """The names that a damaged archive may hold."""
    if reader == "run":
        return ["fingerprint", "seed"]
    if reader == "checkpoint":
        return ["fingerprint", "traces", *(f"state:{name}" for name in checkpoint._SHAPES)]
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
    "written": Target(read=written),
    "checkpoint": Target(read=resumed, archive=True),
    "run": Target(read=started, archive=True),
    "weights": Target(read=weights),
    "matrix": Target(read=matrix),
    "stored-npy": Target(read=stored_npy),
    "stored-zarr": Target(read=stored_zarr, zarr=True),
    "stored-parquet": Target(read=stored_parquet),
}
