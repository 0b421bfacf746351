"""The report as a file: whole, safe, small."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import partita as pt
from partita.errors import FileError, InvalidValueError

LIBRARY_SHA256 = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])


def unpack(packed):
    return np.frombuffer(base64.b64decode(packed["data"]), dtype=packed["kind"])


def report_text(best, draws, folder, **more):
    """The page of a report without other methods."""
    more = {"brief": True, **more}
    path = pt.report(best, draws, folder / "out.html", comparison=False, **more)
    return Path(path).read_text("utf-8")


class OwnLoss:
    needs = "draws"

    def __call__(self, truth, labels):
        return float(abs(len(set(truth)) - len(set(labels))))

    def __repr__(self):
        return "<own\nloss>"


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
    content = data_of(report_text(best, draws, tmp_path))
    step = content["steps"][content["chosen"]]
    np.testing.assert_array_equal(unpack(step["labels"]), best.labels)
    assert step["loss"] == best.expected_loss
    shape = 60, step["width"]
    soft = unpack(step["memberships"]).reshape(shape) / 255
    columns = unpack(step["columns"]).reshape(shape).astype(int)
    np.testing.assert_array_equal(columns[:, 0], best.labels)
    np.testing.assert_allclose(
        soft, np.take_along_axis(best.memberships, columns, axis=1), atol=1 / 255
    )
    assert best.memberships.sum(axis=1) == pytest.approx(soft.sum(axis=1), abs=0.05)
    order = unpack(content["order"])
    cells = unpack(content["similarity"]["values"]).reshape(60, 60) / 255
    dense = pt.posterior_similarity(draws).to_dense()
    np.testing.assert_allclose(cells, dense[np.ix_(order, order)], atol=1 / 255)
    assert [s["rank"] for s in content["steps"]] == [s.rank for s in best.path]


def test_without_a_path_the_estimate_takes_its_place_among_cuts(draws, tmp_path):
    best = pt.estimate(draws, rng=0)
    content = data_of(report_text(best, draws, tmp_path))
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
    text = report_text(best, draws, tmp_path)
    assert f"Expected {best.loss_name}" in text
    assert f" {best.expected_loss:.4g}" in text


def test_a_loss_of_ones_own_and_weights(reference_arrays, tmp_path):
    weights = np.random.default_rng(0).random(400)
    draws = pt.Draws(reference_arrays["labels"], weights=weights)
    text = report_text(pt.estimate(draws, loss=OwnLoss(), search="draws"), draws, tmp_path)
    assert "&lt;own" in text
    assert "<own" not in text.replace("loss = ...  # one of your own: <own", "")


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
    assert "draws = ...  # Draws(200 draws of 40 items" in text
    assert "data=data, truth=truth, title=" in text


def calls_of(text):
    """The Python on the page that makes it again."""
    return html.unescape(re.search(r"<pre><code>(import .*?)</code>", text, re.S)[1]).splitlines()


def test_the_call_of_draws_from_a_file_runs_and_gives_the_estimate(draws, tmp_path):
    draws.save(tmp_path / "some draws.npz")
    best = pt.estimate(draws, loss=pt.losses.Binder(2.0), search="average", rng=5)
    text = report_text(best, tmp_path / "some draws.npz", tmp_path)
    lines = calls_of(text)
    names = {}
    exec("\n".join(lines[:-1]), names)
    np.testing.assert_array_equal(names["best"].labels, best.labels)
    assert lines[-1] == "pt.report(best, draws, 'out.html', comparison=False, brief=True)"


def test_what_the_call_cannot_hold_is_said(draws, tmp_path):
    best = pt.estimate(draws, loss=OwnLoss(), search="draws", rng=0)
    given = {"data": np.zeros((60, 2)), "truth": np.arange(60), "title": "a"}
    density = {"prior": "paper"}
    text = report_text(best, draws, tmp_path, **given, density=density)
    call = "\n".join(calls_of(text))
    assert "loss = ...  # one of your own: <own loss>\n" in call
    assert "pt.estimate(draws, loss=loss, search='draws', rng=0)" in call
    assert "data = ...  # the data, a row for each item: as given, not kept here\n" in call
    assert "comparison=False, density={'prior': 'paper'}, brief=True, title='a')" in call
    compile(call, "call", "exec")


def test_one_loss_along_the_slider(draws, tmp_path):
    """An estimate whose loss a file knew by name alone is scored with the rest of the slider."""
    pt.estimate(draws, loss=OwnLoss(), search="draws", rng=0).save(tmp_path / "best.npz")
    best = pt.Estimate.load(tmp_path / "best.npz")
    text = report_text(best, draws, tmp_path)
    content = data_of(text)
    assert content["loss"] == "vi"
    for step in content["steps"]:
        value = pt.expected_loss(unpack(step["labels"]), draws, loss="vi")
        assert step["loss"] == pytest.approx(float(value))
    assert "Expected vi against K along" in text
    assert "known by name alone" in text


def test_numbers_that_are_not_finite(reference_arrays, tmp_path):
    trace = np.zeros(400)
    trace[[3, 7, 9]] = np.inf, -np.inf, np.nan
    draws = pt.Draws(reference_arrays["labels"], traces={"log joint": trace})
    best = pt.Estimate(draws.labels[0].astype(int), float("inf"), OwnLoss(), "by hand")
    content = data_of(report_text(best, draws, tmp_path))
    assert content["traces"][1]["lines"][0]["y"][3] is None
    assert content["steps"][content["chosen"]]["loss"] is None


def test_half_a_surrogate_pair(draws, tmp_path):
    names = ["bad\udcff name", *(f"item {i}" for i in range(1, 60))]
    named = pt.Draws(draws.labels, item_names=names)
    best = pt.estimate(named, search="average", rng=0)
    path = pt.report(
        best, named, tmp_path / "report.html", title="\ud800", command="partita \udc80",
        comparison=False,
    )  # fmt: skip
    text = Path(path).read_text(encoding="utf-8")
    assert "<h1>\\ud800</h1>" in text
    assert "partita \\udc80" in text


def test_true_classes_are_the_blocks_of_the_figure(draws, truth, tmp_path):
    best = pt.estimate(draws, method="minvi")
    content = data_of(report_text(best, draws, tmp_path, truth=truth))
    shown = np.asarray(truth)[unpack(content["order"]).astype(int)]
    marked = np.zeros((60, 60), dtype=bool)
    for a, b, c, d in content["similarity"]["truth"]:
        marked[a:b, c:d] = True
    np.testing.assert_array_equal(marked, shown[:, None] == shown[None, :])


def test_colours_are_those_of_the_figures(tmp_path):
    labels = np.arange(140) // 2
    content = data_of(report_text(labels, [labels, labels], tmp_path))
    assert content["colours"][:70] == pt.plots.palette(70)


def test_many_clusters_of_many_items_stay_small(tmp_path):
    labels = np.arange(5_000) * 200 // 5_000
    other = np.random.default_rng(0).integers(0, 200, (2, 5_000))
    draws = pt.Draws(np.vstack([labels, other]))
    rest = {k: pt.estimation.Step(k, k, 1.0, labels=labels) for k in range(195, 206)}
    best = pt.Estimate(labels, 0.5, pt.losses.VI(), "test", path=tuple(rest.values()))
    path = Path(pt.report(best, draws, tmp_path / "report.html", comparison=False))
    assert path.stat().st_size < 8_000_000
    assert len(data_of(path.read_text("utf-8"))["steps"]) == 11


def test_the_page_says_how_many_draws_it_shows(tmp_path):
    labels = np.arange(500) // 250
    draws = pt.Draws(np.where(np.arange(1_100)[:, None] % 2 == 0, labels, 0))
    text = report_text(labels, draws, tmp_path)
    assert data_of(text)["similarity"]["note"] == "1,000 of 1,100 draws"
    assert "They are taken from 1,000 of 1,100 draws." in text


def test_the_fingerprint_knows_partitions_not_labels(tmp_path):
    def fingerprint(labels):
        text = report_text([0, 0, 1], pt.Draws(labels), tmp_path)
        return re.search(r"SHA-256 begins ([0-9a-f]{12})", text)[1]

    assert fingerprint([[0, 0, 1]]) == fingerprint([[5, 5, 2]]) != fingerprint([[0, 1, 1]])


def test_the_library_is_what_is_said_of_it():
    static = files("partita.reporting").joinpath("static")
    library = static.joinpath("plotly-cartesian.min.js").read_bytes()
    said = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text("utf-8")
    version = re.search(r"bundle (\d+\.\d+\.\d+)", said)[1]
    assert f"v{version}" in library[:200].decode()
    assert hashlib.sha256(library).hexdigest() == LIBRARY_SHA256
    assert "MIT License" in static.joinpath("plotly-cartesian.LICENSE").read_text()


def test_the_sections_on_how_sure(draws, tmp_path):
    best = pt.estimate(draws, rng=7)
    text = report_text(best, draws, tmp_path, brief=False)
    sure, found = data_of(text)["sure"], pt.chips(draws, prob=0.9, rng=7)
    assert sure["chips"]["chosen"] == [found.n_kept, pytest.approx(found.probability)]
    np.testing.assert_allclose(sure["chips"]["probability"], found.path, atol=1e-5)
    modes = pt.summarize_modes(draws, rng=7)
    np.testing.assert_allclose(sure["modes"]["weights"], modes.weights, atol=1e-5)
    order = unpack(data_of(text)["order"])
    own = modes.similarity(0).to_dense()[np.ix_(order, order)]
    seen = unpack(sure["modes"]["matrices"][0]["values"]).reshape(60, 60) / 255
    np.testing.assert_allclose(seen, own, atol=1 / 255)
    hangs = pt.sensitivity(draws, rng=7).frame
    assert [k for line in sure["weights"] for k in line["k"]] == hangs["n_clusters"].tolist()
    ids = {a.get("id") for _, a in Tags(text).found}
    assert {"stated", "modes", "hangs", "paragraph"} <= ids
    brief = report_text(best, draws, tmp_path)
    assert data_of(brief)["sure"] is None
    assert not {"stated", "modes", "hangs"} & {a.get("id") for _, a in Tags(brief).found}


def test_the_headline_in_words(draws, tmp_path):
    best = pt.estimate(draws, rng=0)
    share = best.expected_loss / np.log2(60)
    text = report_text(best, draws, tmp_path)
    assert f"{share:.1%} of the largest possible, log2 n = 5.91" in text
    binder = pt.estimate(draws, loss="binder", rng=0)
    own = binder.labels[:, None] == binder.labels
    apart = [np.mean((d[:, None] == d) != own) for d in draws.labels]
    share = np.mean(apart) * 60 / 59
    assert f"disagree on {share:.1%} of the pairs" in report_text(binder, draws, tmp_path)


def test_the_paragraph_says_what_was_done(draws, tmp_path):
    chained = pt.Draws(draws.labels, chains=np.arange(400) // 200)
    best = pt.estimate(chained, loss="nvi", search="nmf-kl", rng=0)
    text = html.unescape(report_text(best, chained, tmp_path))
    said = re.search(r'id="methods-text">(.*?)</p>', text, re.S)[1]
    for words in ("400 posterior draws", "60 items (2 chains)", "The loss was nvi (Vinh",
                  "Lee and Seung", "Vehtari", "95% of the posterior"):  # fmt: skip
        assert words in said
    entries = re.findall(r"@\w+\{(\w+),", text)
    assert entries == ["wade2018", "vinh2010", "lee2001", "vehtari2021"]
    assert "Page et al." not in said
    alone = report_text(best, draws, tmp_path)
    assert "Vehtari" not in re.search(r'id="methods-text">(.*?)</p>', alone, re.S)[1]


def test_items_from_one(draws, tmp_path):
    text = report_text(draws.labels[0], draws, tmp_path, first_item=1)
    assert data_of(text)["names"] == [str(i) for i in range(1, 61)]
    assert "first_item=1" in calls_of(text)[-1]
    with pytest.raises(InvalidValueError, match="`path` must be a file of HTML"):
        pt.report(draws.labels[0], draws, tmp_path / "report.pdf")


def test_mistakes_are_named(draws, tmp_path):
    best = pt.estimate(draws, method="minvi")
    with pytest.raises(InvalidValueError, match="`data` must have a row for each"):
        pt.report(best, draws, tmp_path / "report.html", [[1.0]], comparison=False)
    with pytest.raises(InvalidValueError, match="truth"):
        pt.report(best, draws, tmp_path / "report.html", truth=[0], comparison=False)
    with pytest.raises(FileError, match="no directory"):
        pt.report(best, draws, tmp_path / "no" / "report.html", comparison=False)
    assert list(tmp_path.iterdir()) == []
