"""Tables of text: delimiters, headers, index columns, words, and what each error names."""

import gzip
import os
import threading
import warnings

import numpy as np
import pytest

import partita as pt
from partita import validate
from partita.errors import (
    FileError,
    InvalidValueError,
    OutOfMemoryError,
    PartitaError,
    PartitaWarning,
)
from partita.io import read_table

EXPECTED = [[1, 1, 2], [3, 1, 2]]


@pytest.fixture
def read(tmp_path):
    """Read content as a file; nothing may warn but what a test expects."""

    def read(content, name="draws.csv", read=read_table, **how):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read(path, **how)

    return read


def refused(read, content, kind, words, **how):
    with pytest.raises(kind, match=words) as error:
        read(content, **how)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    "content",
    [
        "1,1,2\n3,1,2\n",
        "1;1;2\n3;1;2\n",
        "1|1|2\n3|1|2\n",
        "1\t1\t2\n3\t1\t2\n",
        "1 1 2\n3 1 2\n",
        "  1   1  2\n  3   1  2  \n",
        "1, 1, 2\n3, 1, 2\n",
        "1,1,2\r\n3,1,2\r\n",
        "1,1,2\r3,1,2\r",
        "1,1,2\n3,1,2",
        "1,1,2\n3,1,2\n\n\n   \n",
        "\n\n1,1,2\n\n3,1,2\n",
        "\ufeff1,1,2\n3,1,2\n",
        '"1","1","2"\n"3","1","2"\n',
        '1, "1", 2\n3,1,2\n',
        "1.0,1.,2e0\n3,+1,02\n",
        '"1" "1" "2"\n"3" 1 2\n',
    ],
)
def test_the_same_numbers_however_they_are_written(read, content):
    table = read(content)
    assert table.labels.tolist() == EXPECTED
    assert table.labels.dtype == np.uint8
    assert table.item_names is table.label_names is table.weights is table.chains is None
    assert table.traces == {}
    for name in ("d.csv.gz", "d.txt", "d"):  # gzip is known by its bytes
        assert read(gzip.compress(content.encode()), name).labels.tolist() == EXPECTED


def test_a_tsv_has_tabs_even_if_commas_are_more(read):
    table = read("a,b\tc,d\nc,d\ta,b\n", "x.tsv", header=False)
    assert np.array(table.label_names)[table.labels].tolist() == [["a,b", "c,d"], ["c,d", "a,b"]]


def test_comments_above_are_left_out(read):
    table = read("# made by x, on Monday\n#\na,b,c\n1,1,2\n3,1,2\n")
    assert table.labels.tolist() == EXPECTED
    assert table.item_names == ("a", "b", "c")
    assert "2 lines above the table left out as comments." in table.assumptions
    refused(read, "# nothing\n", FileError, "comments and no draws")


class TestHeader:
    def test_text_above_numbers(self, read):
        table = read("a,b,c\n1,1,2\n3,1,2\n")
        assert (table.item_names, table.labels.tolist()) == (("a", "b", "c"), EXPECTED)
        assert any("Line 1 is a header" in said for said in table.assumptions)

    def test_numbers_are_a_header_if_told(self, read):
        table = read("7,8,9\n1,1,2\n", header=np.True_)
        assert (table.item_names, table.labels.tolist()) == (("7", "8", "9"), [[1, 1, 2]])
        assert "Line 1 is a header: as told." in table.assumptions

    def test_text_labels_with_names_above(self, read):
        table = read("i1,i2,i3\nx,x,y\ny,x,x\n")
        assert (table.item_names, table.label_names) == (("i1", "i2", "i3"), ("x", "y"))
        assert table.labels.tolist() == [[0, 0, 1], [1, 0, 0]]
        assert any("none is a label below" in said for said in table.assumptions)

    def test_a_missing_label_does_not_make_a_header(self, read):
        table = read("1,NA,3\n1,1,2\n")
        assert table.labels[table.observed].tolist() == [1, 3, 1, 1, 2]

    def test_only_a_header(self, read):
        refused(read, "a,b,c\n", FileError, "a header and no draws.*header=False")

    def test_columns_that_only_count_are_a_header_and_no_names(self, read):
        content = "\n".join(",".join(map(str, row)) for row in [range(12), [1] * 12, [3] * 12])
        table = read(content)
        assert (table.labels.shape, table.item_names) == ((2, 12), None)
        assert any("counts 0 to 11" in sentence for sentence in table.assumptions)
        assert read(content, header=False).labels.shape == (3, 12)
        over_text = ",".join(map(str, range(13))) + "\n" + "a,b," * 6 + "a\n"
        assert read(over_text).labels.shape == (1, 13)


