"""Text in a table: names of clusters are read, prose is not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import partita as pt
from partita.errors import InvalidValueError, PartitaWarning

PROSE = {
    "sentences": "The quick brown fox jumps over\nwhile the cat sleeps all day\n"
    "and nobody seems to mind it",
    "commas": "Dear Anna, thank you for the data\nI looked, and it is fine\nMore soon, when I can",
    "one column": "Hello.\nThese\nare\nnotes\nnot\nlabels!",
}


@pytest.mark.parametrize("text", PROSE.values(), ids=PROSE)
def test_prose_is_refused(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(InvalidValueError, match="does not repeat .* is this the right file"):
        pt.read_draws(path)


def test_prose_in_an_array_is_refused():
    rows = [line.split()[:6] for line in PROSE["sentences"].splitlines()]
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
def test_words_that_repeat_are_labels(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draws = pt.Draws([row.split() for row in rows])
    assert draws.n_items == len(rows[0].split())


def test_a_few_words_that_differ_are_read_with_a_warning(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("a,b\nu,v\nw,x\n")
    with pytest.warns(PartitaWarning, match="4 different ones in 4 cells"):
        assert pt.read_draws(path).n_items == 2


def test_data_get_a_hint_of_the_sampler(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,y\n1.25,2.5\n0.2,5.5\n")
    with pytest.raises(InvalidValueError, match="data to cluster, `sample_mixture`"):
        pt.read_draws(path)
    with pytest.raises(InvalidValueError, match="data to cluster, `sample_mixture`"):
        pt.Draws(np.array([[1.25, 2.5, 0.2]]))
