from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import partita as pt
from partita.draws import as_draws
from partita.partitions import canonical


def test_any_integers_become_canonical_in_the_smallest_dtype():
    draws = pt.Draws([[1, 1, 2], [-5, 70_000, -5], [2**62, -(2**62), 0]])
    assert draws.labels.dtype == np.uint8
    assert draws.labels.tolist() == [[0, 0, 1], [0, 1, 0], [0, 1, 2]]
    assert draws.n_clusters.tolist() == [2, 2, 3]


@pytest.mark.parametrize(
    ("n", "dtype"), [(256, np.uint8), (257, np.uint16), (65_536, np.uint16), (65_537, np.uint32)]
)
def test_dtype_widens_when_it_must(n, dtype):
    draws = pt.Draws(np.vstack([np.arange(n), np.zeros(n, int)]))
    assert draws.labels.dtype == dtype
    assert np.array_equal(draws.labels[0], np.arange(n))
    assert draws.n_clusters.tolist() == [n, 1]


@given(
    npst.arrays(
        st.sampled_from([np.int8, np.uint8, np.int32, np.int64, np.uint64]),
        npst.array_shapes(min_dims=2, max_dims=2, max_side=8),
    )
)
def test_every_row_is_the_same_partition_as_before(array):
    draws = pt.Draws(array)
    for ours, given_row in zip(draws.labels, array, strict=True):
        assert np.array_equal(ours, canonical(given_row))


def test_strings_floats_booleans_and_objects():
    expected = [[0, 1, 0]]
    for rows in (
        [["b", "a", "b"]],
        [[2.0, 1.0, 2.0]],
        [[True, False, True]],
        np.array([["b", "a", "b"]], dtype=object),
        np.array([[1, 2, 1]], dtype=object),
        np.array([[1, 2.0, 1]], dtype=object),
        np.array([[10**30, 2, 10**30]], dtype=object),
    ):
        assert pt.Draws(rows).labels.tolist() == expected


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0, 1], [0]], "rectangular"),
        (np.array([[0, 1], [0]], dtype=object), "rectangular"),
        ([0, 1, 1], r"For a single draw pass \[labels\]"),
        (np.eye(4, dtype=int)[[[0, 1, 2], [3, 0, 1]]], "from_responsibilities"),
        (np.full((2, 3, 4), 0.25), "from_responsibilities"),
        (np.zeros((0, 3), int), "at least one draw"),
        (np.zeros((3, 0), int), "at least one draw"),
        ([[0.5, 1.0]], r"whole numbers; got .*0.5.* at \(0, 0\)"),
        ([[np.nan, np.nan]], "all are missing"),
        ([[np.inf, 1.0]], "missing or infinite"),
        ([[2.0**60, 1.0]], "below 2"),
    ],
)
def test_what_cannot_be_draws_is_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        pt.Draws(labels)


@pytest.mark.parametrize(
    "labels", [[[1j, 0]], np.array([["a", 1]], dtype=object), np.array([[{}, 1]], dtype=object)]
)
def test_labels_of_a_wrong_kind_are_a_type_error(labels):
    with pytest.raises(TypeError, match="`labels` must hold"):
        pt.Draws(labels)


def test_arrays_are_read_only_and_the_callers_is_left_alone():
    mine = np.array([[0, 1, 1]], dtype=np.uint8)
    draws = pt.Draws(mine)
    mine[0, 0] = 1
    assert draws.labels.tolist() == [[0, 1, 1]]
    with pytest.raises(ValueError, match="read-only"):
        draws.labels[0, 0] = 1


def test_a_data_frame_names_its_items():
    frame = pd.DataFrame({"ada": [1, 2], "bob": [1, 1]})
    assert as_draws(frame).item_names == ("ada", "bob")
    assert as_draws(pd.DataFrame([[1, 1], [2, 1]])).item_names is None
    weighted = pt.Draws(frame, weights=[1, 2])
    assert weighted.item_names == ("ada", "bob")


def test_a_samplers_data_frame_is_taken_apart_and_not_read_as_items():
    frame = pd.DataFrame({".chain": [1, 1, 2], "z[1]": [1, 2, 2], "z[2]": [1, 1, 2]})
    draws = as_draws(frame)
    assert (draws.n_items, draws.n_chains, draws.item_names) == (2, 2, None)
    with pytest.raises(ValueError, match=r"sampler's columns: '.chain', .* `as_draws`"):
        pt.Draws(frame)
    named = as_draws(pd.DataFrame({"iteration": [0, 1], "ada": [1, 1], "bob": [1, 2]}))
    assert named.item_names == ("ada", "bob")


def test_a_similarity_passed_as_draws_is_recognised():
    with pytest.raises(ValueError, match=r"looks like a similarity matrix: wrap it, Similarity"):
        pt.estimate(np.eye(3) * 0.5 + 0.5)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weights", [1.0], "one number for each of the 2 draws"),
        ("weights", [1.0, -1.0], "not negative"),
        ("weights", [0.0, 0.0], "positive, finite sum"),
        ("weights", [1.0, np.nan], "finite"),
        ("chains", [0], "one number for each of the 2 draws"),
        ("item_names", ["a"], "one name for each of the 3 items"),
        ("traces", {"K": [1.0]}, r"traces\['K'\]"),
    ],
)
def test_attributes_are_checked(name, value, message):
    with pytest.raises(ValueError, match=message):
        pt.Draws([[0, 0, 1], [0, 1, 1]], **{name: value})


def chained():
    return pt.Draws(
        [[0, 0], [0, 1], [0, 0], [0, 1], [0, 0], [0, 1]],
        weights=[1, 2, 3, 4, 5, 6],
        chains=[7, 7, 7, 9, 9, 9],
        item_names=["a", "b"],
        traces={"x": [10, 11, 12, 13, 14, 15]},
    )


