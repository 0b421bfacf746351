"""Draws written one at a time to an array or a store, and a similarity that grows with them."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
import zarr

import partita as pt
from partita.cli import main
from partita.errors import FileError, InvalidValueError

RNG = np.random.default_rng(0)
ROWS = np.stack([RNG.integers(0, k, 3000) for k in (3, 7, 300, 2, 5)])  # the third needs 16 bits
WEIGHTS = np.array([0.5, 2.0, 0.1, 0.0, 1.25])


def write(writer, numbers, weights=None):
    for m in numbers:
        writer.write(ROWS[m], **({} if weights is None else {"weight": weights[m]}))


def first(m, weights=None):
    return pt.Draws(ROWS[:m], weights=None if weights is None else weights[:m])


def broken_off(writer, rows, error=None):
    with writer:
        for row in rows:
            writer.write(row)
        if error is not None:
            raise error


@pytest.mark.parametrize(
    ("name", "weights"), [("chain.npy", None), ("chain.zarr", None), ("chain.zarr", WEIGHTS)]
)
def test_what_is_written_can_be_read_after_every_draw(tmp_path, capsys, name, weights):
    path = tmp_path / name
    seen = []
    with pt.DrawsWriter(path) as writer:
        for m in range(5):
            write(writer, [m], weights)
            assert pt.read_draws(writer.partial) == first(m + 1, weights)
            early = pt.read_draws(writer.partial, stored=True)
            assert early == first(m + 1, weights)
            seen.append(early)
        with pytest.raises(FileError, match=r"not there yet.*chain\.part\.npy"):
            pt.read_draws(path)
        assert main(["info", writer.partial, "--format", "csv"]) == 0
        assert "draws,5" in capsys.readouterr().out
        sent = pickle.loads(pickle.dumps(seen[0].labels))  # another process opens the file anew
        assert sent.shape == (1, 3000)
        assert seen[0] == first(1, weights)
        assert ("with weights" in repr(writer)) == (weights is not None)
        assert repr(writer).endswith("open)")
    assert repr(writer).endswith("closed)")
    assert writer.n_draws == 5
    assert os.listdir(tmp_path) == [name]
    stored = pt.read_draws(path, stored=True)
    assert not isinstance(stored.labels, np.ndarray)
    assert pt.read_draws(path) == stored == first(5, weights)
    if name.endswith("zarr"):
        assert stored.labels.source.chunks == (5, 1024)
        np.testing.assert_array_equal(zarr.open(str(path), mode="r")["labels"][:], ROWS)
        labels = np.arange(3000) // 1000
        expected = pt.expected_loss(labels, first(5, weights))
        assert pt.expected_loss(labels, stored) == pytest.approx(expected)
    with pt.DrawsWriter(path) as writer:  # what was there gives way
        write(writer, [0], weights)
    assert pt.read_draws(path).n_draws == 1
    assert os.listdir(tmp_path) == [name]


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
    with pytest.raises(FileError, match=r"draws of a chain.*resume=True"):
        pt.DrawsWriter(path)
    with pt.DrawsWriter(path, resume=True) as writer:
        assert (writer.n_draws, writer.n_items) == (2, 2)
        writer.write([1, 0])
    assert os.listdir(tmp_path) == ["a.npy"]
    assert pt.read_draws(path) == pt.Draws([[0, 1], [0, 0], [0, 1]])
    with pytest.raises(InvalidValueError, match="closed"):
        writer.write([0, 1])


KILLED = """
import os, sys
import numpy as np, partita as pt
writer = pt.DrawsWriter(sys.argv[1])
for m in range(int(sys.argv[2])):
    writer.write(np.arange(300) % (m + 1), weight=m + 1.0)
with open(writer.partial, "ab") as file:
    file.write(b"half a row")
