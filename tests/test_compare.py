from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import partita as pt


def test_one_row_a_method_every_loss_in_columns(draws, truth):
    table = pt.compare(draws, truth=truth, rng=0)
    assert isinstance(table.frame, pd.DataFrame)
    assert {"minbinder", "maxpear", "minvi", "medv", "map"} <= set(table.frame.index)
    assert set(pt.losses.NAMES) | {"K", "seconds", "Rand", "AR", "VI"} == set(table.frame.columns)
    assert table.frame.notna().all(axis=None)
    for name, best in table.estimates.items():
        row = table.frame.loc[name]
        assert row["K"] == best.n_clusters
        assert row[best.loss_name] == pytest.approx(best.expected_loss, abs=1e-12)
        assert row["AR"] == pytest.approx(pt.adjusted_rand_index(truth, best.labels))


def test_prints_as_a_table(draws):
    text = str(pt.compare(draws, rng=0))
    lines = text.splitlines()
    assert "vi-lower-bound" in lines[0]
    assert all(len(line) <= 140 for line in lines)
    assert any(line.startswith("minbinder") for line in lines)
    assert "<table" in pt.compare(draws, methods=["medv"])._repr_html_()


def test_methods_of_ones_own(draws):
    table = pt.compare(
        draws, methods={"mine": {"loss": "nid", "search": "complete"}, "theirs": {"method": "medv"}}
    )
    assert table.frame.index.tolist() == ["mine", "theirs"]
    assert pt.compare(draws, methods=["minvi"]).frame.index.tolist() == ["minvi"]
    with pytest.raises(ValueError, match="`methods` must be one of"):
        pt.compare(draws, methods=["best"])
    with pytest.raises(ValueError, match="at least one method"):
        pt.compare(draws, methods=[])
    with pytest.raises(TypeError, match="`methods` must be a list"):
        pt.compare(draws, methods="minvi")


def test_a_similarity_alone_leaves_out_what_needs_draws(draws):
    bare = pt.Similarity(pt.posterior_similarity(draws).to_dense())
    table = pt.compare(bare, rng=0)
    assert "map" not in table.frame.index
    assert "vi" not in table.frame.columns
    assert "vi-lower-bound" in table.frame.columns


def test_a_truth_of_another_length_is_refused(draws):
    with pytest.raises(ValueError, match="`truth` must have one label for each of the 60 items"):
        pt.compare(draws, truth=np.zeros(3, int))


@pytest.mark.parametrize("has_found", [True, False])
def test_ctrl_c_keeps_the_methods_that_are_done(draws, has_found):
    class Slow:
        def candidates(self, evidence, loss, *, rng, n_jobs):
            if has_found:
                yield pt.search.Candidate(np.zeros(evidence.n_items, dtype=int))
            raise KeyboardInterrupt

    methods = {
        "first": {"method": "minvi"},
        "second": {"loss": "vi", "search": [Slow(), "average"]},
        "third": {"method": "map"},
    }
    with pytest.warns(pt.errors.PartitaWarning) as said:
        table = pt.compare(draws, methods=methods, rng=0)
    missing = "third" if has_found else "second, third"
    assert str(said[-1].message) == f"The comparison was interrupted; it lacks {missing}."
    assert list(table.frame.index) == [name for name in methods if name not in missing]
    if has_found:  # the searches after it were not made
        assert table.estimates["second"].n_clusters == 1
        assert table.estimates["second"].info["interrupted"]
    with pytest.raises(KeyboardInterrupt):
        pt.compare(draws, methods={"only": {"loss": "vi", "search": Interrupted()}})


class Interrupted:
    """A search that Ctrl-C ends before it has anything."""

    def candidates(self, evidence, loss, *, rng, n_jobs):
        raise KeyboardInterrupt
        yield
