"""Text tables: delimiters, headers, index columns, orientation, and what each error names."""

import gzip
import warnings

import numpy as np
import pytest

from partita import validate
from partita.errors import (
    FileError,
    InvalidTypeError,
    InvalidValueError,
    OutOfMemoryError,
    PartitaError,
    PartitaWarning,
)
from partita.io import _body, _cmdstan, _lines, read_table

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
    assert "The file is compressed with gzip." in table.assumptions


def test_a_tsv_has_tabs_even_if_commas_are_more(write):
    table = read_table(write("a,b\tc,d\nc,d\ta,b\n", "x.tsv"), header=False)
    assert np.array(table.label_names)[table.labels].tolist() == [["a,b", "c,d"], ["c,d", "a,b"]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("1,2\n2,2\n", "commas"),
        ("1;2\n2;2\n", "semicolons"),
        ("1\t2\n2\t2\n", "tabs"),
        ("1 2\n2 2\n", "white space"),
        ("x, the first;y\n1;2\n", "semicolons"),
        ("1\n2\n", "one column"),
    ],
)
def test_the_delimiter_is_said(write, content, words):
    assert words in read_table(write(content)).assumptions[0]


def test_values_keep_sign_and_size(write):
    content = "-5,100000\n9223372036854775807,-9223372036854775808\n"
    assert read_table(write(content)).labels.tolist() == [
        [-5, 100000],
        [2**63 - 1, -(2**63)],
    ]


def test_blocks_of_different_width_of_integers_join(write, monkeypatch):
    monkeypatch.setattr(_body, "_BLOCK_LINES", 2)
    rows = [[1, 2], [2, 300], [70000, 1], [1, 2**40], [5, 5], [2, 2]]
    content = "\n".join(",".join(map(str, row)) for row in rows)
    # The last rows are beyond the C parser, so that both ways are joined.
    table = read_table(write(content + "\n1.0,2\n\n"))
    assert table.labels.tolist() == [*rows, [1, 2]]


@pytest.mark.parametrize("shape", [(1000, 7), (7, 1000), (300, 300), (5000, 2)])
@pytest.mark.parametrize("ending", ["", ".0"])
def test_many_rows_and_columns(write, shape, ending):
    labels = np.random.default_rng(0).integers(-3, 400, shape)
    content = "\n".join(",".join(f"{c}{ending}" for c in row) for row in labels)
    np.testing.assert_array_equal(read_table(write(content)).labels, labels)


def test_small_labels_of_many_draws(write):
    labels = np.random.default_rng(0).integers(0, 3, (2000, 300))
    content = "\n".join(",".join(map(str, row)) for row in labels)
    np.testing.assert_array_equal(read_table(write(content)).labels, labels)


