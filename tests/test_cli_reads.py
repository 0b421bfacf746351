"""Whatever file the shell is given: an answer or one line, and nothing fetched."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import socketserver
import tarfile
import threading
import zipfile
from argparse import Namespace
from http.server import BaseHTTPRequestHandler

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from partita import validate
from partita.cli import main
from partita.cli._data import read_table
from partita.cli._matrix import read_similarity
from partita.errors import FileError, InvalidValueError, OutOfMemoryError, PartitaError

TABLE = b"x,y\n1,2\n3.5,4\n"
MATRIX = b",a,b\na,1,0.5\nb,0.5,1\n"


def tar(content):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        about = tarfile.TarInfo("a.csv")
        about.size = len(content)
        archive.addfile(about, io.BytesIO(content))
    return buffer.getvalue()


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.csv", content)
    return buffer.getvalue()


def zst(content):
    return b"\x28\xb5\x2f\xfd" + content


def whole(content):
    return content


COMPRESSED = {
    "xz": lzma.compress,
    "zip": zipped,
    "zst": zst,
    "bz2": bz2.compress,
    "tar": tar,
    "tar.gz": lambda content: gzip.compress(tar(content)),
}


def data(path):
    return read_table(Namespace(data=str(path), columns=None, names=None))


@pytest.fixture
def address():
    """Where a server on this machine hands out a sound table, and whom it gave it to."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(TABLE)

        def log_message(self, *_):
            pass

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/a.csv", asked
        server.shutdown()
        thread.join()


def test_nothing_is_fetched(address, capsys):
    url, asked = address
    for words in (["sample", url], ["run", url], ["estimate", url, "--similarity"]):
        assert main(words) == 2
        assert "cannot be read: " in capsys.readouterr().err
    with pytest.raises(FileError, match="cannot be read: "):
        data(url)
    assert asked == []


@pytest.mark.parametrize("suffix", COMPRESSED)
@pytest.mark.parametrize("damage", [whole, lambda c: c[: len(c) // 2], lambda c: b"\1" + c[1:]])
def test_archives_are_not_opened_by_their_suffix(tmp_path, suffix, damage):
    for read, content in ((data, TABLE), (lambda p: read_similarity(str(p), key=None), MATRIX)):
        path = tmp_path / f"a.csv.{suffix}"
        path.write_bytes(damage(COMPRESSED[suffix](content)))
        with pytest.raises(PartitaError) as caught:
            read(path)
        assert "\n" not in str(caught.value)


def test_gzip_is_read_whatever_its_name_is(tmp_path):
    (tmp_path / "a.csv").write_bytes(gzip.compress(TABLE))
    assert data(tmp_path / "a.csv").to_numpy().tolist() == [[1, 2], [3.5, 4]]
    (tmp_path / "m.csv").write_bytes(gzip.compress(MATRIX))
    psm = read_similarity(str(tmp_path / "m.csv"), key=None)
    assert psm.item_names == ("a", "b")
    (tmp_path / "a.csv").write_bytes(gzip.compress(TABLE)[:-9])
    with pytest.raises(FileError, match="truncated or corrupt"):
        data(tmp_path / "a.csv")


def test_a_table_that_grows_beyond_the_memory_is_given_up(tmp_path, monkeypatch):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * (1 << 21)))
    assert len(data(tmp_path / "a.csv.gz")) == 1 << 21
    monkeypatch.setattr(validate, "free_memory", lambda: 1 << 24)
    with pytest.raises(OutOfMemoryError, match="as a table would take"):
        data(tmp_path / "a.csv.gz")


NO_TABLES = {
    "empty": b"",
    "blank": b"\n\n",
    "ragged": b"x,y\n1,2\n1,2,3,4\n",
    "quote": b'"a,b\n',
    "bytes": b"\xff\xfe,\n",
    "null": b"a\0,b\n",
    "lines": b"x\n" + b" \n" * ((1 << 20) + 1),
}


@pytest.mark.parametrize("content", NO_TABLES.values(), ids=NO_TABLES)
def test_what_is_no_table(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    for read in (data, lambda p: read_similarity(str(p), key=None)):
        with pytest.raises(PartitaError) as caught:
            read(tmp_path / "a.csv")
        assert "\n" not in str(caught.value)


def test_names_over_several_lines_make_one(tmp_path):
    (tmp_path / "a.csv").write_text('c,"a\nb"\n1,x\n2,y\n')
    with pytest.raises(InvalidValueError, match=r"not numbers \(a b\)") as caught:
        data(tmp_path / "a.csv")
    assert "\n" not in str(caught.value)


def test_the_stream_gives_what_the_file_holds(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(3000, 7)), columns=list("abcdefg"))
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert data(tmp_path / "a.csv").equals(pd.read_csv(tmp_path / "a.csv"))


def test_weights_taken_for_labels_are_told_of_in_the_shell_s_words(tmp_path, capsys):
    logs = np.log(np.full((2, 5, 4, 3), 1 / 3))
    xr.Dataset({"log_weights": (("chain", "draw", "i", "k"), logs)}).to_netcdf(tmp_path / "lw.nc")
    for words in ([], ["--key", "log_weights"]):
        assert main(["info", str(tmp_path / "lw.nc"), *words]) == 2
        said = capsys.readouterr().err
        assert "use --log-weights" in said
        assert "from_log_weights" not in said
