"""``.npy`` and ``.npz``: what is restored, and every way a file can lie about itself."""

import io
import struct
import zipfile

import numpy as np
import pytest

from partita import validate
from partita.errors import FileError, InvalidTypeError, InvalidValueError, OutOfMemoryError
from partita.io import _numpy, read_npz, read_table, write_npy, write_npz

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

    def test_bytes_become_text(self, tmp_path):
        np.save(tmp_path / "a.npy", np.array([[b"x", b"\xc3\xa9"]]))
        assert read_table(tmp_path / "a.npy").labels.tolist() == [["x", "é"]]

    def test_bytes_that_are_no_text(self, tmp_path):
        np.save(tmp_path / "a.npy", np.array([[b"x", b"\xff"]]))
        with pytest.raises(InvalidTypeError, match="integers or text"):
            read_table(tmp_path / "a.npy")

    def test_items_in_rows(self, tmp_path):
        np.save(tmp_path / "a.npy", LABELS.T)
        table = read_table(tmp_path / "a.npy", orient="items")
        assert table.labels.tolist() == LABELS.tolist()
        assert table.assumptions == ("Each row is an item, each column a draw.",)

    @pytest.mark.parametrize("version", [1, 2, 3])
    def test_format_versions(self, write, version):
        data = np.arange(6, dtype="<i8").tobytes()
        read = read_table(write(npy(data=data, version=version))).labels
        assert read.tolist() == [[0, 1, 2], [3, 4, 5]]

    def test_the_suffix_does_not_matter(self, write):
        assert read_table(write(npy(), "a.csv")).labels.shape == (2, 3)

    def test_stray_bytes_in_bools_are_true(self, write):
        data = bytes([0, 1, 7, 255, 0, 2])
        assert read_table(write(npy("|b1", data=data))).labels.tolist() == [
            [False, True, True],
            [True, False, True],
        ]

    def test_one_dimension(self, tmp_path):
        np.save(tmp_path / "a.npy", LABELS[0])
        with pytest.raises(InvalidValueError, match=r"shape \(1, 3\)"):
            read_table(tmp_path / "a.npy")

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

    @pytest.mark.parametrize("shape", [(), (1, 1, 1, 1)])
    def test_other_dimensions(self, tmp_path, shape):
        np.save(tmp_path / "a.npy", np.zeros(shape))
        with pytest.raises(InvalidValueError, match="2-D"):
            read_table(tmp_path / "a.npy")

    @pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
    def test_nothing_in_it(self, tmp_path, shape):
        np.save(tmp_path / "a.npy", np.zeros(shape, int))
        with pytest.raises(InvalidValueError, match="at least one draw of at least one item"):
            read_table(tmp_path / "a.npy")

    @pytest.mark.parametrize("value", [1.5, np.nan, np.inf])
    def test_floats_that_are_not_whole(self, tmp_path, value):
        array = LABELS.astype(float)
        array[1, 2] = value
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(InvalidValueError, match=r"at \(1, 2\)"):
            read_table(tmp_path / "a.npy")

    def test_objects_are_never_unpickled(self, tmp_path):
        class Trap:
            def __reduce__(self):
                return (pytest.fail, ("unpickled",))

        np.save(tmp_path / "a.npy", np.array([[Trap()]]), allow_pickle=True)
        with pytest.raises(FileError, match=r"pickle.*astype"):
            read_table(tmp_path / "a.npy")

    @pytest.mark.parametrize("dtype", ["c16", "M8[s]", [("a", "i4")], "V4"])
    def test_other_kinds(self, tmp_path, dtype):
        np.save(tmp_path / "a.npy", np.zeros((2, 2), dtype))
        with pytest.raises(FileError, match="dtype"):
            read_table(tmp_path / "a.npy")

    @pytest.mark.parametrize("argument", [{"header": True}, {"index": 0}, {"key": "a"}])
    def test_arguments_of_other_formats(self, tmp_path, argument):
        np.save(tmp_path / "a.npy", LABELS)
        with pytest.raises(InvalidValueError, match=f"`{next(iter(argument))}`"):
            read_table(tmp_path / "a.npy", **argument)


