"""A partition comes back from every form in which it was written, in the order of the items."""

from __future__ import annotations

import json

import numpy as np
import pytest

import partita as pt
from partita.cli import _labels, _written, main
from partita.errors import PartitaWarning


@pytest.fixture(params=[None, "named"])
def written(request, tmp_path):
    """Draws of seven items, and their estimate in every form."""
    rng = np.random.default_rng(0)
    shapes = np.array([[0, 0, 1, 1, 1, 1, 2], [0, 1, 1, 1, 2, 2, 2]])
    names = request.param and tuple("gfedcba")
    draws = pt.Draws(shapes[(rng.random(50) < 0.3).astype(int)], item_names=names)
    draws.save(tmp_path / "draws.npz")
    for name in ("e.json", "e.csv"):
        words = ["estimate", tmp_path / "draws.npz", "--seed", "0", "-o", tmp_path / name]
        assert main([*map(str, words), "--save", str(tmp_path / "e.npz")]) == 0
    head, *rows = (tmp_path / "e.csv").read_text().splitlines()
    (tmp_path / "turned.csv").write_text("\n".join([head, *rows[::-1]]) + "\n")
    return tmp_path, draws, pt.estimate(draws, rng=0)


@pytest.mark.parametrize("name", ["e.json", "e.csv", "e.npz", "turned.csv"])
def test_what_estimate_writes_is_read_where_labels_are_asked_for(written, name, capsys):
    folder, draws, best = written
    assert best.n_clusters == 3
    found = _labels.read("--labels", str(folder / name), draws.item_names)
    np.testing.assert_array_equal(found, best.labels)
    capsys.readouterr()
    words = ["certify", str(folder / "draws.npz"), "--labels", str(folder / name)]
    assert main([*words, "--format", "json"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    wanted = pt.certify(best, draws).expected_loss
    assert json.loads(told.out)["expected_loss"] == pytest.approx(wanted)
    words = ["compare", str(folder / "draws.npz"), "--truth", str(folder / name)]
    assert main([*words, "--method", "auto-vi", "--format", "csv"]) == 0
    assert ",1.0,1.0," in capsys.readouterr().out


def test_names_put_a_saved_estimate_in_order(tmp_path):
    best = pt.estimate([[0, 0, 1, 2]] * 3, rng=0)
    named = pt.Draws([[0, 0, 1, 2]] * 3, item_names=list("abcd"))
    pt.estimate(named, rng=0).save(tmp_path / "e.npz")
    found = _labels.read("--labels", str(tmp_path / "e.npz"), tuple("dcba"))
    np.testing.assert_array_equal(found, best.labels[::-1])


def test_numbers_that_are_not_ours_are_matched_by_position_with_a_warning(tmp_path):
    path = tmp_path / "truth.csv"
    path.write_text("id,class\n3,0\n1,1\n2,1\n")
    with pytest.warns(PartitaWarning, match="not in order, and the draws do not name their items"):
        np.testing.assert_array_equal(_labels.read("--truth", str(path)), [0, 1, 1])
    path.write_text("id,class\n1,0\n2,1\n3,1\n")
    np.testing.assert_array_equal(_labels.read("--truth", str(path)), [0, 1, 1])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.5\n1\n2\n", "line 1, column 1 of .* must be a whole number or text; got '0.5'"),
        ("item,cluster\n0,1\n1,\n", "line 3, column 2 of .* must not be missing"),
        ("name,age,cluster\na,3,0\nb,4,0\nc,5,1\n", "an estimate that partita wrote; .* holds 2"),
    ],
)
def test_what_is_wrong_with_labels_is_said_of_them(tmp_path, text, said):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(pt.errors.InvalidValueError, match=said) as error:
        _labels.read("--labels", str(path))
    assert "index" not in str(error.value)
    assert str(error.value).startswith("--labels ")


@pytest.mark.parametrize("search", ["auto", "nmf-ls"])
def test_a_written_estimate_is_an_estimate(written, search, capsys):
    folder, draws, _ = written
    words = ["--search", search, "--seed", "0", "--jobs", "1"]
    path = str(folder / "again.json")
    assert main(["estimate", str(folder / "draws.npz"), *words, "-o", path]) == 0
    found, best = _written.read_estimate(path), pt.estimate(draws, search=search, rng=0)
    assert (found.loss_name, found.search_name, found.seed) == ("vi", search, 0)
    assert found.expected_loss == best.expected_loss
    assert found.item_names == best.item_names
    np.testing.assert_array_equal(found.labels, best.labels)
    if best.memberships is not None:
        np.testing.assert_array_equal(found.memberships, best.memberships)
    capsys.readouterr()
    told = []
    for given in (["--estimate", path], words):
        command = ["uncertainty", str(folder / "draws.npz"), "--table", "ball", *given]
        assert main(command) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "content",
    [
        "{", "[]", "{}", '{"items": []}', '{"items": 5}', "[" * 100_000,
        '{"items": [{"item": 0, "cluster": 1}], "loss": "vi"}',
        '{"items": [{"item": 1, "cluster": 0}], "loss": "vi", "search": "auto", "seed": 0}',
        '{"items": [{"item": 0, "cluster": "x"}], "expected_loss": 1, "loss": "vi"}',
        '{"items": [{"item": 0, "cluster": 0}], "expected_loss": {}, "loss": [], "search": 3}',
    ],
)  # fmt: skip
def test_other_json_is_refused(tmp_path, content):
    path = tmp_path / "e.json"
    path.write_text(content)
    with pytest.raises(pt.errors.FileError, match="does not hold an estimate that"):
        _written.read_estimate(str(path))
