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


def npy(descr="<i8", shape="(2, 3)", data=bytes(48), version=1):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + data


@pytest.fixture
def write(tmp_path):
    def write(content, name="draws.npy", **how):
        if isinstance(content, dict):
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w", **how) as archive:
                for member, data in content.items():
                    archive.writestr(member, data)
            content, name = buffer.getvalue(), "draws.npz"
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


@pytest.fixture
def save(tmp_path):
    def save(*array, **arrays):
        path = tmp_path / ("a.npy" if array else "a.npz")
        (np.save if array else np.savez)(path, *array, **arrays)
        return path

    return save


class TestNpy:
    @pytest.mark.parametrize(
        "dtype", ["u1", "i1", "<i4", ">i4", "<u8", ">f8", "f4", "f2", "?", "<U3", ">U3"]
    )
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_any_dtype_and_order(self, save, dtype, order):
        array = np.asarray(LABELS.astype(dtype), order=order)
        read = read_table(save(array)).labels
        expected = array.astype(int).astype(read.dtype).astype(str)
        assert read.astype(str).tolist() == expected.tolist()
        assert read.dtype.isnative
        assert read.dtype.kind == ("i" if array.dtype.kind == "f" else array.dtype.kind)

    def test_three_dimensions_are_chains_draws_and_items(self, save):
        labels = np.arange(24).reshape(2, 3, 4) % 5
        table = read_table(save(labels))
        assert table.labels.tolist() == labels.reshape(6, 4).tolist()
        assert table.chains.tolist() == [0, 0, 0, 1, 1, 1]

    @pytest.mark.parametrize(
        ("array", "words"),
        [
            (np.full((2, 3, 4), 0.25), r"Similarity\.from_responsibilities"),
            (np.eye(4)[[[0, 1], [2, 3]]], r"Similarity\.from_responsibilities"),
            (np.zeros(3, int), r"save it with shape \(1, 3\)"),
            *[(np.zeros(shape, int), "at least one draw") for shape in [(0, 3), (2, 0), (0, 0)]],
        ],
    )
    def test_what_is_no_table_of_labels(self, save, array, words):
        with pytest.raises(InvalidValueError, match=words):
            read_table(save(array))

    @pytest.mark.parametrize("argument", [{"header": True}, {"index": 0}, {"key": "a"}])
    def test_arguments_of_other_formats(self, save, argument):
        with pytest.raises(InvalidValueError, match=f"`{next(iter(argument))}`"):
            read_table(save(LABELS), **argument)

    @pytest.mark.parametrize("data", [b"", bytes(47), bytes(49), bytes(96)])
    def test_too_few_or_too_many_bytes(self, write, data):
        with pytest.raises(FileError, match=r"says \(2, 3\) int64, 48 bytes, and"):
            read_table(write(npy(data=data)))

    @pytest.mark.parametrize(
        "shape",
        [
            *("(1000000000000000, 1)", "(10**15, 1)", "(-2, 3)", "(-2, -3)", "(2.0, 3)"),
            *("(4611686018427387903, 4611686018427387903)", "(9999999999999999999999, 3)"),
            *("(True, 3)", "[2, 3]", "'23'", "None", f"({'1,' * 65})", "(" * 3000, "2, 3"),
            "__import__('os').getcwd()",
        ],
    )
    def test_shapes_that_lie(self, write, shape):
        with pytest.raises(FileError) as error:
            read_table(write(npy(shape=shape)))
        assert "\n" not in str(error.value)

    def test_records_that_are_no_draws(self, save, write):
        records = np.zeros(3, [("a", "i4"), ("b", "f8")])
        with pytest.raises(FileError, match=r"it holds 'a' \(3,\) int, 'b' \(3,\) float"):
            read_table(save(records))
        with pytest.raises(FileError, match="Python objects"):
            read_table(save(np.zeros(3, [("a", "O")])))
        cut = write(save(records).read_bytes()[:-1])
        with pytest.raises(FileError, match="truncated or corrupt"):
            read_table(cut)

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
        assert (table.labels.tolist(), table.labels.dtype) == (LABELS.tolist(), np.uint8)
        assert table.weights.tolist() == [0.25, 0.75]
        assert table.chains.tolist() == [0, 1]
        assert table.item_names == ("a", "b", "ç")
        traces = {k: v.tolist() for k, v in table.traces.items()}
        assert traces == {"alpha": [1.5, 2.5], "a/b c": [1, 2]}
        assert table.assumptions[0] == "Labels are the variable 'labels': it has that name."

    def test_by_key_and_then_alone(self, save):
        path = save(labels=LABELS, other=LABELS + 1, weights=np.zeros((2, 9)))
        assert read_table(path, key="other").labels.tolist() == (LABELS + 1).tolist()
        assert read_table(path, key="labels").weights is None
        with pytest.raises(FileError, match=r"'weights'.*\(2, 9\) for 2 draws; pass key='labels'"):
            read_table(path)
        with pytest.raises(InvalidValueError, match=r"'x' and it holds 'labels' \(2, 3\) int"):
            read_table(path, key="x")

    @pytest.mark.parametrize(
        "beside",
        [
            *[{"weights": np.ones(3)}, {"weights": np.array(["a", "b"])}],
            *[{"chains": np.array([0.5, 1])}, {"chains": np.array([0])}],
            *[{"item_names": np.array(x)} for x in ([1, 2, 3], ["a"], [["a", "b", "c"]], "a")],
            {"trace:x": np.zeros((2, 2))},
        ],
    )
    def test_what_does_not_fit(self, save, beside):
        with pytest.raises(FileError, match="does not fit its labels"):
            read_table(save(labels=LABELS, **beside))

    def test_objects_beside_labels_are_left_alone(self, save):
        assert read_table(save(z=LABELS, meta=np.array([{}]))).labels.tolist() == LABELS.tolist()

    def test_all_that_is_read_must_fit_in_the_memory(self, save, write, monkeypatch):
        path = save(labels=LABELS, **{f"trace:{i}": np.zeros(2) for i in range(99)})
        assert len(read_table(path).traces) == 99
        bomb = {"labels.npy": npy("|u1", "(1, 10000000)", bytes(10_000_000))}
        small = write(bomb, compression=zipfile.ZIP_DEFLATED)
        assert small.stat().st_size < 20_000
        monkeypatch.setattr(validate, "free_memory", lambda: 1000)
        with pytest.raises(OutOfMemoryError):
            read_table(path)
        for read in (read_table, read_npz):
            with pytest.raises(OutOfMemoryError, match=r"9\.5 MiB and 1000 bytes are free"):
                read(small)

    @pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_other_compression(self, write, how):
        with pytest.raises(FileError, match="a way NumPy never writes"):
            read_table(write({"labels.npy": npy()}, compression=how))

    def test_any_array_and_back(self, tmp_path):
        arrays = {
            "file": np.arange(6.0).reshape(2, 3).T,
            "none": np.zeros((0, 4)),
            "one": np.array(3, dtype=">i2"),
            "text": np.array("vi"),
            "yes": np.array([True, False]),
        }
        write_npz(tmp_path / "e.npz", arrays)
        read = read_npz(tmp_path / "e.npz")
        with np.load(tmp_path / "e.npz") as theirs:
            assert list(read) == list(arrays) == list(theirs)
            for name, array in arrays.items():
                np.testing.assert_array_equal(read[name], array)
                np.testing.assert_array_equal(theirs[name], array)
                assert read[name].dtype == array.dtype.newbyteorder("=")
