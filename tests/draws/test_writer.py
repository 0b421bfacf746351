"""Draws written one at a time, and a similarity that grows with them."""

from __future__ import annotations

import os

import numpy as np
import pytest

import partita as pt


def test_what_is_written_is_read_back_whole_or_in_blocks(tmp_path):
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, k, 400) for k in (3, 7, 300, 2)]  # the third needs wider labels
    with pt.DrawsWriter(tmp_path / "a.npy") as writer:
        for row in rows:
            writer.write(row)
    assert writer.n_draws == 4
    expected = pt.Draws(np.stack(rows))
    assert pt.read_draws(tmp_path / "a.npy") == expected
    kept = pt.read_draws(tmp_path / "a.npy", stored=True)
    assert not isinstance(kept.labels, np.ndarray)
    assert kept == expected
    assert os.listdir(tmp_path) == ["a.npy"]


def broken_off(writer, rows, error=None):
    with writer:
        for row in rows:
            writer.write(row)
        if error is not None:
            raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_chain_that_breaks_off_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "a.npy"
    path.write_bytes(b"earlier")
    with pytest.raises(error):
        broken_off(pt.DrawsWriter(path), [[0, 1]], error)
    assert path.read_bytes() == b"earlier"
    assert os.listdir(tmp_path) == ["a.npy"]
    writer = pt.DrawsWriter(path)
    writer.write([0, 1])
    writer.close()
    with pytest.raises(pt.errors.InvalidValueError, match="closed"):
        writer.write([0, 1])


def test_a_full_disk_is_said_and_nothing_is_left(tmp_path, monkeypatch):
    path = tmp_path / "a.npy"
    writer = pt.DrawsWriter(path)
    file = writer._file

    class Full:
        def write(self, data):
            raise OSError(28, "No space left on device")

    writer._file = Full()
    with pytest.raises(pt.errors.FileError, match=r"a\.npy.*No space left"):
        writer.write([0, 0, 1])
    assert os.listdir(tmp_path) == []
    assert file.closed


def test_draws_of_other_items_and_no_draws_are_refused(tmp_path):
    with pytest.raises(pt.errors.InvalidValueError, match="each of the 3 items"):
        broken_off(pt.DrawsWriter(tmp_path / "a.npy"), [[0, 1, 1], [0, 1]])
    with pytest.raises(pt.errors.InvalidValueError, match="at least one draw"):
        broken_off(pt.DrawsWriter(tmp_path / "b.npy"), [])
    assert os.listdir(tmp_path) == []


def test_only_files_that_can_be_read_in_blocks_stay_stored(tmp_path):
    (tmp_path / "a.csv").write_text("0,0,1\n0,1,1\n")
    with pytest.raises(pt.errors.InvalidValueError, match="`stored` needs"):
        pt.read_draws(tmp_path / "a.csv", stored=True)


@pytest.mark.parametrize("weights", [None, "ones", "random"])
def test_a_built_similarity_is_that_of_all_the_draws(weights):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, (150, 30))
    w = {"ones": np.ones(150), "random": rng.random(150)}.get(weights)
    builder = pt.SimilarityBuilder()
    for m, row in enumerate(labels):
        builder.update(row, **({} if w is None else {"weight": w[m]}))
        if m == 70:
            early = pt.posterior_similarity(
                pt.Draws(labels[:71], weights=None if w is None else w[:71])
            )
            np.testing.assert_allclose(builder.similarity(), early.to_dense(), atol=1e-12)
    whole = pt.posterior_similarity(pt.Draws(labels, weights=w))
    np.testing.assert_allclose(builder.similarity(), whole.to_dense(), atol=1e-12)
    assert builder.n_draws == 150
    with pytest.raises(pt.errors.InvalidValueError, match="each of the 30 items"):
        builder.update([0, 1])
    with pytest.raises(pt.errors.InvalidValueError, match="at least one draw"):
        pt.SimilarityBuilder().similarity()