def test_burn_and_thin_go_by_chain():
    draws = chained()
    assert draws.n_chains == 2
    assert draws.burn(1).weights.tolist() == [2, 3, 5, 6]
    thinned = draws.thin(2)
    assert thinned.weights.tolist() == [1, 3, 4, 6]
    assert thinned.chains.tolist() == [0, 0, 1, 1]
    assert thinned.traces["x"].tolist() == [10, 12, 13, 15]
    assert draws.burn(0) == draws == draws.thin(1)
    with pytest.raises(ValueError, match="got 3 to burn and 3 in the shortest"):
        draws.burn(3)
    with pytest.raises(ValueError, match="`step` must be at least 1"):
        draws.thin(0)


def test_take_selects_draws_or_says_it_selected_none():
    assert chained().take(slice(0, 2)).n_draws == 2
    with pytest.raises(ValueError, match="at least one draw"):
        chained().take(np.zeros(6, bool))


def test_concat_keeps_chains_apart_and_checks_the_items():
    both = pt.Draws.concat([chained(), chained()])
    assert both.n_draws == 12
    assert both.chains.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert both.traces["x"].size == 12
    half = pt.Draws.concat([pt.Draws([[0, 0]], weights=[3.0]), pt.Draws([[0, 1]])])
    assert half.weights.tolist() == [3, 1]
    with pytest.raises(ValueError, match="same items"):
        pt.Draws.concat([chained(), pt.Draws([[0, 0, 0]])])
    with pytest.raises(TypeError, match="a list of Draws"):
        pt.Draws.concat([])


@given(
    npst.arrays(
        np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.integers(0, 2)
    )
)
def test_unique_keeps_each_partition_once_with_its_weight(array):
    weights = np.arange(array.shape[0], dtype=float)
    weights[0] = 1.0
    distinct = pt.Draws(array, weights=weights).unique()
    rows = [tuple(canonical(row)) for row in array]
    expected: dict = {}
    for row, weight in zip(rows, weights, strict=True):
        if weight > 0:
            expected[row] = expected.get(row, 0) + weight
    assert {
        tuple(r): w for r, w in zip(distinct.labels.tolist(), distinct.weights, strict=True)
    } == (expected)


def test_a_draw_of_weight_zero_is_as_if_it_were_not_there():
    rows = [[0, 0, 1], [0, 1, 1], [0, 1, 2]]
    with_zero = pt.Draws(rows, weights=[1, 2, 0])
    without = pt.Draws(rows[:2], weights=[1, 2])
    for name in pt.losses.NAMES:
        pair = [pt.expected_loss([0, 0, 0], d, loss=name) for d in (with_zero, without)]
        assert pair[0] == pytest.approx(pair[1], abs=1e-12)


def test_save_and_read_back(tmp_path):
    draws = chained()
    draws.save(tmp_path / "draws.npz")
    assert pt.read_draws(tmp_path / "draws.npz") == draws


def test_repr_says_what_is_inside():
    assert repr(chained()) == "Draws(6 draws of 2 items, 1 to 2 clusters, 2 chains, weighted)"
    assert repr(pt.Draws([[0, 1]])) == "Draws(1 draw of 2 items, 2 clusters)"


def test_about_goes_along_and_is_checked(tmp_path):
    about = {"prior": "paper", "df": 3.0}
    draws = pt.Draws([[0, 0], [0, 1], [0, 1]], about=about)
    draws.save(tmp_path / "d.npz")
    read = pt.read_draws(tmp_path / "d.npz")
    for kept in (draws.burn(1), draws.thin(2), draws.take([0]), draws.unique(), read):
        assert kept.about == about
    assert draws == pt.Draws(draws.labels)
    other = pt.Draws([[0, 1]], about={"prior": "paper", "df": 4.0})
    assert pt.Draws.concat([draws, other]).about == {"prior": "paper"}
    assert pt.Draws.concat([draws, draws]).about == about
    for wrong in ("paper", {"prior": ["paper"]}):
        with pytest.raises(TypeError, match="`about` must map names"):
            pt.Draws([[0, 1]], about=wrong)


def test_about_of_a_file_that_is_not_ours(tmp_path):
    np.savez(tmp_path / "d.npz", labels=np.array([[0, 1]]), **{"about:df": np.ones(2)})
    with pytest.raises(pt.errors.FileError, match="about:df"):
        pt.read_draws(tmp_path / "d.npz")


def test_three_axes_are_chains_draws_and_items():
    labels = np.arange(24).reshape(2, 3, 4) % 5
    draws = pt.Draws(labels)
    assert draws == pt.Draws(labels.reshape(6, 4), chains=[0, 0, 0, 1, 1, 1])
    assert pt.posterior_similarity(labels).draws == draws


def test_a_similarity_is_draws_if_it_was_made_from_them():
    draws = pt.datasets.simulate_draws(10, 20, n_clusters=2, rng=0)
    psm = pt.posterior_similarity(draws)
    assert pt.as_draws(psm) is draws
    assert pt.credible_ball(draws.labels[0], psm).radius >= 0
    with pytest.raises(TypeError, match="similarity, which does not hold them"):
        pt.as_draws(pt.Similarity(psm.to_dense()))


@pytest.mark.parametrize("values", [np.array([1 + 2j, 1, 1]), ["1", "2", "3"], ["a", "b", "c"]])
def test_text_and_complex_numbers_are_no_traces(values):
    labels = [[0, 1], [0, 0], [0, 1]]
    with pytest.raises(pt.errors.InvalidTypeError, match=r"`traces\['a'\]` must be real numbers"):
        pt.Draws(labels, traces={"a": values})
