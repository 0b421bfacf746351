"""Text tables: delimiters, headers, index columns, orientation, and what each error names."""

import gzip
import warnings

import numpy as np
import pytest

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
def write(tmp_path):
    def write(content, name="draws.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def one_line(error):
    text = str(error.value)
    assert text
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    "content",
    [
        "1,1,2\n3,1,2\n",
        "1;1;2\n3;1;2\n",
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
def test_the_same_numbers_however_they_are_written(write, content):
    table = read_table(write(content))
    assert table.labels.tolist() == EXPECTED
    assert table.labels.dtype == np.uint8
    assert table.item_names is None
    assert table.label_names is None
    assert table.weights is table.chains is None
    assert table.traces == {}


@pytest.mark.parametrize("name", ["d.csv.gz", "d.txt", "d", "d.csv"])
def test_gzip_is_known_by_its_bytes(write, name):
    table = read_table(write(gzip.compress(b"1,1,2\n3,1,2\n"), name))
    assert table.labels.tolist() == EXPECTED


def test_a_tsv_has_tabs_even_if_commas_are_more(write):
    table = read_table(write("a,b\tc,d\nc,d\ta,b\n", "x.tsv"), header=False)
    assert np.array(table.label_names)[table.labels].tolist() == [["a,b", "c,d"], ["c,d", "a,b"]]


class TestHeader:
    def test_text_above_numbers(self, write):
        table = read_table(write("a,b,c\n1,1,2\n3,1,2\n"))
        assert table.item_names == ("a", "b", "c")
        assert table.labels.tolist() == EXPECTED
        assert any("Line 1 is a header" in said for said in table.assumptions)

    def test_numbers_are_a_header_if_told(self, write):
        table = read_table(write("7,8,9\n1,1,2\n"), header=np.True_)
        assert table.labels.tolist() == [[1, 1, 2]]
        assert table.item_names == ("7", "8", "9")
        assert "Line 1 is a header: as told." in table.assumptions

    def test_a_missing_label_does_not_make_a_header(self, write):
        table = read_table(write("1,NA,3\n1,1,2\n"))
        assert table.labels[table.observed].tolist() == [1, 3, 1, 1, 2]

    def test_text_labels_with_names_above(self, write):
        table = read_table(write("i1,i2,i3\nx,x,y\ny,x,x\n"))
        assert table.item_names == ("i1", "i2", "i3")
        assert table.label_names == ("x", "y")
        assert table.labels.tolist() == [[0, 0, 1], [1, 0, 0]]
        assert any("none is a label below" in said for said in table.assumptions)

    def test_only_a_header(self, write):
        with pytest.raises(FileError, match="a header and no draws") as error:
            read_table(write("a,b,c\n"))
        assert "header=False" in one_line(error)


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
    def test_the_header_says_so(self, write, content):
        table = read_table(write(content))
        assert table.labels.tolist() == [[5, 6], [6, 6]]
        assert table.item_names in (("a", "b"), ("0", "1"))
        assert any("Column 1 is an index" in said for said in table.assumptions)

    @pytest.mark.parametrize(
        ("written", "name"),
        [
            ('"a,b"', "a,b"),
            ('"a""b"', 'a"b'),
            ('"a\nb"', "a\nb"),
            ('" a "', "a"),
            ('""', ""),
            ("a b", "a b"),
            ("é", "é"),
        ],
    )
    def test_names_in_quotes(self, write, written, name):
        content = f",d1,d2\nx,5,6\n{written},5,6\ny,5,6\n"
        table = read_table(write(content), orient="items")
        assert table.item_names == ("x", name, "y")
        assert table.labels.tolist() == [[5, 5, 5], [6, 6, 6]]

    def test_by_position_and_by_name(self, write):
        path = write("a,id,b\n1,x,2\n2,y,2\n")
        for index in (1, "id", np.int64(1)):
            table = read_table(path, index=index)
            assert table.labels.tolist() == [[1, 2], [2, 2]]
            assert table.item_names == ("a", "b")
            assert "Column 2 is an index: as told." in table.assumptions
        assert (
            "Line 1 is a header: `index` names a cell of it."
            in read_table(path, index="id").assumptions
        )

    def test_names_without_a_header_are_not_guessed(self, write):
        with pytest.raises(InvalidValueError, match=r"pass header=True .* index=0") as error:
            read_table(write("gal1,1,2\ngal2,1,2\n"))
        one_line(error)

    @pytest.mark.parametrize("top", ["id,101,102", "gal0,7,8"])
    def test_text_and_then_numbers_is_a_row_or_a_header(self, write, top):
        path = write(f"{top}\ngal1,1,1\ngal2,1,2\n")
        with pytest.raises(InvalidValueError, match="pass header=True if it is a header, or"):
            read_table(path)
        assert read_table(path, header=True, orient="draws").labels.tolist() == [[1, 1], [1, 2]]
        found = read_table(path, header=False, index=0, orient="draws")
        assert found.labels.shape == (3, 2)

    @pytest.mark.parametrize("index", [3, -1, "zz", "a", 1.5, True])
    def test_must_be_there(self, write, index):
        with pytest.raises(PartitaError, match="`index`"):
            read_table(write("a,a,b\n1,2,3\n"), index=index)

    @pytest.mark.parametrize(("header", "index"), [(False, None), (None, False), (None, 1)])
    def test_a_short_first_line_is_ragged_otherwise(self, write, header, index):
        with pytest.raises(FileError, match=r"line 1 .* has 2 cells where others have 3"):
            read_table(write("a b\n1 5 6\n"), header=header, index=index)


class TestWarnings:
    @pytest.mark.parametrize("start", [0, 1])
    @pytest.mark.parametrize("n", [3, 4, 256, 300])
    def test_a_first_column_that_counts(self, write, start, n):
        content = "".join(f"{start + i},7,{i % 2}\n" for i in range(n))
        with pytest.warns(PartitaWarning, match="pass index=0 .--index 0.") as caught:
            table = read_table(write(content))
        assert len(caught) == 1
        assert table.labels.shape == (n, 3)
        assert read_table(write(content), index=0).labels.shape == (n, 2)
        assert read_table(write(content), index=False).labels.shape == (n, 3)

    @pytest.mark.parametrize("start", [0, 1])
    def test_a_first_line_that_counts(self, write, start):
        content = f"{start},{start + 1},{start + 2}\n5,5,6\n6,6,6\n"
        with pytest.warns(PartitaWarning, match="pass header=True"):
            table = read_table(write(content))
        assert table.labels.shape == (3, 3)
        assert read_table(write(content), header=True).labels.shape == (2, 3)
        assert read_table(write(content), header=False).labels.shape == (3, 3)

    @pytest.mark.parametrize(
        "content",
        ["1,2\n2,2\n", "1\n2\n3\n", "1,2,3\n", "0,1,3\n1,1,1\n2,1,1\n4,1,1\n", "2,2\n3,2\n4,2\n"],
    )
    def test_not_for_less(self, write, content):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read_table(write(content))


class TestMisread:
    """What was once read in silence as something else."""

    def test_bars_separate(self, write):
        table = read_table(write("1|1|2\n3|1|2\n"))
        assert table.labels.tolist() == EXPECTED
        assert table.assumptions[0] == "Cells are separated by bars."

    @pytest.mark.parametrize("cell", ['"1,234"', "1.234.567", '"12 345"', "1'234", '"1,234.5"'])
    def test_numbers_with_separators_are_refused(self, write, cell):
        with pytest.raises(InvalidValueError, match="line 1, column 2 .*without separators"):
            read_table(write(f"a,{cell}\na,b\n"), header=False)

    def test_comments_above_are_left_out(self, write):
        table = read_table(write("# made by x, on Monday\n#\na,b,c\n1,1,2\n3,1,2\n"))
        assert table.labels.tolist() == EXPECTED
        assert table.item_names == ("a", "b", "c")
        assert "2 lines above the table left out as comments." in table.assumptions
        with pytest.raises(FileError, match="comments and no draws"):
            read_table(write("# nothing\n"))

    def test_a_header_that_counts_above_text(self, write):
        table = read_table(write(",".join(map(str, range(13))) + "\n" + "a,b," * 6 + "a\n"))
        assert table.labels.shape == (1, 13)


class TestErrors:
    @pytest.mark.parametrize("content", ["", "\n\n", "  \n\t\n", "\ufeff", "\ufeff\n"])
    @pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x"])
    def test_empty(self, write, content, name):
        with pytest.raises(FileError, match="is empty"):
            read_table(write(content, name))

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("1,2,3\n1,2,3\n1,2\n", "line 3 of .* has 2 cells where others have 3"),
            ("1,2,3\n1,2,3\n1,2,3,4\n", "line 3 of .* has 4 cells where others have 3"),
            ("1,2,3\n1\n", "line 2 of .* has 1 cells where line 1 has 3"),
            ("a,b\n1,2\n\n1\n", "line 4 of .* has 1 cell where"),
            ("1 2 3\n1 2 3\n1 2\n", "line 3 of .* has 2 cells where others have 3"),
            ("x;y\ny;y\ny\n", "line 3 of .* has 1 cell where others have 2"),
        ],
    )
    def test_ragged(self, write, content, words):
        with pytest.raises(FileError, match=words) as error:
            read_table(write(content))
        one_line(error)

    @pytest.mark.parametrize(
        ("cell", "words"),
        [
            ("1.5", "whole number or text; got '1.5'"),
            ("-.5", "whole number or text; got '-.5'"),
            ("inf", "whole number or text; got 'inf'"),
            ("-Infinity", "whole number or text"),
            ("1e999", "whole number or text"),
            ("9223372036854775808", "within 64 bits"),
            ("-9223372036854775809", "within 64 bits"),
            ("9" * 5000, "within 64 bits"),
            ("1e20", "below 2\\*\\*53"),
            ("9007199254740992.0", "below 2\\*\\*53"),
            ("x", "one kind with the other labels, whole numbers; got 'x'"),
            ("1_000", "one kind"),
            ("٣", "one kind"),
            ("0x10", "one kind"),
        ],
    )
    @pytest.mark.parametrize("first", ["", "a,b,c\n", ",a,b\n"])
    def test_a_cell_that_is_no_label(self, write, cell, words, first):
        line = 4 if first else 3
        with pytest.raises(InvalidValueError, match=f"line {line}, column 2 of .*{words}") as error:
            read_table(write(f"{first}1,1,2\n1,1,2\n7,{cell},2\n"))
        assert len(one_line(error)) < 400

    @pytest.mark.parametrize("cell", ["nan", "NaN", "NA", "", "NULL"])
    @pytest.mark.parametrize("first", ["", "a,b,c\n"])
    def test_a_cell_without_a_label(self, write, cell, first):
        table = read_table(write(f"{first}1,1,2\n1,1,2\n7,{cell},2\n"))
        assert np.argwhere(~table.observed).tolist() == [[2, 1]]
        assert any("1 cell without a label" in said for said in table.assumptions)

    def test_a_blank_line_in_one_column_is_a_missing_label(self, write):
        with pytest.raises(InvalidValueError, match=r"line 2 of .* must not be blank"):
            read_table(write("1\n\n2\n"))
        assert read_table(write("1\n2\n\n")).labels.tolist() == [[1], [2]]

    @pytest.mark.parametrize("content", ['1,2\n"1,2\n', '1,2\n"1"x,2\n', '"1,2\n'])
    def test_a_quote_left_open(self, write, content):
        with pytest.raises(FileError, match=r"line . of .* quote") as error:
            read_table(write(content))
        one_line(error)


