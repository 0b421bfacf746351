"""Draws written one at a time to a Zarr store, with weights."""

from __future__ import annotations

import os

import numpy as np
import pytest

import partita as pt

RNG = np.random.default_rng(0)
ROWS = np.stack([RNG.integers(0, k, 3000) for k in (3, 7, 300, 2, 5)])
WEIGHTS = np.array([0.5, 2.0, 0.1, 0.0, 1.25])


def write(writer, numbers, weights=WEIGHTS):
    for m in numbers:
        writer.write(ROWS[m], **({} if weights is None else {"weight": weights[m]}))


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_what_is_written_is_read_back_with_its_weights(tmp_path, weights):
    zarr = pytest.importorskip("zarr")
    path = tmp_path / "chain.zarr"
    with pt.DrawsWriter(path) as writer:
        for m in range(5):
            write(writer, [m], weights)
            so_far = pt.Draws(ROWS[: m + 1], weights=None if weights is None else weights[: m + 1])
            assert pt.read_draws(writer.partial) == so_far
            assert pt.read_draws(writer.partial, stored=True) == so_far
        assert ("with weights" in repr(writer)) == (weights is not None)
    assert os.listdir(tmp_path) == ["chain.zarr"]
    expected = pt.Draws(ROWS, weights=weights)
    assert pt.read_draws(path) == expected
    kept = pt.read_draws(path, stored=True)
    assert not isinstance(kept.labels, np.ndarray)
    assert kept == expected
    assert kept.labels.source.chunks == (5, 1024)
    np.testing.assert_array_equal(zarr.open(str(path), mode="r")["labels"][:], ROWS)
    labels = np.arange(3000) // 1000
    assert pt.expected_loss(labels, kept) == pytest.approx(pt.expected_loss(labels, expected))
    with pt.DrawsWriter(path) as writer:  # what was there gives way
        write(writer, [0], weights)
    assert pt.read_draws(path).n_draws == 1
    assert os.listdir(tmp_path) == ["chain.zarr"]


def test_weights_are_for_stores_and_for_all_draws(tmp_path):
    with pt.DrawsWriter(tmp_path / "a.npy") as writer:
        with pytest.raises(pt.errors.InvalidValueError, match=r"`weight` must .*ends in \.zarr"):
            writer.write([0, 1], weight=1.0)
        writer.write([0, 1])
    with pt.DrawsWriter(tmp_path / "a.zarr") as writer:
        with pytest.raises(pt.errors.InvalidValueError, match="`weight` must"):
            writer.write([0, 1], weight=-1.0)
        writer.write([0, 1], weight=3)
        with pytest.raises(pt.errors.InvalidValueError, match="1 draw before have one each"):
            writer.write([0, 1])
    with pt.DrawsWriter(tmp_path / "b.zarr") as writer:
        writer.write([0, 1])
        with pytest.raises(pt.errors.InvalidValueError, match="1 draw before have none"):
            writer.write([0, 1], weight=1)
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "a.zarr", "b.zarr"]


def test_a_chain_that_broke_off_is_carried_on_with(tmp_path):
    path = tmp_path / "chain.zarr"
    writer = pt.DrawsWriter(path)
    write(writer, [0, 1])
    writer.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    with open(writer.partial, "ab") as file:
        file.write(ROWS[2].astype("<i4").tobytes())  # a third draw, cut off before its weight
    expected = pt.Draws(ROWS[:2], weights=WEIGHTS[:2])
    assert pt.read_draws(writer.partial) == expected
    with pt.DrawsWriter(path, resume=True) as again:
        assert again.n_draws == 2
        write(again, [2])
    assert pt.read_draws(path) == pt.Draws(ROWS[:3], weights=WEIGHTS[:3])
    assert os.listdir(tmp_path) == ["chain.zarr"]


@pytest.mark.parametrize("earlier", [False, True])
def test_a_disk_that_fills_up_as_it_is_closed(tmp_path, monkeypatch, earlier):
    path = tmp_path / "chain.zarr"
    if earlier:
        with pt.DrawsWriter(path) as writer:
            write(writer, [0])
    before = sorted(os.listdir(tmp_path))
    writer = pt.DrawsWriter(path)
    write(writer, [0, 1])

    def full(*_):
        raise OSError(28, "No space left on device")

    for name in ("mkdir", "rename"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(pt.errors.FileError, match=r"No space left.*part\.npy'; close the"):
                writer.close()
        assert sorted(os.listdir(tmp_path)) == sorted([*before, "chain.part.npy"])
        if earlier:
            assert pt.read_draws(path).n_draws == 1
    write(writer, [2])
    writer.close()
    assert pt.read_draws(path) == pt.Draws(ROWS[:3], weights=WEIGHTS[:3])
    assert os.listdir(tmp_path) == ["chain.zarr"]


def test_a_place_of_something_else_is_refused(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    with pytest.raises(pt.errors.FileError, match="no Zarr store; move it away"):
        pt.DrawsWriter(tmp_path / "a.zarr")
    with pytest.raises(pt.errors.FileError, match="there is no directory"):
        pt.DrawsWriter(tmp_path / "b" / "a.zarr")
    assert os.listdir(tmp_path) == ["a.zarr"]