class TestHeader:
    def test_text_above_numbers(self, write):
        table = read_table(write("a,b,c\n1,1,2\n3,1,2\n"))
        assert table.item_names == ("a", "b", "c")
        assert table.labels.tolist() == EXPECTED
        assert any("Line 1 is a header" in said for said in table.assumptions)

    def test_one_text_cell_is_enough(self, write):
        assert read_table(write("1,b,3\n1,1,2\n")).item_names == ("1", "b", "3")

    def test_numbers_are_no_header(self, write):
        table = read_table(write("7,8,9\n1,1,2\n"))
        assert table.labels.tolist() == [[7, 8, 9], [1, 1, 2]]
        assert any("There is no header" in said for said in table.assumptions)

    def test_numbers_are_a_header_if_told(self, write):
        table = read_table(write("7,8,9\n1,1,2\n"), header=np.True_)
        assert table.labels.tolist() == [[1, 1, 2]]
        assert table.item_names == ("7", "8", "9")
        assert "Line 1 is a header: as told." in table.assumptions

    def test_a_missing_label_does_not_make_a_header(self, write):
        with pytest.raises(InvalidValueError, match=r"line 1, column 2 .* missing; got 'NA'"):
            read_table(write("1,NA,3\n1,1,2\n"))

    def test_told_there_is_none(self, write):
        with pytest.raises(InvalidValueError, match=r"line 1, column 1 .* one kind"):
            read_table(write("a,b,c\n1,1,2\n"), header=False)

    def test_text_labels_with_names_above(self, write):
        table = read_table(write("i1,i2,i3\nx,x,y\ny,x,x\n"))
        assert table.item_names == ("i1", "i2", "i3")
        assert table.label_names == ("x", "y")
        assert table.labels.tolist() == [[0, 0, 1], [1, 0, 0]]
        assert any("none is a label below" in said for said in table.assumptions)

    @pytest.mark.parametrize("first", ["x,z,y", "w,w,v"])
    def test_text_labels_without(self, write, first):
        table = read_table(write(f"{first}\nx,x,y\n"))
        assert table.item_names is None
        names = np.array(table.label_names)
        assert names[table.labels].tolist() == [first.split(","), ["x", "x", "y"]]
        assert any("There is no header" in said for said in table.assumptions)

    def test_numbers_above_text(self, write):
        assert read_table(write("1,2\nx,y\n")).item_names == ("1", "2")

    def test_only_a_header(self, write):
        with pytest.raises(FileError, match="a header and no draws") as error:
            read_table(write("a,b,c\n"))
        assert "header=False" in one_line(error)

    def test_one_draw_of_text(self, write):
        assert read_table(write("a,b,a\n")).labels.tolist() == [[0, 1, 0]]
        assert read_table(write("a,b,c\n"), header=False).labels.tolist() == [[0, 1, 2]]

    def test_one_draw_of_numbers(self, write):
        assert read_table(write("4,4,5\n")).labels.tolist() == [[4, 4, 5]]

    def test_told_but_nothing_below(self, write):
        with pytest.raises(FileError, match="a header and no draws"):
            read_table(write("1,2\n"), header=True)

    def test_quoted_header_over_two_lines(self, write):
        table = read_table(write('"first\nitem","b"\n1,2\n1,x\n'.replace("x", "2")))
        assert table.item_names == ("first\nitem", "b")
        assert table.labels.tolist() == [[1, 2], [1, 2]]

    def test_line_numbers_count_the_lines_of_a_quoted_cell(self, write):
        with pytest.raises(InvalidValueError, match="line 4, column 2 "):
            read_table(write('"first\nitem","b"\n1,2\n1,1.5\n'))

    @pytest.mark.parametrize("header", ["yes", 1])
    def test_must_be_a_bool(self, write, header):
        with pytest.raises(InvalidTypeError, match="`header`"):
            read_table(write("1,2\n"), header=header)

    def test_names_that_say_nothing_are_none(self, write):
        assert read_table(write(",,\n1,2,3\n"), index=False).item_names is None


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

    def test_numeric_names_as_r_quotes_them(self, write):
        table = read_table(write('"1" "2"\n"a" 5 6\n"b" 6 6\n'))
        assert table.labels.tolist() == [[5, 6], [6, 6]]
        assert table.item_names == ("1", "2")

    def test_numeric_names_as_pandas_sets_them_off(self, write):
        table = read_table(write(" 0 1\n0 5 6\n1 6 6\n"))
        assert table.labels.tolist() == [[5, 6], [6, 6]]
        assert table.item_names == ("0", "1")

    def test_rows_of_items_give_their_names(self, write):
        table = read_table(write(",d1,d2\n007,5,6\nx,6,6\ny,5,5\n"), orient="items")
        assert table.item_names == ("007", "x", "y")
        assert table.labels.tolist() == [[5, 6, 5], [6, 6, 5]]

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

    def test_a_ragged_row_after_a_name(self, write):
        for row in ("z,5", "z", "z,5,6,7", '"z,5,6'):
            with pytest.raises(FileError, match=r"line [45] of "):
                read_table(write(f",d1,d2\nx,5,6\ny,5,6\n{row}\nw,5,6\n"))

    def test_rows_of_items_without_a_header(self, write):
        content = "gal1,5,6\ngal2,6,6\ngal3,5,5\n"
        table = read_table(write(content), orient="items", index=0)
        assert table.item_names == ("gal1", "gal2", "gal3")
        assert table.labels.tolist() == [[5, 6, 5], [6, 6, 5]]

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

    def test_a_name_above_text_labels(self, write):
        table = read_table(write("id,a,b\n1,x,y\n2,y,y\n"), index="id")
        assert table.label_names == ("x", "y")
        assert table.item_names == ("a", "b")

    def test_position_with_a_header_of_numbers(self, write):
        table = read_table(write("id,1,2\n1,1,2\n2,2,2\n"), index=0)
        assert table.labels.tolist() == [[1, 2], [2, 2]]
        assert table.item_names == ("1", "2")

    def test_told_there_is_none(self, write):
        table = read_table(write(",a,b\n1,5,6\n2,6,6\n"), index=False, header=True)
        assert table.labels.tolist() == [[1, 5, 6], [2, 6, 6]]
        assert table.item_names == ("", "a", "b")

    def test_an_empty_corner_without_a_header_is_a_missing_label(self, write):
        with pytest.raises(InvalidValueError, match=r"line 1, column 1 .* missing; got ''"):
            read_table(write(",5,6\n1,6,6\n"), header=False)

    def test_names_under_a_text_header_are_not_guessed(self, write):
        with pytest.raises(InvalidValueError, match=r"line 2, column 2 .* index=") as error:
            read_table(write("id,a,b\ngal1,1,1\ngal2,1,2\n"))
        one_line(error)

    def test_names_without_a_header_are_not_guessed(self, write):
        with pytest.raises(InvalidValueError, match=r"pass header=True .* index=0") as error:
            read_table(write("gal1,1,2\ngal2,1,2\n"))
        one_line(error)

    def test_a_header_of_numbers_over_names(self, write):
        table = read_table(write("id,101,102\ngal1,1,1\ngal2,1,2\n"))
        assert table.item_names == ("101", "102")
        assert table.labels.tolist() == [[1, 1], [1, 2]]

    @pytest.mark.parametrize("index", [3, -1, "zz", "a", 1.5, True])
    def test_must_be_there(self, write, index):
        with pytest.raises(PartitaError, match="`index`"):
            read_table(write("a,a,b\n1,2,3\n"), index=index)

    def test_a_name_needs_a_header(self, write):
        with pytest.raises(InvalidValueError, match="`index` must be a number"):
            read_table(write("1,2\n1,2\n"), index="1", header=False)

    @pytest.mark.parametrize("index", [0, "a"])
    def test_must_leave_labels(self, write, index):
        with pytest.raises(InvalidValueError, match="leave a column"):
            read_table(write("a\n1\n2\n"), index=index)

    @pytest.mark.parametrize(("header", "index"), [(False, None), (None, False), (None, 1)])
    def test_a_short_first_line_is_ragged_otherwise(self, write, header, index):
        with pytest.raises(FileError, match=r"line 1 .* has 2 cells where others have 3"):
            read_table(write("a b\n1 5 6\n"), header=header, index=index)

    def test_a_short_first_line_of_numbers_is_ragged(self, write):
        with pytest.raises(FileError, match=r"line 1 .* has 2 cells where others have 3"):
            read_table(write("1,2\n1,5,6\n"))


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

    def test_names_above_and_numbers_down(self, write):
        with pytest.warns(PartitaWarning, match="index=0"):
            read_table(write("day,a,b\n1,5,5\n2,5,5\n3,5,6\n"))

    @pytest.mark.parametrize(
        "content",
        ["1,2\n2,2\n", "1\n2\n3\n", "1,2,3\n", "0,1,3\n1,1,1\n2,1,1\n4,1,1\n", "2,2\n3,2\n4,2\n"],
    )
    def test_not_for_less(self, write, content):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read_table(write(content))


