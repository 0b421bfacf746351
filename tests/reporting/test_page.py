"""The report as a file: whole, safe, small."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import partita as pt
from partita.errors import FileError, InvalidValueError
from partita.reporting import _content, _page, _words


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])


def unpack(packed):
    return np.frombuffer(base64.b64decode(packed["data"]), dtype=packed["kind"])


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_one_file_that_may_run_only_its_own_scripts(hostile_report):
    text = hostile_report.read_text(encoding="utf-8")
    tags = Tags(text).found
    assert [a for tag, a in tags if tag == "script"] == [
        {"type": "application/json", "id": "data"},
        {},
        {},
    ]
    assert not [tag for tag, a in tags if "src" in a or a.get("href", "#")[0] not in "#d"]
    policy = next(a["content"] for tag, a in tags if tag == "meta" and "http-equiv" in a)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy


def test_hostile_names_are_text(hostile_report):
    text = hostile_report.read_text(encoding="utf-8")
    assert text.count("<script") == 3
    assert "<img" not in text.replace("\\u003cimg", "").split('id="data">')[0]
    assert data_of(text)["names"][0].startswith("<script>")
    assert data_of(text)["names"][5] == "{{style}} <!-- ]]> --> \\u003c"


def test_every_id_is_there_once_and_every_label_has_its_field(hostile_report):
    tags = Tags(hostile_report.read_text(encoding="utf-8")).found
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    for _, a in tags:
        for name in ("for", "aria-labelledby", "aria-describedby"):
            assert set(a.get(name, "").split()) <= set(ids)


def test_five_thousand_items_stay_small(large_report):
    assert large_report.stat().st_size < 15_000_000
    content = data_of(large_report.read_text(encoding="utf-8"))
    assert content["similarity"]["cells"] == 400
    assert len(content["names"]) == 5_000


def test_the_numbers_are_those_of_the_estimate(draws, tmp_path):
    best = pt.estimate(draws, search="nmf-kl", rng=0)
    pt.report(best, draws, tmp_path / "report.html", comparison=False)
    content = data_of((tmp_path / "report.html").read_text(encoding="utf-8"))
    step = content["steps"][content["chosen"]]
    np.testing.assert_array_equal(unpack(step["labels"]), best.labels)
    assert step["loss"] == best.expected_loss
    soft = unpack(step["memberships"]).reshape(-1, 60).T / 255
    np.testing.assert_allclose(soft, best.memberships, atol=1 / 255)
    order = unpack(content["order"])
    cells = unpack(content["similarity"]["values"]).reshape(60, 60) / 255
    dense = pt.posterior_similarity(draws).to_dense()
    np.testing.assert_allclose(cells, dense[np.ix_(order, order)], atol=1 / 255)
    assert [s["rank"] for s in content["steps"]] == [s.rank for s in best.path]


def test_without_a_path_the_estimate_takes_its_place_among_cuts(draws, tmp_path):
    best = pt.estimate(draws, rng=0)
    pt.report(best, draws, tmp_path / "report.html", comparison=False)
    content = data_of((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(content["steps"]) > 3
    step = content["steps"][content["chosen"]]
    np.testing.assert_array_equal(unpack(step["labels"]), best.labels)
    assert step["rank"] == best.n_clusters


@pytest.mark.parametrize(
    "draws",
    [
        [[0, 0], [0, 1], [0, 1], [0, 1]],
        np.zeros((6, 9), int),
        [np.arange(12)] * 4,
    ],
    ids=["two items", "one cluster", "singletons"],
)
def test_degenerate_draws(draws, tmp_path):
    path = pt.report(
        np.asarray(draws)[0], draws, tmp_path / "report.html", np.arange(len(draws[0]))
    )
    assert "Do not trust" in Path(path).read_text(encoding="utf-8")


@pytest.mark.parametrize("method", sorted(pt.search.METHODS))
def test_every_method(draws, tmp_path, method):
    best = pt.estimate(draws, method=method)
    text = Path(pt.report(best, draws, tmp_path / "report.html", comparison=False)).read_text(
        "utf-8"
    )
    assert f"Expected {best.loss_name} {best.expected_loss:.4g}" in text


def test_a_loss_of_ones_own_and_weights(reference_arrays, tmp_path):
    class CountOff:
        needs = "draws"

        def __call__(self, truth, labels):
            return float(abs(len(set(truth)) - len(set(labels))))

        def __repr__(self):
            return "<CountOff>"

    weights = np.random.default_rng(0).random(400)
    draws = pt.Draws(reference_arrays["labels"], weights=weights)
    best = pt.estimate(draws, loss=CountOff(), search="draws")
    text = Path(pt.report(best, draws, tmp_path / "report.html", comparison=False)).read_text(
        "utf-8"
    )
    assert "&lt;CountOff&gt;" in text
    assert "<CountOff>" not in text


def test_an_estimate_from_a_file(draws, tmp_path):
    pt.estimate(draws, search="average", rng=0).save(tmp_path / "best.npz")
    best = pt.Estimate.load(tmp_path / "best.npz")
    assert pt.report(best, draws, tmp_path / "report.html", comparison=False).endswith(
        "report.html"
    )


def test_says_how_to_get_it_again(hostile_report):
    text = hostile_report.read_text(encoding="utf-8")
    assert "search=&#x27;nmf-kl&#x27;, rng=0)" in text
    assert f"partita {pt.__version__}" in text


def test_fingerprint_knows_partitions_not_labels():
    same = [pt.Draws([[0, 0, 1]]), pt.Draws([[5, 5, 2]])]
    other = pt.Draws([[0, 1, 1]])
    assert _words.fingerprint(same[0]) == _words.fingerprint(same[1]) != _words.fingerprint(other)


def test_packing_is_little_endian():
    packed = _content.pack(np.array([1, 256], dtype=">u4"))
    assert base64.b64decode(packed["data"]) == b"\x01\0\0\0\0\1\0\0"
    assert packed["kind"] == "uint32"


def test_the_library_is_what_it_says():
    static = files("partita.reporting").joinpath("static")
    library = static.joinpath(_page.LIBRARY).read_bytes()
    assert hashlib.sha256(library).hexdigest() == _page.LIBRARY_SHA256
    assert f"v{_page.LIBRARY_VERSION}" in library[:200].decode()
    assert "MIT License" in static.joinpath("plotly-cartesian.LICENSE").read_text()


def test_mistakes_are_named(draws, tmp_path):
    best = pt.estimate(draws, method="minvi")
    with pytest.raises(InvalidValueError, match="`data` must have a row for each"):
        pt.report(best, draws, tmp_path / "report.html", [[1.0]], comparison=False)
    with pytest.raises(InvalidValueError, match="truth"):
        pt.report(best, draws, tmp_path / "report.html", truth=[0], comparison=False)
    with pytest.raises(FileError, match="no directory"):
        pt.report(best, draws, tmp_path / "no" / "report.html", comparison=False)
    assert list(tmp_path.iterdir()) == []