class TestMemory:
    @pytest.mark.parametrize("row", [b"1,1,1,1\n", b"1.0,1,1,1", b"\n"])
    def test_a_bomb_is_refused_on_the_way(self, write, monkeypatch, row):
        bomb = gzip.compress(row * (1 << 25), 1)
        assert len(bomb) < 1 << 21
        monkeypatch.setattr(validate, "free_memory", lambda: 1 << 25)
        with pytest.raises(OutOfMemoryError, match=r"would take .* are free") as error:
            read_table(write(bomb))
        one_line(error)


def test_columns_that_only_count_are_a_header_and_no_names(tmp_path):
    path = tmp_path / "pandas.csv"
    rows = [list(range(12)), [1] * 12, [1] * 6 + [2] * 6]
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))
    table = read_table(path)
    assert table.labels.shape == (2, 12)
    assert table.item_names is None
    assert any("counts 0 to 11" in sentence for sentence in table.assumptions)
    assert read_table(path, header=False).labels.shape == (3, 12)


def test_what_may_be_bookkeeping_is_pointed_out(tmp_path):
    path = tmp_path / "posterior.csv"
    path.write_text("a,b,index\n1,1,1\n1,2,1\n")
    with pytest.warns(PartitaWarning, match="'index'"):
        assert read_table(path).labels.shape == (2, 3)