class TestErrors:
    @pytest.mark.parametrize("content", ["", "\n\n", "  \n\t\n", "\ufeff", "\ufeff\n"])
    @pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x"])
    def test_empty(self, write, content, name):
        with pytest.raises(FileError, match="is empty"):
            read_table(write(content, name))

    def test_empty_gzip(self, write):
        with pytest.raises(FileError, match="is empty"):
            read_table(write(gzip.compress(b"")))

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
            ("nan", "must not be missing; got 'nan'"),
            ("NaN", "must not be missing; got 'NaN'"),
            ("NA", "must not be missing; got 'NA'"),
            ("", "must not be missing; got ''"),
            ("NULL", "must not be missing"),
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

    def test_a_number_among_text(self, write):
        with pytest.raises(InvalidValueError, match=r"line 2, column 2 .* text; got '4'"):
            read_table(write("a,b,a\na,4,b\n"))

    def test_a_blank_line_in_one_column_is_a_missing_label(self, write):
        with pytest.raises(InvalidValueError, match=r"line 2 of .* must not be blank"):
            read_table(write("1\n\n2\n"))
        assert read_table(write("1\n2\n\n")).labels.tolist() == [[1], [2]]

    @pytest.mark.parametrize("content", ['1,2\n"1,2\n', '1,2\n"1"x,2\n', '"1,2\n'])
    def test_a_quote_left_open(self, write, content):
        with pytest.raises(FileError, match=r"line . of .* quote") as error:
            read_table(write(content))
        one_line(error)

    def test_not_utf8(self, write):
        with pytest.raises(FileError, match=r"not UTF-8 text \(byte 0xe9\)"):
            read_table(write("caf\xe9,b\n1,2\n".encode("latin-1")))

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
    def test_utf16(self, write, encoding):
        with pytest.raises(FileError, match="UTF-8") as error:
            read_table(write("1,2\n".encode(encoding)))
        one_line(error)

    def test_unknown_bytes(self, write):
        with pytest.raises(FileError, match=r"x\.bin.*partita reads CSV") as error:
            read_table(write(bytes(range(128, 256)), "x.bin"))
        one_line(error)

    def test_key_is_not_for_text(self, write):
        with pytest.raises(InvalidValueError, match="`key`"):
            read_table(write("1,2\n"), key="labels")

    def test_truncated_gzip(self, write):
        whole = gzip.compress(b"1,2,3\n" * 10000)
        with pytest.raises(FileError, match="truncated or corrupt"):
            read_table(write(whole[: len(whole) // 2]))

    def test_corrupt_gzip(self, write):
        with pytest.raises(FileError, match="truncated or corrupt"):
            read_table(write(gzip.compress(b"1,2,3\n") + b"rubbish"))

    def test_gz_by_name_only(self, write):
        with pytest.raises(FileError, match=r"does not begin like a \.gz"):
            read_table(write("1,2\n", "x.csv.gz"))


class TestMemory:
    def test_an_endless_line_stops(self, write, monkeypatch):
        monkeypatch.setattr(_lines, "_LONGEST_LINE", 1 << 16)
        bomb = gzip.compress(b"1," * (1 << 22))
        assert len(bomb) < 1 << 14
        with pytest.raises(FileError, match=r"line 1 of .* longer than 65536 characters"):
            read_table(write(bomb))

    @pytest.mark.parametrize("blank", ["\n", " \t\n", '""\n', "\r\n"])
    def test_endless_blank_lines_stop(self, write, monkeypatch, blank):
        monkeypatch.setattr(_lines, "_MOST_BLANK_LINES", 100)
        with pytest.raises(FileError, match="more than 100 blank lines before line 104;"):
            read_table(write("1,2\n\n1,1\n" + blank * 500))
        with pytest.raises(FileError, match="blank lines before line 101;|is empty"):
            read_table(write(blank * 500))
        assert read_table(write("1,2\n" + "\n" * 99)).labels.shape == (1, 2)

    def test_endless_comments_stop(self, write, monkeypatch):
        monkeypatch.setattr(_cmdstan, "_MOST_COMMENTS", 100)
        head = "# stan_version_major = 2\nlp__,z.1,z.2\n1.5,1,2\n"
        assert read_table(write(head + "#\n" * 99)).labels.shape == (1, 2)
        with pytest.raises(FileError, match="more than 100 lines of comments"):
            read_table(write(head + "#\n" * 100))

    def test_only_two_lines_are_held_where_they_are_long(self, monkeypatch):
        monkeypatch.setattr(_lines, "_MOST_HEAD", 1000)
        rows = [f"{i}" * 600 + "\n" for i in range(9)]
        waiting = iter(["\n", *rows])
        assert _lines.head_of(waiting, "a.csv") == (2, rows[:2])
        assert list(waiting) == rows[2:]
        short = ["1,2\n"] * 30
        assert len(_lines.head_of(iter(short), "a.csv")[1]) == _lines.HEAD_LINES

    def test_a_line_may_be_as_long_as_memory_allows(self, write, monkeypatch):
        monkeypatch.setattr(validate, "free_memory", lambda: 24 * 1000)
        with pytest.raises(FileError, match="longer than 1000 characters"):
            read_table(write("1," * 1000 + "1\n"))

    @pytest.mark.parametrize("row", [b"1,1,1,1\n", b"1.0,1,1,1\n"])
    def test_a_bomb_of_many_lines_is_refused_on_the_way(self, write, monkeypatch, row):
        bomb = gzip.compress(row * (1 << 18))
        assert len(bomb) < 1 << 14
        monkeypatch.setattr(_body, "_FIRST_CHECK", 1 << 16)
        free = 1 << 18
        monkeypatch.setattr(validate, "free_memory", lambda: free)
        with pytest.raises(OutOfMemoryError, match=r"would take .* are free") as error:
            read_table(write(bomb))
        one_line(error)

    def test_an_npy_in_gzip(self, write):
        with pytest.raises(FileError, match="decompress it first"):
            read_table(write(gzip.compress(b"\x93NUMPY\x01\x00"), "x.npy.gz"))


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