class TestHostileNpy:
    @pytest.mark.parametrize("length", range(6))
    def test_cut_within_the_magic(self, write, length):
        with pytest.raises(FileError):
            read_table(write(npy()[:length]))

    @pytest.mark.parametrize("length", [6, 7, 8, 9, 10, 30])
    def test_cut_within_the_header(self, write, length):
        with pytest.raises(FileError, match=r"truncated|does not begin"):
            read_table(write(npy()[:length]))

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

    @pytest.mark.parametrize(
        "descr",
        ["<U0", "|S0", "<U999999999", "<i3", "zzz", "i4,i4", "(9,)i4", "|V0", "<f99", "", "\xe9"],
    )
    def test_dtypes(self, write, descr):
        with pytest.raises(FileError):
            read_table(write(npy(descr=descr)))

    def test_text_that_is_not_unicode(self, write):
        for point in (0x110000, 0xD800):
            with pytest.raises(FileError, match="not Unicode"):
                read_table(write(npy("<U1", "(1, 1)", struct.pack("<I", point))))

    def test_an_enormous_header(self, write):
        content = b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + bytes(100)
        with pytest.raises(FileError, match="header of 4294967295 bytes"):
            read_table(write(content))

    def test_an_unknown_version(self, write):
        with pytest.raises(FileError, match="version 9"):
            read_table(write(npy()[:6] + b"\x09" + npy()[7:]))

    def test_larger_than_memory(self, write, monkeypatch):
        path = write(npy())
        monkeypatch.setattr(validate, "free_memory", lambda: 40)
        with pytest.raises(OutOfMemoryError, match="48 bytes and 40 bytes are free"):
            read_table(path)


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
        assert table.assumptions[0] == "Labels are the array 'labels': it has that name."

    @pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
    def test_the_only_table(self, tmp_path, save):
        save(tmp_path / "d.npz", z=LABELS, truth=LABELS[0], p=np.zeros((2, 3, 4)))
        table = read_table(tmp_path / "d.npz")
        assert table.labels.tolist() == LABELS.tolist()
        assert "'z'" in table.assumptions[0]

    def test_the_only_table_of_text(self, tmp_path):
        np.savez(tmp_path / "d.npz", z=LABELS.astype(str), truth=LABELS[0])
        assert read_table(tmp_path / "d.npz").labels.tolist() == LABELS.astype(str).tolist()

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

    @pytest.mark.parametrize("name", ["weights", "chains", "item_names", "trace:x", "about:x"])
    def test_what_does_not_fit_is_not_read(self, tmp_path, monkeypatch, name):
        kind = "U4" if name in ("item_names", "about:x") else np.int64
        np.savez_compressed(tmp_path / "d.npz", labels=LABELS, **{name: np.zeros(1 << 16, kind)})
        read = []
        whole = _numpy.Archive.read
        monkeypatch.setattr(
            _numpy.Archive, "read", lambda self, one: (read.append(one), whole(self, one))[1]
        )
        with pytest.raises(FileError, match="does not fit its labels: shape"):
            read_table(tmp_path / "d.npz")
        assert read == []

    def test_all_that_is_read_must_fit_in_the_memory(self, tmp_path, monkeypatch):
        traces = {f"trace:{i}": np.zeros(2) for i in range(99)}
        np.savez(tmp_path / "d.npz", labels=LABELS, **traces)
        assert len(read_table(tmp_path / "d.npz").traces) == 99
        monkeypatch.setattr(validate, "free_memory", lambda: 4000)
        with pytest.raises(OutOfMemoryError):
            read_table(tmp_path / "d.npz")

    def test_a_key_that_is_not_there(self, tmp_path):
        np.savez(tmp_path / "d.npz", labels=LABELS)
        with pytest.raises(InvalidValueError, match=r"'x' and it holds 'labels' \(2, 3\) uint8"):
            read_table(tmp_path / "d.npz", key="x")

    @pytest.mark.parametrize(
        "arrays",
        [
            {"a": LABELS, "b": LABELS},
            {"a": LABELS[0]},
            {"a": np.zeros((1, 2, 3))},
            {f"a{i}": LABELS for i in range(40)},
        ],
    )
    def test_no_way_to_choose(self, tmp_path, arrays):
        np.savez(tmp_path / "d.npz", **arrays)
        with pytest.raises(FileError, match="pass key=") as error:
            read_table(tmp_path / "d.npz")
        assert len(str(error.value)) < 700

    def test_objects_beside_the_labels_do_no_harm_unread(self, tmp_path):
        np.savez(tmp_path / "d.npz", labels=LABELS, meta=np.array([{}], dtype=object))
        assert read_table(tmp_path / "d.npz").labels.tolist() == LABELS.tolist()
        with pytest.raises(FileError, match="pickle"):
            read_npz(tmp_path / "d.npz")

    def test_items_in_rows(self, tmp_path):
        arrays = {"labels": LABELS.T, "item_names": np.array(["a", "b", "c"])}
        write_npz(tmp_path / "d.npz", arrays)
        table = read_table(tmp_path / "d.npz", orient="items")
        assert table.labels.tolist() == LABELS.tolist()
        assert table.item_names == ("a", "b", "c")


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

    def test_a_header_beyond_its_member(self, write):
        path = write(npz({"labels.npy": npy(shape="(1000000000000000, 1)")}), "b.npz")
        with pytest.raises(FileError, match=r"'labels' of .* is truncated or corrupt"):
            read_table(path)

    def test_a_directory_that_overstates_its_member(self, write):
        inner = npy("|u1", "(1, 100000)", bytes(1000))
        content = npz({"labels.npy": inner})
        claimed = len(inner) + 99_000
        size = struct.pack("<II", len(inner), len(inner))
        at = content.rindex(size)
        content = content[:at] + struct.pack("<II", len(inner), claimed) + content[at + 8 :]
        with pytest.raises(FileError, match=r"truncated|corrupt"):
            read_table(write(content, "b.npz"))

    def test_a_wrong_checksum(self, write):
        content = npz({"labels.npy": npy(data=b"\x05" * 48)})
        at = content.index(b"\x05" * 48)
        with pytest.raises(FileError, match="CRC"):
            read_table(write(content[:at] + b"\x06" + content[at + 1 :], "b.npz"))

    def test_cut_short(self, write):
        content = npz({"labels.npy": npy()})
        for length in range(4, len(content), 7):
            with pytest.raises(FileError):
                read_table(write(content[:length], "b.npz"))

    def test_empty_archive(self, write):
        with pytest.raises(FileError, match="without a NumPy array"):
            read_table(write(npz({}), "b.npz"))

    def test_another_kind_of_archive(self, write):
        with pytest.raises(FileError, match="if it is a spreadsheet"):
            read_table(write(npz({"xl/workbook.xml": b"<xml/>"}), "b.xlsx"))

    def test_a_member_that_is_no_array(self, write):
        with pytest.raises(FileError, match=r"'labels' of .* does not begin like"):
            read_table(write(npz({"labels.npy": b"1,2,3"}), "b.npz"))

    @pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_other_compression(self, write, how):
        path = write(npz({"labels.npy": npy()}, compression=how), "b.npz")
        with pytest.raises(FileError, match="a way NumPy never writes"):
            read_table(path)

    def test_encrypted(self, write):
        content = bytearray(npz({"labels.npy": npy()}))
        content[6] |= 1
        content[content.rindex(b"PK\x01\x02") + 8] |= 1
        with pytest.raises(FileError, match="encrypted"):
            read_table(write(bytes(content), "b.npz"))

    @pytest.mark.parametrize("name", ["a.npz", "a.npy"])
    def test_by_name_only(self, write, name):
        with pytest.raises(FileError, match=f"does not begin like a {name[1:]}"):
            read_table(write(b"1,2,3\n", name))


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

    def test_not_an_npz(self, tmp_path):
        write_npy(tmp_path / "a.npy", LABELS)
        with pytest.raises(FileError, match=r"is not an \.npz"):
            read_npz(tmp_path / "a.npy")

    def test_what_is_read_can_be_changed(self, tmp_path):
        write_npz(tmp_path / "e.npz", {"a": LABELS})
        array = read_npz(tmp_path / "e.npz")["a"]
        array[0, 0] = 9
        assert array[0, 0] == 9
