"""Reports, tables and the shell from a similarity alone, and in words for runs."""

from __future__ import annotations

import re

import numpy as np
import pytest

import partita as pt
from partita.errors import InvalidValueError

DRAWS = pt.datasets.simulate_draws(30, 40, n_clusters=3, rng=1)
RUNS = pt.Draws(
    DRAWS.labels,
    observed=np.random.default_rng(0).random(DRAWS.labels.shape) < 0.8,
    about={"method": "consensus"},
)
MATRIX = pt.Similarity(pt.posterior_similarity(DRAWS).to_dense())


def page(tmp_path, data, **how):
    best = pt.estimate(data, search="average", rng=0)
    with open(pt.report(best, data, tmp_path / "page.html", comparison=False, **how)) as file:
        text = file.read()
    text = text[: text.index('<script type="application/json"')]
    return re.sub(r"<style>.*?</style>|<code>.*?</code>", "", text, flags=re.S)


def words_of(text):
    return set(re.findall(r"\b(posterior|chains?|converge\w*|Monte Carlo|credible|R-hat)\b", text))


class TestReport:
    def test_of_a_matrix_says_what_is_left_out(self, tmp_path):
        text = page(tmp_path, MATRIX)
        assert "There was a similarity matrix and no labels of single runs" in text
        assert "no ball around the estimate" in text

    def test_of_runs_with_missing_labels(self, tmp_path):
        text = page(tmp_path, RUNS)
        assert "of the labels are missing" in text
        assert "Consensus matrix" in text

    def test_speaks_of_runs_where_asked_or_made_by_consensus(self, tmp_path):
        assert words_of(page(tmp_path, DRAWS)) > {"posterior", "Monte Carlo"}
        for data, how in ((RUNS, {}), (DRAWS, {"wording": "consensus"})):
            found = words_of(re.sub(r'"chart-posterior"', "", page(tmp_path, data, **how)))
            assert not found
        with pytest.raises(InvalidValueError, match="`wording`"):
            page(tmp_path, DRAWS, wording="runs")

    def test_parameters_need_draws(self, tmp_path):
        with pytest.raises(InvalidValueError, match="`params` must go with whole draws"):
            page(tmp_path, MATRIX, params={})


class TestTables:
    def test_columns_are_those_of_draws_and_the_rest_is_named(self):
        labels = pt.estimate(DRAWS, rng=0).labels
        for verb in (pt.item_uncertainty, pt.cluster_uncertainty):
            alone, whole = verb(labels, MATRIX), verb(labels, DRAWS)
            assert set(whole.columns) - set(alone.columns) == set(alone.attrs["left_out"])
            for name in alone:
                if alone[name].dtype.kind == "f":
                    np.testing.assert_allclose(alone[name], whole[name], atol=1e-12)
                else:
                    assert alone[name].tolist() == whole[name].tolist()

    @pytest.mark.parametrize("header", [True, False])
    def test_a_matrix_in_a_text_file_is_recognised(self, tmp_path, header):
        frame = MATRIX.to_dense()
        path = tmp_path / "matrix.csv"
        if header:
            import pandas as pd

            pd.DataFrame(frame, columns=[f"i{k}" for k in range(30)]).to_csv(path, index=False)
        else:
            np.savetxt(path, frame, delimiter=",")
        with pytest.raises(InvalidValueError, match="looks like a similarity matrix.*--similarity"):
            pt.read_draws(path)
