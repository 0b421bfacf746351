"""Whatever file the shell is given: an answer or one line, and nothing fetched."""

from __future__ import annotations

import gzip
import lzma
import re
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import partita as pt
from partita import validate

TABLE = b"x,y\n1,2\n3.5,4\n0,1\n"
MATRIX = b",a,b\na,1,0.5\nb,0.5,1\n"
SHORT = ("--n-draws", 2, "--n-burn", 1, "--n-chains", 1, "--seed", 0, "--n-jobs", 1, "-o")


@pytest.fixture
def sampled(shell, tmp_path):
    """Sample the rows of a data file, and return the draws."""

    def sampled(path, *words):
        shell("sample", path, *words, *SHORT, tmp_path / "sampled.npz")
        return pt.read_draws(tmp_path / "sampled.npz")

    return sampled


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

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/a.csv", asked
        server.shutdown()
        thread.join()


def test_nothing_is_fetched(address, shell):
    url, asked = address
    for words in (["sample", url], ["run", url], ["estimate", url, "--similarity"]):
        assert "cannot be read: " in shell.refused(*words)
    assert asked == []


def test_archives_are_not_opened_by_their_suffix(shell, tmp_path):
    for content, words in ((TABLE, ["sample"]), (MATRIX, ["estimate", "--similarity"])):
        for damaged in (
            lzma.compress(content),
            lzma.compress(content)[:20],
            b"\1" + lzma.compress(content)[1:],
        ):
            (tmp_path / "a.csv.xz").write_bytes(damaged)
            shell.refused(*words, tmp_path / "a.csv.xz")


def test_gzip_is_read_whatever_its_name_is(shell, sampled, tmp_path):
    (tmp_path / "a.csv").write_bytes(gzip.compress(TABLE))
    assert sampled(tmp_path / "a.csv").n_items == 3
    (tmp_path / "m.csv").write_bytes(gzip.compress(MATRIX))
    answer = shell.json("estimate", tmp_path / "m.csv", "--similarity")
    assert [row["item"] for row in answer["items"]] == ["a", "b"]
    (tmp_path / "a.csv").write_bytes(gzip.compress(TABLE)[:-9])
    assert "truncated or corrupt" in shell.refused("sample", tmp_path / "a.csv")


def test_a_table_that_grows_beyond_the_memory_is_given_up(shell, tmp_path, monkeypatch):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * (1 << 21)))
    monkeypatch.setattr(validate, "free_memory", lambda: 1 << 24)
    assert "as a table would take" in shell.refused("sample", tmp_path / "a.csv.gz")


def test_what_heads_a_table_of_data_is_not_an_item(shell, sampled, tmp_path):
    path = tmp_path / "a.csv"
    rows = "\n".join(",".join(f"{i + k}.5" for k in range(13)) for i in range(4))
    path.write_text(",".join(map(str, range(13))) + "\n" + rows + "\n")
    assert sampled(path, "--covariance", "diagonal").n_items == 4
    assert "counts the columns" in shell.err
    path.write_text("# from the lab\nx|y\n1|2\n3|4\n")
    assert sampled(path, "--covariance", "diagonal").n_items == 2
    path.write_text("1,2\n3,4\n5,7\n")
    assert sampled(path).n_items == 3
    assert "taken as an item" in shell.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", ""),
        (b"\n\n", ""),
        (b"x,y\n1,2\n1,2,3,4\n", "is not a table"),
        (b'"a,b\n', ""),
        (b"\xff\xfe,\n", ""),
        (b"a\0,b\n", ""),
        (b"x\n" + b" \n" * ((1 << 20) + 1), ""),
        (b"gal1,9.2,8\ngal2,9.4,7\n", "holds text and then numbers"),
        (b'x,y\n"1,234","2,345"\n', "not numbers"),
        (b'c,"a\nb"\n1,x\n2,y\n', "not numbers (a b)"),
    ],
)
def test_what_is_no_table(shell, tmp_path, content, said):
    (tmp_path / "a.csv").write_bytes(content)
    assert said in shell.refused("sample", tmp_path / "a.csv")
    shell.refused("estimate", tmp_path / "a.csv", "--similarity")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"header": False, "index": False}, "taken as an item"),
        ({"header": True, "index": True}, "taken as an index"),
        ({"header": True, "index": False}, ""),
    ],
)
def test_every_item_is_read_and_no_index_is_data(shell, sampled, tmp_path, mark, words, said):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(8, 2)), columns=["a", "b"])
    frame.to_csv(tmp_path / "data.csv", sep=mark, **words)
    found = sampled(tmp_path / "data.csv")
    again = pt.sample_mixture(frame.to_numpy(), n_draws=2, n_burn=1, rng=0)
    assert (found.labels == again.labels).all()
    assert said in shell.err if said else "taken as" not in shell.err