class TestIndex:
    @pytest.mark.parametrize(
        "content",
        [
            ",a,b\n1,5,6\n2,6,6\n",
            '"","a","b"\n"1",5,6\n"2",6,6\n',
            "draw,0,1\n1,5,6\n2,6,6\n",
            ",a,b\nfirst,5,6\nsecond,6,6\n",
            '"a" "b"\n"1" 5 6\n"2" 6 6\n',
            "a,b\n1,5,6\n2,6,6\n",
        ],
    )
    def test_the_header_says_so(self, read, content):
        table = read(content, orient="draws")
        assert table.labels.tolist() == [[5, 6], [6, 6]]
        assert table.item_names in (("a", "b"), ("0", "1"))
        assert any("Column 1 is an index" in said for said in table.assumptions)

    @pytest.mark.parametrize(
        ("written", "name"),
        [
            *[('"a,b"', "a,b"), ('"a""b"', 'a"b'), ('"a\nb"', "a\nb"), ('" a "', "a")],
            *[('""', ""), ("a b", "a b"), ("é", "é")],
        ],
    )
    def test_names_in_quotes(self, read, written, name):
        table = read(f",d1,d2\nx,5,6\n{written},5,6\ny,5,6\n", orient="items")
        assert table.item_names == ("x", name, "y")
        assert table.labels.tolist() == [[5, 5, 5], [6, 6, 6]]

    @pytest.mark.parametrize("index", [1, "id", np.int64(1)])
    def test_by_position_and_by_name(self, read, index):
        table = read("a,id,b\n1,x,2\n2,y,2\n", index=index, orient="draws")
        assert (table.labels.tolist(), table.item_names) == ([[1, 2], [2, 2]], ("a", "b"))
        assert "Column 2 is an index: as told." in table.assumptions
        if index == "id":
            assert "Line 1 is a header: `index` names a cell of it." in table.assumptions

    def test_names_without_a_header_are_not_guessed(self, read):
        words = r"pass header=True .* index=0"
        refused(read, "gal1,1,2\ngal2,1,2\n", InvalidValueError, words)

    @pytest.mark.parametrize("top", ["id,101,102", "gal0,7,8"])
    def test_text_and_then_numbers_is_a_row_or_a_header(self, read, top):
        content = f"{top}\ngal1,1,1\ngal2,1,2\n"
        refused(read, content, InvalidValueError, "pass header=True if it is a header, or")
        how = {"orient": "draws"}
        assert read(content, header=True, **how).labels.tolist() == [[1, 1], [1, 2]]
        assert read(content, header=False, index=0, **how).labels.shape == (3, 2)

    @pytest.mark.parametrize("index", [3, -1, "zz", "a", 1.5, True])
    def test_must_be_there(self, read, index):
        refused(read, "a,a,b\n1,2,3\n", PartitaError, "`index`", index=index)

    @pytest.mark.parametrize(("header", "index"), [(False, None), (None, False), (None, 1)])
    def test_a_short_first_line_is_ragged_otherwise(self, read, header, index):
        words = r"line 1 .* has 2 cells where others have 3"
        refused(read, "a b\n1 5 6\n", FileError, words, header=header, index=index)


class TestWarnings:
    @pytest.mark.parametrize("start", [0, 1])
    @pytest.mark.parametrize("n", [3, 4, 300])
    def test_a_first_column_that_counts(self, read, start, n):
        content = "".join(f"{start + i},7,{i % 2}\n" for i in range(n))
        with pytest.warns(PartitaWarning, match="pass index=0 .--index 0.") as caught:
            assert read(content).labels.shape == (n, 3)
        assert len(caught) == 1
        assert read(content, index=0).labels.shape == (n, 2)
        assert read(content, index=False).labels.shape == (n, 3)

    @pytest.mark.parametrize("start", [0, 1])
    def test_a_first_line_that_counts(self, read, start):
        content = f"{start},{start + 1},{start + 2}\n5,5,6\n6,6,6\n"
        with pytest.warns(PartitaWarning, match="pass header=True"):
            assert read(content).labels.shape == (3, 3)
        assert read(content, header=True).labels.shape == (2, 3)
        assert read(content, header=False).labels.shape == (3, 3)

    def test_what_may_be_bookkeeping(self, read):
        with pytest.warns(PartitaWarning, match="'index'"):
            assert read("a,b,index\n1,1,1\n1,2,1\n").labels.shape == (2, 3)

    @pytest.mark.parametrize(
        "content",
        ["1,2\n2,2\n", "1\n2\n3\n", "1,2,3\n", "0,1,3\n1,1,1\n2,1,1\n4,1,1\n", "2,2\n3,2\n4,2\n"],
    )
    def test_not_for_less(self, read, content):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(content)


