"""What the core refuses where labels, sizes or shapes do not belong together."""

import numpy as np
import pytest

from partita import _core
from partita.losses import VI


def arguments(**other):
    given = {
        "draws": np.array([[0, 0, 1], [0, 1, 2]], dtype=np.uint8),
        "sizes": np.array([2, 3]),
        "candidates": np.array([[0, 1, 1]], dtype=np.uint32),
        "n_clusters": np.array([2]),
    }
    return given | {"loss": VI().tables(3)} | other


def test_losses():
    wanted = [[VI()(draw, [0, 1, 1]) for draw in ([0, 0, 1], [0, 1, 2])]]
    assert _core.losses(**arguments()).tolist() == wanted
    columns = np.asfortranarray(arguments()["draws"])
    columns.setflags(write=False)
    assert _core.losses(**arguments(draws=columns)).tolist() == wanted


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
        ({"loss": VI().tables(2)}, ValueError),
        ({"loss": (np.ones(4), *VI().tables(3)[1:])}, ValueError),
        ({"loss": (VI().table(3), np.zeros(6), np.zeros(7))}, ValueError),
    ],
)
def test_what_does_not_belong_together_is_refused(wrong, error):
    with pytest.raises(error):
        _core.losses(**arguments(**wrong))


def test_nothing_in_nothing_out():
    none = np.empty((0, 3), dtype=np.uint8), np.empty(0, dtype=np.int64)
    given = arguments(draws=none[0], sizes=none[1])
    assert _core.losses(**given).shape == (1, 0)
    assert _core.expected_losses(**given, weights=np.empty(0)).tolist() == [0.0]


@pytest.mark.parametrize(
    "children", [[[0, 1], [3, 9]], [[0, 1], [0, 2]], [[0, 4], [3, 2]], [[-1, 1], [3, 2]], [[0, 1]]]
)
def test_what_is_no_tree_is_refused(children):
    given = arguments()
    del given["candidates"], given["n_clusters"]
    more = {"weights": np.full(2, 0.5), "e": np.zeros(3)}
    tree = np.array([[0, 1], [3, 2]])
    assert _core.losses_of_cuts(tree, **given, **more).shape == (3,)
    with pytest.raises(ValueError, match=r"[Tt]ree"):
        _core.losses_of_cuts(np.array(children), **given, **more)


def test_labels_out_of_range_are_refused():
    labels = np.array([[3, 9]])
    out, counts = np.empty((1, 2), dtype=np.uint8), np.empty(1, dtype=np.int64)
    for low, span in ((3, 6), (4, 10)):
        with pytest.raises(IndexError):
            _core.renumber(labels, low, span, out, counts)
        with pytest.raises(IndexError):
            _core.first_seen(labels, low, 0, np.zeros((1, span), dtype=np.int64))
        with pytest.raises(IndexError):
            _core.translate(labels, low, np.zeros((1, span), dtype=np.uint8), out)


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
