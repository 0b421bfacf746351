"""``.npy`` and ``.npz``: what is restored, and every way a file can lie about itself."""

import io
import struct
import zipfile

import numpy as np
import pytest

from partita import validate
from partita.errors import FileError, InvalidValueError, OutOfMemoryError
from partita.io import read_npz, read_table, write_npz

LABELS = np.array([[0, 0, 1], [0, 1, 1]], dtype=np.uint8)


def npy(descr="<i8", shape="(2, 3)", data=bytes(48), fortran="False", version=1):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + data


def npz(members, **how):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def write(tmp_path):
    def write(content, name="draws.npy"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


class TestNpy:
    @pytest.mark.parametrize(
        "dtype", ["u1", "i1", "<i4", ">i4", "<u8", ">f8", "f4", "f2", "?", "<U3", ">U3"]
    )
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_any_dtype_and_order(self, tmp_path, dtype, order):
        array = np.asarray(LABELS.astype(dtype), order=order)
        np.save(tmp_path / "a.npy", array)
        read = read_table(tmp_path / "a.npy").labels
        assert (
            read.astype(str).tolist() == array.astype(int).astype(read.dtype).astype(str).tolist()
        )
        assert read.dtype.isnative
        assert read.dtype.kind == ("i" if array.dtype.kind == "f" else array.dtype.kind)

    def test_three_dimensions_are_chains_draws_and_items(self, tmp_path):
        labels = np.arange(24).reshape(2, 3, 4) % 5
        np.save(tmp_path / "a.npy", labels)
        table = read_table(tmp_path / "a.npy")
        assert table.labels.tolist() == labels.reshape(6, 4).tolist()
        assert table.chains.tolist() == [0, 0, 0, 1, 1, 1]

    @pytest.mark.parametrize("array", [np.full((2, 3, 4), 0.25), np.eye(4)[[[0, 1], [2, 3]]]])
    def test_memberships_are_not_labels(self, tmp_path, array):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(InvalidValueError, match=r"Similarity\.from_responsibilities"):
            read_table(tmp_path / "a.npy")

    @pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
    def test_nothing_in_it(self, tmp_path, shape):
        np.save(tmp_path / "a.npy", np.zeros(shape, int))
        with pytest.raises(InvalidValueError, match="at least one draw of at least one item"):
            read_table(tmp_path / "a.npy")

    def test_objects_are_never_unpickled(self, tmp_path):
        class Trap:
            def __reduce__(self):
                return (pytest.fail, ("unpickled",))

        np.save(tmp_path / "a.npy", np.array([[Trap()]]), allow_pickle=True)
        with pytest.raises(FileError, match=r"pickle.*astype"):
            read_table(tmp_path / "a.npy")

    @pytest.mark.parametrize("argument", [{"header": True}, {"index": 0}, {"key": "a"}])
    def test_arguments_of_other_formats(self, tmp_path, argument):
        np.save(tmp_path / "a.npy", LABELS)
        with pytest.raises(InvalidValueError, match=f"`{next(iter(argument))}`"):
            read_table(tmp_path / "a.npy", **argument)


class TestHostileNpy:
    @pytest.mark.parametrize("data", [b"", bytes(47), bytes(49), bytes(96)])
    def test_too_few_or_too_many_bytes(self, write, data):
        with pytest.raises(FileError, match=r"says \(2, 3\) int64, 48 bytes, and"):
            read_table(write(npy(data=data)))

    @pytest.mark.parametrize(
        "shape",
        [
            "(1000000000000000, 1)",
            "(10**15, 1)",
            "(4611686018427387903, 4611686018427387903)",
            "(-2, 3)",
            "(-2, -3)",
            "(2.0, 3)",
            "(True, 3)",
            "(9999999999999999999999, 3)",
            "[2, 3]",
            "'23'",
            "None",
            f"({'1,' * 65})",
            "(" * 3000,
            "2, 3",
            "__import__('os').getcwd()",
        ],
    )
    def test_shapes(self, write, shape):
        with pytest.raises(FileError) as error:
            read_table(write(npy(shape=shape)))
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize("shape", ["(0, 4611686018427387903)", f"({2**61}, 0, {2**61})"])
    def test_empty_and_enormous(self, write, shape):
        with pytest.raises((FileError, InvalidValueError)):
            read_table(write(npy(shape=shape, data=b"")))


class TestNpz:
    def test_our_own_layout(self, tmp_path):
        arrays = {
            "labels": LABELS,
            "weights": np.array([0.25, 0.75]),
            "chains": np.array([0, 1]),
            "item_names": np.array(["a", "b", "ç"]),
            "trace:alpha": np.array([1.5, 2.5]),
            "trace:a/b c": np.array([1, 2]),
        }
        write_npz(tmp_path / "d.npz", arrays)
        table = read_table(tmp_path / "d.npz")
        assert table.labels.tolist() == LABELS.tolist()
        assert table.labels.dtype == np.uint8
        assert table.weights.tolist() == [0.25, 0.75]
        assert table.chains.tolist() == [0, 1]
        assert table.item_names == ("a", "b", "ç")
        assert {k: v.tolist() for k, v in table.traces.items()} == {
            "alpha": [1.5, 2.5],
            "a/b c": [1, 2],
        }
        assert table.assumptions[0] == "Labels are the variable 'labels': it has that name."

    def test_by_key_and_then_alone(self, tmp_path):
        np.savez(tmp_path / "d.npz", labels=LABELS, other=LABELS + 1, weights=np.zeros((2, 9)))
        path = tmp_path / "d.npz"
        assert read_table(path, key="other").labels.tolist() == (LABELS + 1).tolist()
        assert read_table(path, key="labels").weights is None
        with pytest.raises(FileError, match=r"'weights'.*\(2, 9\) for 2 draws; pass key='labels'"):
            read_table(path)

    @pytest.mark.parametrize(
        "beside",
        [
            {"weights": np.ones(3)},
            {"weights": np.array(["a", "b"])},
            {"chains": np.array([0.5, 1])},
            {"chains": np.array([0])},
            {"item_names": np.array([1, 2, 3])},
            {"item_names": np.array(["a"])},
            {"item_names": np.array([["a", "b", "c"]])},
            {"item_names": np.array("a")},
            {"trace:x": np.zeros((2, 2))},
        ],
    )
    def test_what_does_not_fit(self, tmp_path, beside):
        np.savez(tmp_path / "d.npz", labels=LABELS, **beside)
        with pytest.raises(FileError, match="does not fit its labels"):
            read_table(tmp_path / "d.npz")

    def test_all_that_is_read_must_fit_in_the_memory(self, tmp_path, monkeypatch):
        traces = {f"trace:{i}": np.zeros(2) for i in range(99)}
        np.savez(tmp_path / "d.npz", labels=LABELS, **traces)
        assert len(read_table(tmp_path / "d.npz").traces) == 99
        monkeypatch.setattr(validate, "free_memory", lambda: 1000)
        with pytest.raises(OutOfMemoryError):
            read_table(tmp_path / "d.npz")

    def test_a_key_that_is_not_there(self, tmp_path):
        np.savez(tmp_path / "d.npz", labels=LABELS)
        with pytest.raises(InvalidValueError, match=r"'x' and it holds 'labels' \(2, 3\) int"):
            read_table(tmp_path / "d.npz", key="x")


class TestHostileNpz:
    def test_a_bomb(self, write, monkeypatch):
        bomb = npz(
            {"labels.npy": npy("|u1", "(1, 10000000)", bytes(10_000_000))},
            compression=zipfile.ZIP_DEFLATED,
        )
        assert len(bomb) < 20_000
        monkeypatch.setattr(validate, "free_memory", lambda: 1_000_000)
        for read in (read_table, read_npz):
            with pytest.raises(OutOfMemoryError, match=r"9\.5 MiB and 976\.6 KiB are free"):
                read(write(bomb, "b.npz"))

    @pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_other_compression(self, write, how):
        path = write(npz({"labels.npy": npy()}, compression=how), "b.npz")
        with pytest.raises(FileError, match="a way NumPy never writes"):
            read_table(path)


class TestReadNpz:
    def test_round_trip(self, tmp_path):
        arrays = {
            "file": np.arange(6.0).reshape(2, 3).T,
            "none": np.zeros((0, 4)),
            "one": np.array(3, dtype=">i2"),
            "text": np.array("vi"),
            "yes": np.array([True, False]),
        }
        write_npz(tmp_path / "e.npz", arrays)
        read = read_npz(tmp_path / "e.npz")
        assert list(read) == list(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(read[name], array)
            assert read[name].dtype == array.dtype.newbyteorder("=")
        with np.load(tmp_path / "e.npz") as theirs:
            for name, array in arrays.items():
                np.testing.assert_array_equal(theirs[name], array)
