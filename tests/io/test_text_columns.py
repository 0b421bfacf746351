"""Text tables whose header names variables, as samplers write them."""

import os
import threading

import numpy as np
import pytest

from partita.errors import FileError, InvalidValueError
from partita.io import read_table


@pytest.fixture
def write(tmp_path):
    def write(content):
        (tmp_path / "a.csv").write_text(content)
        return tmp_path / "a.csv"

    return write


def test_chains_scalars_and_items(write):
    table = read_table(write("a,b,.chain,lp__\n1,1,1,7.5\n1,2,1,8\n3,3,2,9\n"))
    assert table.labels.tolist() == [[1, 1], [1, 2], [3, 3]]
    assert table.item_names == ("a", "b")
    assert table.chains.tolist() == [0, 0, 1]
    assert table.traces["lp__"].tolist() == [7.5, 8, 9]
    assert "Line 1 is a header: it names variables, as samplers do." in table.assumptions


def test_a_key_chooses(write):
    path = write("z[1],z[2],w[1],w[2]\n1,2,5,5\n2,2,5,6\n")
    with pytest.raises(FileError, match="key="):
        read_table(write("u[1],u[2],w[1],w[2],lp__\n1,2,5,5,1\n2,2,5,6,1\n"))
    assert read_table(path, key="w").labels.tolist() == [[5, 5], [5, 6]]
    with pytest.raises(InvalidValueError, match="`key` must name a variable"):
        read_table(path, key="v")


def test_entries_come_in_the_order_of_their_indices(write):
    table = read_table(write("z[10],z[2],z[1],z[3],z[4],z[5],z[6],z[7],z[8],z[9]\n"
                             "10,2,1,3,4,5,6,7,8,9\n"))  # fmt: skip
    assert table.labels.tolist() == [list(range(1, 11))]


def test_text_and_missing(write):
    table = read_table(write("a b .chain\nred red 1\nblue red 1\n"))
    assert table.labels.tolist() == [["red", "red"], ["blue", "red"]]
    table = read_table(write("z[1],z[2],alpha\n1,1,0.5\n1,2,NA\n"))
    assert np.isnan(table.traces["alpha"][1])
    assert np.isnan(read_table(write("z[1],z[2]\n1,1\n1,NA\n")).labels[1, 1])
    rows = "red,red,1\n" * 30
    table = read_table(write("a,b,.chain\n" + rows + "red,vermilion,1\n"))
    assert table.labels[30].tolist() == ["red", "vermilion"]
    with pytest.raises(FileError, match=r"draw 31 .* missing"):
        read_table(write("a,b,.chain\n" + rows + "red,NA,1\n"))


def test_ragged_rows_and_no_rows(write):
    with pytest.raises(FileError, match="line 3 .* has 2 cells where others have 3"):
        read_table(write("a,b,.chain\n1,1,1\n1,1\n"))
    with pytest.raises(FileError, match="holds no draws"):
        read_table(write("a,b,.chain\n"))


def test_a_header_that_is_told_to_be_none(write):
    table = read_table(write("draw,sample\nsample,draw\n"), header=False)
    assert table.labels.shape == (2, 2)


def test_items_that_are_called_samples(write):
    table = read_table(write("sample,cluster\nS1,1\nS2,2\n"), index=0, orient="items")
    assert table.item_names == ("S1", "S2")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    content = b"a,b,.chain\n1,1,1\n1,2,1\n"
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
    writer.start()
    assert read_table(tmp_path / "pipe").labels.tolist() == [[1, 1], [1, 2]]
    writer.join()
