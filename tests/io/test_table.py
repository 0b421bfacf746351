"""What every format shares: paths, orientation, and inputs nobody thought of."""

import csv
import gzip
import io
import os
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from partita.errors import FileError, InvalidTypeError, PartitaError
from partita.io import Table, read_npz, read_table

COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
OFTEN = settings(COMMON, max_examples=400)


class TestPaths:
    def test_missing(self, tmp_path):
        with pytest.raises(FileError, match=r"nowhere\.csv' cannot be read: No such file"):
            read_table(tmp_path / "nowhere.csv")

    def test_directory(self, tmp_path):
        with pytest.raises(FileError, match="is a folder and no Zarr"):
            read_table(tmp_path)

    @pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000])
    def test_no_path(self, path):
        with pytest.raises(FileError):
            read_table(path)

    @pytest.mark.parametrize("path", [None, 3, b"a.csv", ["a.csv"]])
    def test_no_kind_of_path(self, path):
        with pytest.raises(InvalidTypeError, match="`path`"):
            read_table(path)

    @pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs /dev/fd")
    def test_a_pipe(self):
        read, write = os.pipe()
        os.write(write, b"1,1,2\n1,2,2\n")
        os.close(write)
        try:
            assert read_table(f"/dev/fd/{read}").labels.tolist() == [[1, 1, 2], [1, 2, 2]]
        finally:
            os.close(read)


def test_orientation_and_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",d1,d2\na,1,1\nb,1,2\nc,2,2\n")
    items = read_table(path, orient="items")
    assert items.labels.tolist() == [[1, 1, 2], [1, 2, 2]]
    assert items.item_names == ("a", "b", "c")
    assert items.assumptions[-1] == "Each row is an item, each column a draw."
    draws = read_table(path, orient="draws")
    assert draws.labels.tolist() == [[1, 1], [1, 2], [2, 2]]
    assert draws.item_names == ("d1", "d2")


def words(alphabet):
    """Texts that are labels: not numbers, not missing, no outer white space."""
    return st.text(alphabet, min_size=1, max_size=6).map(lambda text: "k" + text + "k")


@st.composite
def written_tables(draw):
    """Labels, and one of the many ways to write them."""
    delimiter = draw(st.sampled_from([",", "\t", ";", " "]))
    quoting = draw(st.booleans())
    awkward = ' ,;\t"é' if quoting else "é_"
    if quoting and delimiter != " ":
        awkward += "\n"
    text = words(st.sampled_from("abc" + awkward))
    n_rows, n_columns = draw(st.integers(1, 30)), draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["text", "integers", "decimals"]))
    cell = text if kind == "text" else st.integers(-3, 12) | st.integers(-(2**52), 2**52)
    cells = st.lists(cell, min_size=n_columns, max_size=n_columns)
    labels = draw(st.lists(cells, min_size=n_rows, max_size=n_rows))
    written = [[f"{c}.0" if kind == "decimals" else str(c) for c in row] for row in labels]
    named = draw(st.booleans())
    names = draw(st.lists(text, min_size=n_columns, max_size=n_columns)) if named else None
    index = draw(st.booleans())
    short = index and named and draw(st.booleans())
    if named:
        written.insert(0, [*([""] if index and not short else []), *names])
    if index:
        body = written[1:] if named else written
        for i, row in enumerate(body):
            row.insert(0, f"row{i}")
    buffer = io.StringIO()
    end = draw(st.sampled_from(["\n", "\r\n"]))
    style = csv.QUOTE_ALL if quoting else csv.QUOTE_MINIMAL
    csv.writer(buffer, delimiter=delimiter, quoting=style, lineterminator=end).writerows(written)
    content = buffer.getvalue()
    if draw(st.booleans()):
        content = content.removesuffix(end)
    content += draw(st.sampled_from(["", end, end * 3]))
    data = content.encode("utf-8-sig" if draw(st.booleans()) else "utf-8")
    if draw(st.booleans()):
        data = gzip.compress(data)
    # Names above text, or a bare index, are the two things a reader has to be told.
    told = {"header": named}
    if kind != "text" and named and draw(st.booleans()):
        told = {}
    if index and not named:
        told["index"] = 0
    suffix = "tsv" if delimiter == "\t" else draw(st.sampled_from(["csv", "txt", ""]))
    return labels, kind, names, data, told, suffix


@COMMON
@given(written_tables(), st.sampled_from(["draws", "items"]))
def test_round_trip(tmp_path, case, orient):
    labels, kind, names, data, told, suffix = case
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = read_table(path, orient=orient, **told)
    read = table.labels.T if orient == "items" else table.labels
    if kind == "text":
        assert [[table.label_names[c] for c in row] for row in read.tolist()] == labels
    else:
        assert table.label_names is None
        assert read.tolist() == labels
    if orient == "draws":
        assert table.item_names == (None if names is None else tuple(names))


def read_or_refuse(path, read=read_table, **arguments):
    """Anything but an error of partita's, or an answer, fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = read(path, **arguments)
        except PartitaError as error:
            result = str(error)
    if isinstance(result, str):
        assert "\n" not in result
        assert len(result) < 2000
    if isinstance(result, Table):
        assert result.labels.ndim == 2
        assert result.labels.size
        assert result.labels.dtype.kind in "biuU"


ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "orient": st.sampled_from(["draws", "items"]),
        "header": st.booleans(),
        "index": st.sampled_from([False, 0, 1, "a"]),
    },
)
TEXTISH = st.text(st.sampled_from('01259-.,;\t \n\r"aeNxÀ\0\ufeff')).map(
    lambda text: text.encode("utf-8", "surrogatepass")
)
MAGICAL = st.tuples(
    st.sampled_from([b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08\x00"]),
    st.binary(max_size=200),
).map(b"".join)


@OFTEN
@given(
    st.binary(max_size=300) | TEXTISH | TEXTISH.map(gzip.compress) | MAGICAL,
    st.sampled_from(["csv", "tsv", "txt", "npy", "npz", "csv.gz", "", "parquet"]),
    ARGUMENTS,
)
@example(b'"', "csv", {})
@example(b'""', "csv", {})
@example(b'""\n1\n', "txt", {"header": True})
@example(b'"" ""\n1 2\n', "txt", {})
@example(b",", "csv", {})
@example(b"\n,\n", "csv", {"header": True})
@example(b"a b\n1 2 3", "txt", {"index": 0})
@example(b"\xef\xbb\xbf", "csv", {})
def test_any_bytes(tmp_path, data, suffix, arguments):
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(data)
    read_or_refuse(path, **arguments)
    read_or_refuse(path, read_npz)


def _valid_files():
    labels = np.arange(12, dtype=np.uint8).reshape(3, 4) % 5
    single, plain, packed = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(single, labels)
    np.savez(plain, labels=labels, item_names=np.array(list("abcd")), weights=np.ones(3))
    np.savez_compressed(packed, labels=labels.astype(float), x=np.zeros((2, 2, 2)))
    text = b'"a","b"\r\n"1",2\r\n3,4.0\r\n'
    return [single.getvalue(), plain.getvalue(), packed.getvalue(), gzip.compress(text), text]


@OFTEN
@given(st.data(), st.sampled_from(_valid_files()))
def test_damaged_files(tmp_path, data, whole):
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(damaged)))
    if data.draw(st.booleans()):
        del damaged[cut:]
    path = tmp_path / "damaged"
    path.write_bytes(bytes(damaged))
    read_or_refuse(path)
    read_or_refuse(path, read_npz)
