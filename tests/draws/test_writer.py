"""Draws written one at a time, and a similarity that grows with them."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import partita as pt
from partita.cli import main


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
def test_a_chain_that_breaks_off_leaves_what_was_there_and_its_draws_beside(tmp_path, error):
    path = tmp_path / "a.npy"
    path.write_bytes(b"earlier")
    with pytest.raises(error) as caught:
        broken_off(pt.DrawsWriter(path), [[0, 1], [0, 0]], error)
    assert path.read_bytes() == b"earlier"
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "a.part.npy"]
    assert "2 draws so far are in" in caught.value.__notes__[0]
    assert pt.read_draws(tmp_path / "a.part.npy") == pt.Draws([[0, 1], [0, 0]])
    with pytest.raises(pt.errors.FileError, match=r"draws of a chain.*resume=True"):
        pt.DrawsWriter(path)
    with pt.DrawsWriter(path, resume=True) as writer:
        assert (writer.n_draws, writer.n_items) == (2, 2)
        writer.write([1, 0])
    assert os.listdir(tmp_path) == ["a.npy"]
    assert pt.read_draws(path) == pt.Draws([[0, 1], [0, 0], [0, 1]])
    with pytest.raises(pt.errors.InvalidValueError, match="closed"):
        writer.write([0, 1])


def test_draws_so_far_can_be_read_after_every_draw(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(0, k, 400) for k in (3, 7, 300, 2)])
    with pt.DrawsWriter(tmp_path / "a.npy") as writer:
        for m, row in enumerate(rows, start=1):
            writer.write(row)
            expected = pt.Draws(rows[:m])
            assert pt.read_draws(writer.partial) == expected
            early = pt.read_draws(writer.partial, stored=True)
            assert early == expected
            if m == 1:
                first = early
        with pytest.raises(pt.errors.FileError, match=r"not there yet.*a\.part\.npy"):
            pt.read_draws(tmp_path / "a.npy")
        assert main(["info", writer.partial, "--format", "csv"]) == 0
        assert "draws,4" in capsys.readouterr().out
        sent = pickle.loads(pickle.dumps(first.labels))  # another process opens the file anew
        assert sent.shape == (1, 400)
        assert first == pt.Draws(rows[:1])


KILLED = """
import os, sys
import numpy as np, partita as pt
writer = pt.DrawsWriter(sys.argv[1])
for m in range(int(sys.argv[2])):
    writer.write(np.arange(300) % (m + 1))
with open(writer.partial, "ab") as file:
    file.write(b"half a row")