os._exit(9)
"""


@pytest.mark.parametrize("n_draws", [1, 4])
def test_a_kill_in_the_middle_of_a_draw_leaves_the_draws_so_far(tmp_path, n_draws):
    path, part = tmp_path / "a.zarr", tmp_path / "a.part.npy"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(n_draws)])
    assert done.returncode == 9
    rows = np.stack([np.arange(300) % (m + 1) for m in range(n_draws)])
    weights = np.arange(n_draws) + 1.0
    assert pt.read_draws(part) == pt.Draws(rows, weights=weights)
    assert pt.read_draws(part, stored=True).n_draws == n_draws
    with pt.DrawsWriter(path, resume=True) as writer:
        assert writer.n_draws == n_draws
        writer.write(rows[0], weight=9)
    whole = pt.Draws(np.stack([*rows, rows[0]]), weights=[*weights, 9])
    assert pt.read_draws(path) == whole


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


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs a limit on the size of files")
def test_a_full_disk_is_said_and_the_draws_before_are_kept(tmp_path):
    """A limit on the size of files stands in for a full disk."""
    path, row = tmp_path / "a.npy", np.arange(1000) % 7
    writer = pt.DrawsWriter(path)
    writer.write(row)
    with limit_of_file_size(os.path.getsize(writer.partial) + 50):
        for _ in range(2):
            with pytest.raises(FileError, match=r"a\.part\.npy.*The draws so far"):
                writer.write(row)
        assert pt.read_draws(writer.partial) == pt.Draws([row])
    writer.write(row[::-1])  # there is room again
    no_room = pytest.raises(FileError, match=r"a\.npy.*close the writer again")
    with limit_of_file_size(500), no_room:
        writer.close()
    writer.close()
    assert pt.read_draws(path) == pt.Draws([row, row[::-1]])
    assert os.listdir(tmp_path) == ["a.npy"]


@pytest.mark.parametrize("earlier", [False, True])
def test_a_disk_that_fills_up_as_a_store_is_closed(tmp_path, monkeypatch, earlier):
    path = tmp_path / "chain.zarr"
    if earlier:
        with pt.DrawsWriter(path) as writer:
            write(writer, [0], WEIGHTS)
    before = sorted(os.listdir(tmp_path))
    writer = pt.DrawsWriter(path)
    write(writer, [0, 1], WEIGHTS)

    def full(*_):
        raise OSError(28, "No space left on device")

    for name in ("mkdir", "rename"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(FileError, match=r"No space left.*part\.npy'; close the"):
                writer.close()
        assert sorted(os.listdir(tmp_path)) == sorted([*before, "chain.part.npy"])
        if earlier:
            assert pt.read_draws(path).n_draws == 1
    write(writer, [2], WEIGHTS)
    writer.close()
    assert pt.read_draws(path) == first(3, WEIGHTS)
    assert os.listdir(tmp_path) == ["chain.zarr"]


def test_what_cannot_be_put_in_its_place_is_kept_and_can_be_closed_again(tmp_path):
    path = tmp_path / "chain.npy"
    writer = pt.DrawsWriter(path)
    writer.write([0, 0, 1])
    path.mkdir()
    for _ in range(2):
        with pytest.raises(FileError, match=r"chain\.npy' is a directory.*chain\.part\.npy"):
            writer.close()
    writer.write([0, 1, 1])
    path.rmdir()
    writer.close()
    assert pt.read_draws(path).n_draws == 2
    assert os.listdir(tmp_path) == ["chain.npy"]


def test_only_what_a_writer_left_is_carried_on_with(tmp_path):
    path, part = tmp_path / "a.npy", tmp_path / "a.part.npy"
    np.save(part, np.zeros((2, 3), np.uint8))
    with pytest.raises(FileError, match="move it away"):
        pt.DrawsWriter(path, resume=True)
    part.write_bytes(b"no such thing" * 20)
    with pytest.raises(FileError, match="move it away"):
        pt.DrawsWriter(path, resume=True)
    for left in (b"", b"\x93NUMPY\x01"):  # it broke off before its first draw
        part.write_bytes(left)
        with pt.DrawsWriter(path, resume=True) as writer:
            assert writer.n_draws == 0
            writer.write([0, 1, 1])
        assert pt.read_draws(path).n_draws == 1
        with pytest.raises(FileError, match=r"finished.*resume=False"):
            pt.DrawsWriter(path, resume=True)
        path.unlink()
    np.save(part, np.zeros((2, 3), np.uint8))
    with pt.DrawsWriter(path, resume=False) as writer:
        writer.write([0, 1])
    assert pt.read_draws(path).n_items == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.csv", r"must end in \.npy or \.zarr.*'\.csv'"),
        ("folder.npy", "is a directory"),
        ("folder.zarr", "no Zarr store; move it away"),
        ("none/a.zarr", "there is no directory"),
        ("none/a.npy", "there is no directory"),
    ],
)
def test_places_that_cannot_be_written_to_are_refused_at_once(tmp_path, name, words):
    for folder in ("folder.npy", "folder.zarr"):
        (tmp_path / folder).mkdir()
    with pytest.raises((FileError, InvalidValueError), match=words):
        pt.DrawsWriter(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["folder.npy", "folder.zarr"]


def test_weights_are_for_stores_and_for_all_draws(tmp_path):
    with pt.DrawsWriter(tmp_path / "a.npy") as writer:
        with pytest.raises(InvalidValueError, match=r"`weight` must .*ends in \.zarr"):
            writer.write([0, 1], weight=1.0)
        writer.write([0, 1])
    with pt.DrawsWriter(tmp_path / "a.zarr") as writer:
        with pytest.raises(InvalidValueError, match="`weight` must"):
            writer.write([0, 1], weight=-1.0)
        writer.write([0, 1], weight=3)
        with pytest.raises(InvalidValueError, match="1 draw before have one each"):
            writer.write([0, 1])
    with pt.DrawsWriter(tmp_path / "b.zarr") as writer:
        writer.write([0, 1])
        with pytest.raises(InvalidValueError, match="1 draw before have none"):
            writer.write([0, 1], weight=1)
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "a.zarr", "b.zarr"]


def test_draws_of_other_items_and_no_draws_are_refused(tmp_path):
    with pytest.raises(InvalidValueError, match="each of the 3 items"):
        broken_off(pt.DrawsWriter(tmp_path / "a.npy"), [[0, 1, 1], [0, 1]])
    with pytest.raises(InvalidValueError, match="at least one draw"):
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
