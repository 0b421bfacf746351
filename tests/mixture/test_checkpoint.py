"""Checkpoints that are damaged or wicked: an error that says what to do, never a crash."""

import shutil

import numpy as np
import pytest

import partita as pt
from partita.errors import FileError, PartitaError, PartitaWarning

X = np.r_[np.linspace(-6, -4, 10), np.linspace(4, 6, 10)][:, None]
SETTINGS = {"n_draws": 400, "n_burn": 20, "thin": 200, "rng": 3, "n_jobs": 1}
ADVICE = "remove its folder or give another `checkpoint`"
STATE = ("labels", "concentration", "random", "covariance", "scans")


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run that was stopped, and the arrays of its state."""
    folder = tmp_path_factory.mktemp("begun") / "run"
    with pytest.warns(PartitaWarning, match="Stopped"):
        pt.sample_mixture(X, checkpoint=folder, callback=lambda r: r.scan > 300, **SETTINGS)
    with np.load(folder / "chain-0.npz") as file:
        return folder, {name: file[name] for name in file.files}


@pytest.fixture
def again(begun, tmp_path):
    """Run on from a checkpoint with other arrays in it."""

    def again(**changes):
        folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        shutil.copytree(begun[0], folder)
        kept = {k: v for k, v in {**begun[1], **changes}.items() if v is not None}
        np.savez(folder / "chain-0.npz", **kept)
        return pt.sample_mixture(X, checkpoint=folder, **SETTINGS)

    return again


def changed(begun, name, where, value):
    array = begun[1][f"{name}"].copy()
    array[where] = value
    return {f"{name}": array}


def test_as_it_was_it_goes_on(again):
    assert again() == pt.sample_mixture(X, **SETTINGS)


@pytest.mark.parametrize(
    ("name", "where", "value"),
    [
        ("labels", slice(None), 10**7),
        ("labels", slice(None), 5),
        ("labels", 0, -1),
        ("scans", ..., -1),
        ("scans", ..., 2**62),
        ("scans", ..., 80_020),
        ("concentration", ..., np.nan),
        ("concentration", ..., -1.0),
        ("random", slice(None), 0),
        ("covariance", slice(None), np.nan),
        ("covariance", slice(None), -1.0),
    ],
)
def test_values_that_no_chain_comes_to(begun, again, name, where, value):
    with pytest.raises(FileError, match=ADVICE):
        again(**changed(begun, name, where, value))


@pytest.mark.parametrize("name", STATE)
def test_every_array_must_be_of_the_job(begun, again, name):
    array = begun[1][f"{name}"]
    wrong_shapes = (array[None], array[:-1]) if array.ndim else (array[None],)
    for wrong in (*wrong_shapes, array.astype(np.float32), array.astype("S8"), None):
        with pytest.raises(FileError, match=ADVICE):
            again(**{f"{name}": wrong})


def test_a_run_of_another_version_is_refused(begun, tmp_path):
    shutil.copytree(begun[0], tmp_path / "run")
    with np.load(begun[0] / "run.npz") as file:
        kept = {name: file[name] for name in file.files}
    del kept["format"]
    for told in ({}, {"format": np.array(1)}):
        np.savez(tmp_path / "run" / "run.npz", **kept, **told)
        with pytest.raises(FileError, match="written by another version"):
            pt.sample_mixture(X, checkpoint=tmp_path / "run", **SETTINGS)


def test_traces(begun, again):
    traces = begun[1]["traces"]
    for wrong in (traces[:-1], traces[:, :2], np.zeros((10**4, 3)), traces.astype(str), None):
        with pytest.raises(FileError, match=ADVICE):
            again(traces=wrong)


@pytest.mark.parametrize("name", ["chain-0.npz", "run.npz", "labels.npy"])
def test_files_that_are_damaged(begun, tmp_path, name):
    content = (begun[0] / name).read_bytes()
    wrong = (b"", content[:100], content[:-100], b"\1" * len(content), b"1,2\n")
    for i, bad in enumerate(wrong):
        folder = tmp_path / f"run{i}"
        shutil.copytree(begun[0], folder)
        (folder / name).write_bytes(bad)
        with pytest.raises(PartitaError) as caught:
            pt.sample_mixture(X, checkpoint=folder, **SETTINGS)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "labels", [np.zeros((5, 20), np.uint8), np.zeros((400, 20), np.int64), np.zeros((400, 20))]
)
def test_a_file_of_draws_that_is_not_of_the_job(begun, tmp_path, labels):
    shutil.copytree(begun[0], tmp_path / "run")
    np.save(tmp_path / "run" / "labels.npy", labels)
    with pytest.raises(FileError, match=ADVICE):
        pt.sample_mixture(X, checkpoint=tmp_path / "run", **SETTINGS)


def test_a_seed_that_is_none(begun, tmp_path):
    shutil.copytree(begun[0], tmp_path / "run")
    with np.load(begun[0] / "run.npz") as file:
        np.savez(tmp_path / "run" / "run.npz", **{**file, "seed": np.array("x")})
    with pytest.raises(FileError, match="its seed is no whole number"):
        pt.sample_mixture(X, checkpoint=tmp_path / "run", **SETTINGS)