os._exit(9)
"""


@pytest.mark.parametrize("n_draws", [1, 4])
def test_a_kill_in_the_middle_of_a_row_leaves_the_draws_so_far(tmp_path, n_draws):
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a.npy"), str(n_draws)])
    assert done.returncode == 9
    rows = [np.arange(300) % (m + 1) for m in range(n_draws)]
    part = tmp_path / "a.part.npy"
    assert pt.read_draws(part) == pt.Draws(np.stack(rows))
    assert pt.read_draws(part, stored=True).n_draws == n_draws
    with pt.DrawsWriter(tmp_path / "a.npy", resume=True) as writer:
        assert writer.n_draws == n_draws
        writer.write(rows[0])
    assert pt.read_draws(tmp_path / "a.npy") == pt.Draws(np.stack([*rows, rows[0]]))


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs a limit on the size of files")
def test_a_full_disk_is_said_and_the_draws_before_are_kept(tmp_path):
    """A limit on the size of files stands in for a full disk."""
    path, row = tmp_path / "a.npy", np.arange(1000) % 7
    writer = pt.DrawsWriter(path)
    writer.write(row)
    with limit_of_file_size(os.path.getsize(writer.partial) + 50):
        for _ in range(2):
            with pytest.raises(pt.errors.FileError, match=r"a\.part\.npy.*The draws so far"):
                writer.write(row)
        assert pt.read_draws(writer.partial) == pt.Draws([row])
    writer.write(row[::-1])  # there is room again
    no_room = pytest.raises(pt.errors.FileError, match=r"a\.npy.*close the writer again")
    with limit_of_file_size(500), no_room:
        writer.close()
    writer.close()
    assert pt.read_draws(path) == pt.Draws([row, row[::-1]])
    assert os.listdir(tmp_path) == ["a.npy"]


@contextmanager
def limit_of_file_size(n_bytes):
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    heard = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, heard)


def test_what_cannot_be_put_in_its_place_is_kept_and_can_be_closed_again(tmp_path):
    path = tmp_path / "chain.npy"
    writer = pt.DrawsWriter(path)
    writer.write([0, 0, 1])
    path.mkdir()
    for _ in range(2):
        with pytest.raises(
            pt.errors.FileError, match=r"chain\.npy' is a directory.*chain\.part\.npy"
        ):
            writer.close()
    writer.write([0, 1, 1])
    path.rmdir()
    writer.close()
    assert pt.read_draws(path).n_draws == 2
    assert not (tmp_path / "chain.part.npy").exists()


def test_a_writer_says_what_it_has_and_writes_no_other_format(tmp_path):
    with pt.DrawsWriter(tmp_path / "a.npy") as writer:
        writer.write([0, 1])
        assert repr(writer).endswith("a.npy', 1 draw, open)")
    assert repr(writer).endswith("1 draw, closed)")
    with pytest.raises(pt.errors.InvalidValueError, match=r"must end in \.npy or \.zarr.*'\.csv'"):
        pt.DrawsWriter(tmp_path / "a.csv")
    assert sorted(os.listdir(tmp_path)) == ["a.npy"]


def test_only_a_file_that_a_writer_left_is_carried_on_with(tmp_path):
    np.save(tmp_path / "a.part.npy", np.zeros((2, 3), np.uint8))
    with pytest.raises(pt.errors.FileError, match="move it away"):
        pt.DrawsWriter(tmp_path / "a.npy", resume=True)
    (tmp_path / "a.part.npy").write_bytes(b"no such thing" * 20)
    with pytest.raises(pt.errors.FileError, match="move it away"):
        pt.DrawsWriter(tmp_path / "a.npy", resume=True)
    os.mkdir(tmp_path / "b.npy")
    with pytest.raises(pt.errors.FileError, match="directory"):
        pt.DrawsWriter(tmp_path / "b.npy")
    with pt.DrawsWriter(tmp_path / "a.npy", resume=False) as writer:
        writer.write([0, 1])
    assert pt.read_draws(tmp_path / "a.npy").n_items == 2


def test_draws_of_other_items_and_no_draws_are_refused(tmp_path):
    with pytest.raises(pt.errors.InvalidValueError, match="each of the 3 items"):
        broken_off(pt.DrawsWriter(tmp_path / "a.npy"), [[0, 1, 1], [0, 1]])
    with pytest.raises(pt.errors.InvalidValueError, match="at least one draw"):
        broken_off(pt.DrawsWriter(tmp_path / "b.npy"), [])
    assert os.listdir(tmp_path) == ["a.part.npy"]


@pytest.mark.parametrize("weights", [None, "ones", "random"])
def test_a_built_similarity_is_that_of_all_the_draws(weights):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, (150, 30))
    w = {"ones": np.ones(150), "random": rng.random(150)}.get(weights)
    builder = pt.SimilarityBuilder()
    assert repr(builder) == "SimilarityBuilder(0 draws)"
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
    assert repr(builder) == "SimilarityBuilder(150 draws of 30 items)"
    with pytest.raises(pt.errors.InvalidValueError, match="each of the 30 items"):
        builder.update([0, 1])
    with pytest.raises(pt.errors.InvalidValueError, match="at least one draw"):
        pt.SimilarityBuilder().similarity()


def test_ctrl_c_in_an_update_counts_no_draw_twice(monkeypatch):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 4, (130, 300))
    builder = pt.SimilarityBuilder(n_jobs=1)
    for row in labels[:127]:
        builder.update(row)

    def interrupted(*args, **how):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pt.Similarity, "to_dense", interrupted)
        with pytest.raises(KeyboardInterrupt):
            builder.update(labels[127])
        with pytest.raises(KeyboardInterrupt):
            builder.similarity()
    assert builder.n_draws == 127
    for row in labels[127:]:
        builder.update(row)
    assert builder.n_draws == 130
    np.testing.assert_array_equal(builder.similarity(), pt.posterior_similarity(labels))


@pytest.mark.parametrize("name", ["a.npy", "a.zarr"])
def test_a_finished_chain_is_not_resumed_from_nothing(tmp_path, name):
    path = tmp_path / name
    with pt.DrawsWriter(path) as writer:
        writer.write([0, 1, 1])
    with pytest.raises(pt.errors.FileError, match=r"finished.*resume=False"):
        pt.DrawsWriter(path, resume=True)
    assert pt.read_draws(path).n_draws == 1


@pytest.mark.parametrize("left", [b"", b"\x93NUMPY\x01"])
def test_a_chain_that_broke_off_before_its_first_draw_begins_again(tmp_path, left):
    (tmp_path / "a.part.npy").write_bytes(left)
    with pt.DrawsWriter(tmp_path / "a.npy", resume=True) as writer:
        assert writer.n_draws == 0
        writer.write([0, 1, 1])
    assert pt.read_draws(tmp_path / "a.npy").n_draws == 1