def test_weights_taken_for_labels_are_told_of(shell, tmp_path):
    logs = np.log(np.full((2, 5, 4, 3), 1 / 3))
    xr.Dataset({"log_weights": (("chain", "draw", "i", "k"), logs)}).to_netcdf(tmp_path / "lw.nc")
    for words in ([], ["--key", "log_weights"]):
        assert "log_weights" in shell.refused("info", tmp_path / "lw.nc", *words)
    assert shell.json("info", tmp_path / "lw.nc", "--log-weights")["draws"] == 10


@pytest.fixture(params=[None, "named"])
def written(request, tmp_path, shell):
    """Draws of seven items, and their estimate in every form."""
    rng = np.random.default_rng(0)
    shapes = np.array([[0, 0, 1, 1, 1, 1, 2], [0, 1, 1, 1, 2, 2, 2]])
    names = request.param and tuple("gfedcba")
    draws = pt.Draws(shapes[(rng.random(50) < 0.3).astype(int)], item_names=names)
    draws.save(tmp_path / "draws.npz")
    words = ("estimate", tmp_path / "draws.npz", "--seed", 0, "--save", tmp_path / "e.npz", "-o")
    shell(*words, tmp_path / "e.csv")
    head, *rows = (tmp_path / "e.csv").read_text().splitlines()
    (tmp_path / "turned.csv").write_text("\n".join([head, *rows[::-1]]) + "\n")
    return tmp_path, draws, pt.estimate(draws, rng=0)


@pytest.mark.parametrize("name", ["e.csv", "e.npz", "turned.csv"])
def test_what_estimate_writes_is_read_where_labels_are_asked_for(written, name, shell):
    folder, draws, best = written
    assert best.n_clusters == 3
    answer = shell.json("certify", folder / "draws.npz", "--labels", folder / name)
    assert shell.err == ""
    assert answer["expected_loss"] == pytest.approx(pt.certify(best, draws).expected_loss)
    words = ("compare", folder / "draws.npz", "--truth", folder / name, "--methods", "auto-vi")
    assert shell.json(*words)[0]["AR"] == 1.0


def test_names_put_labels_in_the_order_of_the_items(shell, tmp_path):
    draws = pt.Draws(np.tile([0, 0, 1, 2], (3, 1)), item_names=list("dcba"))
    draws.save(tmp_path / "draws.npz")
    words = ("compare", tmp_path / "draws.npz", "--methods", "minvi", "--truth", tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("name,class\na,2\nb,1\nc,0\nd,0\n")
    assert shell.json(*words)[0]["AR"] == 1.0
    pt.Draws(draws.labels).save(tmp_path / "draws.npz")
    (tmp_path / "t.csv").write_text("id,class\n1,0\n2,0\n3,1\n4,2\n")
    assert shell.json(*words)[0]["AR"] == 1.0

    (tmp_path / "t.csv").write_text("id,class\n4,2\n3,1\n1,0\n2,0\n")
    assert shell.json(*words)[0]["AR"] == 1.0


@pytest.mark.filterwarnings("default::partita.errors.PartitaWarning")
def test_other_names_are_matched_by_position_with_a_warning(shell, tmp_path):
    pt.Draws([[0, 1, 1]] * 3, item_names=list("abc")).save(tmp_path / "draws.npz")
    (tmp_path / "t.csv").write_text("id,class\na,0\nb,1\nz,1\n")
    words = ("--methods", "minvi", "--truth", tmp_path / "t.csv")
    assert shell.json("compare", tmp_path / "draws.npz", *words)[0]["AR"] == 1.0
    assert "`truth` names its rows otherwise than the draws name their items" in shell.err
    assert shell.err.endswith("they are matched by position.\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.5\n1\n2\n", "line 1, column 1 of .* must be a whole number or text; got '0.5'"),
        ("item,cluster\n0,1\n1,\n", "`labels` must not be missing for any item"),
        ("name,age,cluster\na,3,0\nb,4,0\nc,5,1\n", "an estimate that --save wrote; .* holds 2"),
    ],
)
def test_what_is_wrong_with_labels(shell, csv, tmp_path, text, said):
    (tmp_path / "labels.csv").write_text(text)
    assert re.search(said, shell.refused("certify", csv, "--labels", tmp_path / "labels.csv"))