class TestErrors:
    @pytest.mark.parametrize("content", ["", "\n\n", "  \n\t\n", "\ufeff", "\ufeff\n"])
    @pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x"])
    def test_empty(self, read, content, name):
        refused(read, content, FileError, "is empty", name=name)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("1,2,3\n1,2,3\n1,2\n", "line 3 of .* has 2 cells where others have 3"),
            ("1,2,3\n1,2,3\n1,2,3,4\n", "line 3 of .* has 4 cells where others have 3"),
            ("1,2,3\n1\n", "line 2 of .* has 1 cells where line 1 has 3"),
            ("a,b\n1,2\n\n1\n", "line 4 of .* has 1 cell where"),
            ("1 2 3\n1 2 3\n1 2\n", "line 3 of .* has 2 cells where others have 3"),
            ("x;y\ny;y\ny\n", "line 3 of .* has 1 cell where others have 2"),
            ('1,2\n"1,2\n', "line . of .* quote"),
            ('1,2\n"1"x,2\n', "line . of .* quote"),
            ('"1,2\n', "line . of .* quote"),
        ],
    )
    def test_ragged_and_quotes_left_open(self, read, content, words):
        refused(read, content, FileError, words)

    @pytest.mark.parametrize(
        ("cell", "words"),
        [
            *[(cell, f"whole number or text; got '{cell}'") for cell in ("1.5", "-.5", "inf")],
            *[(cell, "whole number or text") for cell in ("-Infinity", "1e999")],
            *[("9223372036854775808", "within 64 bits"), ("-9223372036854775809", "64 bits")],
            *[("9" * 5000, "within 64 bits"), ("1e20", "below 2\\*\\*53")],
            *[("9007199254740992.0", "below 2\\*\\*53"), ("x", "whole numbers; got 'x'")],
            *[(cell, "one kind") for cell in ("1_000", "٣", "0x10")],
            *[(cell, "without separators") for cell in ('"1,234"', "1.234.567", '"12 345"')],
            *[(cell, "without separators") for cell in ("1'234", '"1,234.5"')],
        ],
    )
    @pytest.mark.parametrize("first", ["", "a,b,c\n", ",a,b\n"])
    def test_a_cell_that_is_no_label(self, read, cell, words, first):
        place = f"line {4 if first else 3}, column 2 of .*"
        content = f"{first}1,1,2\n1,1,2\n7,{cell},2\n"
        refused(read, content, InvalidValueError, place + words)

    @pytest.mark.parametrize("cell", ["nan", "NaN", "NA", "", "NULL"])
    @pytest.mark.parametrize("first", ["", "a,b,c\n"])
    def test_a_cell_without_a_label(self, read, cell, first):
        table = read(f"{first}1,1,2\n1,1,2\n7,{cell},2\n")
        assert np.argwhere(~table.observed).tolist() == [[2, 1]]
        assert any("1 cell without a label" in said for said in table.assumptions)

    def test_a_blank_line_in_one_column_is_a_missing_label(self, read):
        refused(read, "1\n\n2\n", InvalidValueError, r"line 2 of .* must not be blank")
        assert read("1\n2\n\n").labels.tolist() == [[1], [2]]
        table = read('"k"\n"k\n\nk"\n', header=False)  # a blank line within a cell is none
        assert set(table.label_names) == {"k", "k\n\nk"}

    @pytest.mark.parametrize("row", [b"1,1,1,1\n", b"1.0,1,1,1", b"\n"])
    def test_a_bomb_is_refused_on_the_way(self, read, monkeypatch, row):
        bomb = gzip.compress(row * (1 << 25), 1)
        assert len(bomb) < 1 << 21
        monkeypatch.setattr(validate, "free_memory", lambda: 1 << 25)
        refused(read, bomb, OutOfMemoryError, r"would take .* are free")


