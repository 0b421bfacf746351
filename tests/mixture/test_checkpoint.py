"""Checkpoints that are damaged or wicked: an error that says what to do, never a crash."""

import shutil

import numpy as np
import pytest

import partita as pt
from partita.errors import FileError, PartitaError, PartitaWarning
from partita.kernels.mixture_types import State
from partita.mixture import chain

X = np.r_[np.linspace(-6, -4, 10), np.linspace(4, 6, 10)][:, None]
SETTINGS = {"n_draws": 400, "n_burn": 20, "thin": 2, "rng": 3, "n_jobs": 1}
ADVICE = "remove its folder or give another `checkpoint`"


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run that was stopped, and the arrays of its state."""
    folder = tmp_path_factory.mktemp("begun") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain, "_BUDGET", 1)
        with pytest.warns(PartitaWarning, match="Stopped"):
            pt.sample_mixture(X, checkpoint=folder, callback=lambda r: r.scan > 60, **SETTINGS)
    with np.load(folder / "state-0.npz") as file:
        return folder, {name: file[name] for name in file.files}


@pytest.fixture
def again(begun, tmp_path):
    """Run on from a checkpoint with other arrays in it."""

    def again(**changes):
        folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        shutil.copytree(begun[0], folder)
        kept = {k: v for k, v in {**begun[1], **changes}.items() if v is not None}
        np.savez(folder / "state-0.npz", **kept)
        return pt.sample_mixture(X, checkpoint=folder, **SETTINGS)

    return again


def changed(begun, name, where, value):
    array = begun[1][f"state:{name}"].copy()
    array[where] = value
    return {f"state:{name}": array}


def test_as_it_was_it_goes_on(again):
    assert again() == pt.sample_mixture(X, **SETTINGS)


@pytest.mark.parametrize(
    ("name", "where", "value"),
    [
        ("labels", slice(None), 10**7),
        ("labels", 0, -1),
        ("order", 0, 10**9),
        ("order", 0, -5),
        ("free", 0, 10**9),
        ("free", slice(None), 0),
        ("place", slice(None), 10**9),
        ("count", slice(None), 0),
        ("count", slice(None), 2**62),
        ("cursor", 0, -1),
        ("cursor", 0, 2**62),
        ("cursor", 1, -(10**9)),
        ("cursor", 1, 10**9),
        ("cursor", 2, 399),
        ("cursor", 3, 0),
        ("cursor", 3, 10**6),
        ("cursor", 4, 10**6),
        ("cursor", 5, -(2**62)),
        ("cursor", [1, 5], [0, 1]),  # moves before the items were passed over: it went on for ever
        ("concentration", 0, np.nan),
        ("concentration", 0, -1.0),
        ("reallocate", 0, 1e300),
        ("reallocate", 0, np.nan),
        ("random", slice(None), 0),
        ("mean", slice(None), np.inf),
        ("root", slice(None), np.nan),
        ("proxy", slice(None), np.nan),
        ("tally", slice(None), -1),
    ],
)
def test_values_that_no_chain_comes_to(begun, again, name, where, value):
    with pytest.raises(FileError, match=ADVICE):
        again(**changed(begun, name, where, value))


def test_sums_that_are_not_those_of_the_items(begun, again):
    changes = changed(begun, "cursor", [1, 5], [len(X), 1])
    changes["state:total"] = begun[1]["state:total"] + 1
    with pytest.raises(FileError, match="its sums are not those of the items"):
        again(**changes)


@pytest.mark.parametrize("name", State._fields)
def test_every_array_must_be_of_the_job(begun, again, name):
    array = begun[1][f"state:{name}"]
    for wrong in (array[:-1], array[None], array.astype(np.float32), array.astype("S8"), None):
        with pytest.raises(FileError, match=ADVICE):
            again(**{f"state:{name}": wrong})


def test_traces_and_fingerprint(begun, again):
    traces = begun[1]["traces"]
    for wrong in (traces[:-1], traces[:, :2], np.zeros((10**4, 3)), traces.astype(str), None):
        with pytest.raises(FileError, match=ADVICE):
            again(traces=wrong)
    with pytest.raises(FileError, match="another run"):
        again(fingerprint=np.array("x"))
    with pytest.raises(FileError, match=ADVICE):
        again(fingerprint=np.array([1, 2]))


@pytest.mark.parametrize("name", ["state-0.npz", "run.npz", "labels-0.npy"])
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
    np.save(tmp_path / "run" / "labels-0.npy", labels)
    with pytest.raises(FileError, match=ADVICE):
        pt.sample_mixture(X, checkpoint=tmp_path / "run", **SETTINGS)


def test_a_seed_that_is_none(begun, tmp_path):
    shutil.copytree(begun[0], tmp_path / "run")
    with np.load(begun[0] / "run.npz") as file:
        np.savez(tmp_path / "run" / "run.npz", **{**file, "seed": np.array("x")})
    with pytest.raises(FileError, match="its seed is no whole number"):
        pt.sample_mixture(X, checkpoint=tmp_path / "run", **SETTINGS)
