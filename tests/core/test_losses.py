"""What the core refuses where labels, sizes or shapes do not belong together."""

import numpy as np
import pytest

from partita import _core

CELL = np.arange(4.0) ** 2


def joint_sums(**other):
    given = {
        "draws": np.array([[0, 0, 1], [0, 1, 2]], dtype=np.uint8),
        "sizes": np.array([2, 3]),
        "candidates": np.array([[0, 1, 1]], dtype=np.uint32),
        "n_clusters": np.array([2]),
        "cell": CELL,
    }
    return _core.joint_sums(**given | other)


def test_arrays_of_any_order_that_are_only_read_will_do():
    assert joint_sums().tolist() == [[3, 3]]
    columns = np.asfortranarray([[0, 0, 1], [0, 1, 2]]).astype(np.uint8)
    columns.setflags(write=False)
    assert joint_sums(draws=columns).tolist() == [[3, 3]]
    assert joint_sums(draws=columns[:0], sizes=np.empty(0, dtype=np.int64)).shape == (1, 0)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"draws": np.array([[0, 0, 2], [0, 1, 2]], dtype=np.uint8)}, IndexError),
        ({"draws": np.array([[0, 0, 1, 1], [0, 1, 2, 2]], dtype=np.uint8)}, ValueError),
        ({"draws": np.zeros((2, 3))}, TypeError),
        ({"draws": np.zeros((2, 3), dtype=">u2")}, TypeError),
        ({"sizes": np.array([2])}, ValueError),
        ({"sizes": np.array([2, 4])}, ValueError),
        ({"sizes": np.array([2, 0])}, ValueError),
        ({"candidates": np.array([[0, 1, 7]], dtype=np.uint32)}, IndexError),
        ({"cell": CELL[:3]}, ValueError),
        ({"cell": CELL + 1}, ValueError),
    ],
)
def test_what_does_not_belong_together_is_refused(wrong, error):
    with pytest.raises(error):
        joint_sums(**wrong)


@pytest.mark.parametrize(
    "children", [[[0, 1], [3, 9]], [[0, 1], [0, 2]], [[0, 4], [3, 2]], [[-1, 1], [3, 2]], [[0, 1]]]
)
def test_what_is_no_tree_is_refused(children):
    draws = np.array([[0, 0, 1]], dtype=np.uint8)
    assert _core.node_sums(np.array([[0, 1], [3, 2]]), draws, CELL).tolist() == [[1, 1, 1, 4, 5]]
    with pytest.raises(ValueError, match=r"[Tt]ree"):
        _core.node_sums(np.array(children), draws, CELL)


def test_labels_out_of_range_are_refused():
    out, counts = np.empty((1, 2), dtype=np.uint8), np.empty(1, dtype=np.int64)
    for low, span in ((3, 6), (4, 10)):
        with pytest.raises(IndexError):
            _core.renumber(np.array([[3, 9]]), low, span, out, counts)


def test_what_is_written_to_is_never_a_copy():
    labels, counts = np.array([[3, 9]]), np.empty(1, dtype=np.int64)
    held = np.empty((1, 2), dtype=np.uint8)
    held.setflags(write=False)
    for out in (np.empty((1, 4), dtype=np.uint8)[:, ::2], held, np.empty((1, 2))):
        with pytest.raises(TypeError):
            _core.renumber(labels, 3, 9, out, counts)
    with pytest.raises(TypeError):
        _core.renumber(labels, 3, 9, np.empty((1, 2), dtype=np.uint8), counts.astype(np.int32))


@pytest.mark.parametrize("kind", "bBhHiIlLqQ")
def test_labels_of_every_integer_type_are_renumbered(kind):
    labels = np.array([[5, 5, 3, 7, 3]], dtype=kind)
    out, counts = np.empty((1, 5), dtype=np.uint16), np.empty(1, dtype=np.int64)
    _core.renumber(labels, 3, 5, out, counts)
    assert out.tolist() == [[0, 0, 1, 2, 1]]
    assert counts.tolist() == [3]