class TestVariables:
    """Tables whose header names variables, as samplers write them."""

    def test_chains_scalars_and_items(self, read):
        table = read("a,b,.chain,lp__\n1,1,1,7.5\n1,2,1,8\n3,3,2,9\n")
        assert table.labels.tolist() == [[1, 1], [1, 2], [3, 3]]
        assert table.item_names == ("a", "b")
        assert table.chains.tolist() == [0, 0, 1]
        assert table.traces["lp__"].tolist() == [7.5, 8, 9]
        assert "Line 1 is a header: it names variables, as samplers do." in table.assumptions

    def test_a_key_chooses(self, read):
        content = "u[1],u[2],w[1],w[2],lp__\n1,2,5,5,1\n2,2,5,6,1\n"
        refused(read, content, FileError, "key=")
        assert read(content, key="w").labels.tolist() == [[5, 5], [5, 6]]
        refused(read, content, InvalidValueError, "`key` must name a variable", key="v")

    def test_entries_come_in_the_order_of_their_indices(self, read):
        order = [10, 2, 1, 3, 4, 5, 6, 7, 8, 9]
        table = read(",".join(f"z[{i}]" for i in order) + "\n" + ",".join(map(str, order)) + "\n")
        assert table.labels.tolist() == [list(range(1, 11))]

    def test_text_and_missing(self, read):
        table = read("a b .chain\nred red 1\nblue red 1\n")
        assert table.labels.tolist() == [["red", "red"], ["blue", "red"]]
        table = read("z[1],z[2],alpha\n1,1,0.5\n1,2,NA\n")
        assert np.isnan(table.traces["alpha"][1])
        assert np.isnan(read("z[1],z[2]\n1,1\n1,NA\n").labels[1, 1])
        rows = "red,red,1\n" * 30
        table = read("a,b,.chain\n" + rows + "red,vermilion,1\n")
        assert table.labels[30].tolist() == ["red", "vermilion"]

    def test_ragged_rows_and_no_rows(self, read):
        words = "line 3 .* has 2 cells where others have 3"
        refused(read, "a,b,.chain\n1,1,1\n1,1\n", FileError, words)
        refused(read, "a,b,.chain\n", FileError, "holds no draws")

    def test_names_that_are_told_to_be_something_else(self, read):
        assert read("draw,sample\nsample,draw\n", header=False).labels.shape == (2, 2)
        table = read("sample,cluster\nS1,1\nS2,2\n", index=0, orient="items")
        assert table.item_names == ("S1", "S2")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
    def test_a_pipe_is_read(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        content = b"a,b,.chain\n1,1,1\n1,2,1\n"
        writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
        writer.start()
        assert read_table(tmp_path / "pipe").labels.tolist() == [[1, 1], [1, 2]]
        writer.join()


class TestWords:
    """Names of clusters are read, prose is not."""

    PROSE = (
        "The quick brown fox jumps over\nwhile the cat sleeps all day\nand nobody seems to mind it",
        "Dear Anna, thank you for the data\nI looked, and it is fine\nMore soon, when I can",
        "Hello.\nThese\nare\nnotes\nnot\nlabels!",
    )

    @pytest.mark.parametrize("content", PROSE)
    def test_prose_is_refused(self, read, content):
        with pytest.raises(InvalidValueError, match="does not repeat .* is this the right file"):
            read(content, "notes.txt", pt.read_draws)

    def test_prose_in_an_array_is_refused(self):
        rows = [line.split()[:6] for line in self.PROSE[0].splitlines()]
        with pytest.raises(InvalidValueError, match="`labels` holds text that does not repeat"):
            pt.Draws(np.array(rows))

    @pytest.mark.parametrize(
        "rows",
        [
            ["red red blue", "blue red blue"],  # within a draw and from draw to draw
            ["a b c d e f", "a b c d e f"],  # singletons under the same names
            ["u u u v v v", "w w w x x x"],  # other names in every draw
            ["a a b c", "d e e f", "g g h i"],
            ["solo"],
        ],
    )
    def test_words_that_repeat_are_labels(self, rows):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert pt.Draws([row.split() for row in rows]).n_items == len(rows[0].split())

    def test_a_few_words_that_differ_are_read_with_a_warning(self, read):
        with pytest.warns(PartitaWarning, match="4 different ones in 4 cells"):
            assert read("a,b\nu,v\nw,x\n", read=pt.read_draws).n_items == 2

    def test_data_get_a_hint_of_the_sampler(self, read):
        words = "data to cluster, `sample_mixture`"
        with pytest.raises(InvalidValueError, match=words):
            read("x,y\n1.25,2.5\n0.2,5.5\n", read=pt.read_draws)
        with pytest.raises(InvalidValueError, match=words):
            pt.Draws(np.array([[1.25, 2.5, 0.2]]))
