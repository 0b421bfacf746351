"""Nothing is half-written: the target is the old file or the whole new one."""

import errno
import os
import stat

import numpy as np
import pytest

from partita import read_draws
from partita.errors import FileError, InvalidTypeError
from partita.io import open_stored, write_atomically, write_npy, write_npz, write_store, write_text


def test_the_target_appears_whole(tmp_path):
    path = tmp_path / "a.txt"
    with write_atomically(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_the_old_file_survives_an_exception(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_half():
        with write_atomically(path) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_another_files_error_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError, match="other"), write_atomically(tmp_path / "a.txt"):
        os.stat(tmp_path / "other")
    assert os.listdir(tmp_path) == []


def test_no_room_to_rename(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(FileError, match="Input/output error"):
        write_text(tmp_path / "a.txt", "x")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
class TestModes:
    def test_the_umask_holds(self, tmp_path):
        old = os.umask(0o027)
        try:
            write_text(tmp_path / "a.txt", "x")
        finally:
            os.umask(old)
        assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640

    def test_a_replaced_file_keeps_its_mode(self, tmp_path):
        path = tmp_path / "a.txt"
        path.write_text("old")
        path.chmod(0o600)
        write_text(path, "new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_a_link_is_followed(self, tmp_path):
        (tmp_path / "real.txt").write_text("old")
        (tmp_path / "link.txt").symlink_to("real.txt")
        write_text(tmp_path / "link.txt", "new")
        assert (tmp_path / "link.txt").is_symlink()
        assert (tmp_path / "real.txt").read_text() == "new"

    def test_a_device_is_written_to_and_not_replaced(self):
        write_text(os.devnull, "x")
        assert stat.S_ISCHR(os.stat(os.devnull).st_mode)

    def test_a_pipe(self, tmp_path):
        read, write = os.pipe()
        write_npz(f"/dev/fd/{write}", {"a": np.arange(3)})
        os.close(write)
        with open(read, "rb") as file:
            assert file.read(4) == b"PK\x03\x04"


class TestRefusals:
    @pytest.mark.parametrize("ending", ["", "/", "/new/"])
    def test_a_directory(self, tmp_path, ending):
        with pytest.raises(FileError, match="is a directory"):
            write_text(f"{tmp_path}{ending}", "x")

    def test_a_file_in_place_of_the_directory(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(FileError, match=r"file.a\.txt"):
            write_text(tmp_path / "file" / "a.txt", "x")

    def test_objects(self, tmp_path):
        objects = np.array([{}], dtype=object)
        with pytest.raises(InvalidTypeError, match=r"`meta` .* without pickle"):
            write_npz(tmp_path / "a.npz", {"labels": np.arange(3), "meta": objects})
        with pytest.raises(InvalidTypeError, match="without pickle"):
            write_npy(tmp_path / "a.npy", objects)
        assert os.listdir(tmp_path) == []


def test_npy_is_numpys(tmp_path):
    array = np.asfortranarray(np.arange(6).reshape(2, 3))
    write_npy(tmp_path / "matrix", array)
    np.testing.assert_array_equal(np.load(tmp_path / "matrix"), array)


def test_npz_gives_the_same_bytes_twice(tmp_path):
    arrays = {"labels": np.arange(6).reshape(2, 3), "item_names": np.array(["a", "b", "c"])}
    for name in ("a.npz", "b.npz"):
        write_npz(tmp_path / name, arrays)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("moves", [1, 2])
def test_an_interrupt_between_two_stores_leaves_one(tmp_path, monkeypatch, moves):
    path = str(tmp_path / "a.zarr")
    np.save(tmp_path / "b.npy", np.zeros((2, 3), dtype=np.uint8))
    labels = open_stored(tmp_path / "b.npy")
    write_store(path, labels, labels.dtype, None, 3)
    rename, done = os.rename, []

    def interrupted(*args):
        rename(*args)
        done.append(args)
        if len(done) == moves:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_store(path, labels, labels.dtype, None, 3)
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", "b.npy"]
    assert read_draws(path).n_draws == 2
