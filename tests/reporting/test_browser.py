"""The report in a real browser."""

from __future__ import annotations

import json

import pytest

TABLE = "[...document.querySelectorAll('#table tbody tr')]"
CELLS = f"{TABLE}.map((row) => [...row.cells].map((cell) => cell.textContent))"


def slide(page, index):
    page.run(
        "(() => { const s = document.getElementById('rank');"
        f"s.value = {index}; s.dispatchEvent(new Event('input')); }})()"
    )
    page.frames(4)


def text(page, element):
    return page.run(f"document.getElementById('{element}').textContent")


def drawn(page, chart):
    """The data of a figure, as the library holds it."""
    return json.loads(page.run(f"JSON.stringify(document.getElementById('{chart}').data)"))


def quiet(page):
    assert page.complaints() == []
    assert len(page.requests()) == 1  # the page itself
    assert page.run("document.title !== 'owned'")


def test_opens_from_disk_without_a_word_to_anyone(page, hostile_report):
    page.open(hostile_report)
    page.frames()
    for chart in ("similarity", "loss", "posterior", "memberships", "data"):
        assert page.run(f"document.querySelectorAll('#chart-{chart} svg').length") > 0
    quiet(page)


def test_hostile_names_do_nothing(page, hostile_report):
    from reporting.conftest import HOSTILE

    page.open(hostile_report)
    page.run("document.querySelector('#table th[data-key=item] button').click()")
    seen = page.run(CELLS)
    page.run("document.getElementById('next').click()")
    names = {row[0] for row in [*seen, *page.run(CELLS)]}
    assert {name[:300] for name in HOSTILE} <= names
    assert page.run("document.title") == HOSTILE[1]  # as text
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.run("document.documentElement.scrollWidth") <= 1280
    quiet(page)


def test_an_injected_script_would_not_run(page, hostile_report):
    """What the policy is for: even markup that got in runs nothing and loads nothing."""
    page.open(hostile_report)
    page.run(
        "document.body.insertAdjacentHTML('beforeend',"
        '\'<img src="http://127.0.0.1:9/x.png" onerror="window.owned = 1">\')'
    )
    page.run("document.body.append(Object.assign(document.createElement('script'),"
             "{textContent: 'window.owned = 1'}))")  # fmt: skip
    page.frames()
    assert page.run("window.owned === undefined")
    assert page.complaints() != []


def test_the_slider_moves_memberships_labels_and_loss(page, hostile_report):
    page.open(hostile_report)
    chosen = page.run("Number(document.getElementById('rank').value)")
    before = {
        "text": text(page, "rank-text"),
        "loss": drawn(page, "chart-loss")[2]["x"],
        "columns": len(drawn(page, "chart-memberships")),
        "sizes": text(page, "sizes"),
    }
    assert "the estimate" in before["text"]
    page.run("document.getElementById('rank').focus()")
    page.key("ArrowRight")
    page.key("ArrowRight")
    page.frames(4)
    assert page.run("Number(document.getElementById('rank').value)") == chosen + 2
    after = {
        "text": text(page, "rank-text"),
        "loss": drawn(page, "chart-loss")[2]["x"],
        "columns": len(drawn(page, "chart-memberships")),
        "sizes": text(page, "sizes"),
    }
    assert all(before[key] != after[key] for key in before)
    clusters = {row[1] for row in page.run(CELLS)}
    slide(page, 0)
    assert "K = 2" in text(page, "rank-text")
    assert {row[1] for row in page.run(CELLS)} != clusters
    page.run("document.getElementById('rank-reset').click()")
    page.frames(4)
    assert text(page, "rank-text") == before["text"]
    quiet(page)


@pytest.mark.parametrize(("key", "column"), [("probability", 2), ("entropy", 3), ("cluster", 1)])
def test_sorting(page, hostile_report, key, column):
    page.open(hostile_report)
    button = f"document.querySelector('#table th[data-key={key}] button')"
    page.run(f"{button}.click()")
    values = [float(row[column]) for row in page.run(CELLS)]
    way = page.run(f"{button}.parentElement.getAttribute('aria-sort')")
    page.run(f"{button}.click()")
    other = [float(row[column]) for row in page.run(CELLS)]
    assert way in ("ascending", "descending")
    assert values == sorted(values, reverse=way == "descending")
    assert other == sorted(other, reverse=way == "ascending")
    assert page.run("document.querySelectorAll('#table th[aria-sort]').length") == 1


def search(page, words):
    page.run(
        "(() => { const s = document.getElementById('search');"
        f"s.value = {json.dumps(words)}; s.dispatchEvent(new Event('input')); }})()"
    )
    return [row[0] for row in page.run(CELLS)]


def test_searching(page, hostile_report):
    page.open(hostile_report)
    assert search(page, "item 12") == ["item 12"]
    assert text(page, "found") == "1 of 40 items"
    assert search(page, "EMOJI") == ["emoji 🦀 and \u202eright to left\u202c"]
    assert len(search(page, "<script>")) == 1
    assert search(page, "nobody") == []
    rows = search(page, "cluster:1")
    assert 0 < len(rows) < 40
    assert {row[1] for row in page.run(CELLS)} == {"1"}
    quiet(page)


def test_the_matrix_by_keyboard(page, hostile_report):
    page.open(hostile_report)
    page.run("document.getElementById('chart-similarity').focus()")
    page.key("ArrowDown")
    assert text(page, "readout").endswith(": 1.00")  # an item with itself
    page.key("ArrowRight")
    page.key("ArrowRight")
    assert " with " in text(page, "readout")
    quiet(page)


def test_the_matrix_by_touch(page, hostile_report):
    """A tap is a click without a hover before it."""
    page.open(hostile_report)
    before = text(page, "readout")
    page.run(
        "document.getElementById('chart-similarity').emit('plotly_click',"
        "{points: [{curveNumber: 0, x: 3, y: 3}]})"
    )
    assert before != text(page, "readout")
    assert text(page, "readout").endswith(": 1.00")
    quiet(page)


def test_true_classes_are_marked(page, hostile_report):
    page.open(hostile_report)
    shapes = page.run("document.getElementById('chart-similarity').layout.shapes")
    (marks,) = [shape for shape in shapes if shape["type"] == "path"]
    assert marks["path"].count("M") == page.run(
        "JSON.parse(document.getElementById('data').textContent).similarity.truth.length"
    )
    assert page.run("document.querySelectorAll('#chart-similarity .shapelayer path').length") > 0


def test_paper_has_the_first_rows(page, large_report):
    page.open(large_report)
    page.run("document.getElementById('next').click()")
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    assert page.run(f"{TABLE}.length") == 500
    first = page.run(CELLS)[0]
    said = "The first 500 of 5,000 items, as sorted, are printed."
    assert text(page, "printed") == said
    page.run("window.dispatchEvent(new Event('afterprint'))")
    page.run("document.getElementById('previous').click()")
    assert page.run(CELLS)[0] == first
    quiet(page)


def test_prints_in_the_light(page, hostile_report):
    page.open(hostile_report)
    page.dark()
    page.frames()
    pdf = page.pdf()
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 50_000
    quiet(page)


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_sticks_out(page, hostile_report, width):
    page.size(width, 844, mobile=width < 500)
    page.open(hostile_report)
    page.frames()
    assert page.run("document.documentElement.scrollWidth") <= width
    assert (
        page.run("document.getElementById('chart-loss').querySelector('svg').clientWidth") <= width
    )
    quiet(page)


def test_the_sections_on_how_sure(page, hostile_report):
    page.open(hostile_report)
    page.frames()
    for chart in ("chips", "mode-0", "weights-0", "weights-1"):
        assert page.run(f"document.querySelectorAll('#chart-{chart} svg').length") > 0
    charts = page.run("document.querySelectorAll('.js-plotly-plot').length")
    assert page.run("document.querySelectorAll('.files button').length") == 2 * charts
    for form in ("svg+xml", "png"):
        made = page.run(
            "Plotly.toImage(document.getElementById('chart-chips'),"
            f"{{format: '{form[:3]}'}}).then((url) => url.slice(0, 40))"
        )
        assert made.startswith(f"data:image/{form}")
    quiet(page)


def test_dark_and_light_differ(page, hostile_report):
    page.open(hostile_report)
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.run(background)
    ink = "document.getElementById('chart-loss').layout.font.color"
    light_ink = page.run(ink)
    page.dark()
    page.frames()  # the page is told of it when it draws
    page.wait(f"{background} !== '{light}' && {ink} !== '{light_ink}'")
    assert page.run(background) != light
    assert page.run(ink) != light_ink


def test_five_thousand_items(page, large_report):
    page.open(large_report)
    assert page.run(f"{TABLE}.length") == 25
    slide(page, 0)
    assert "K = " in text(page, "rank-text")
    assert search(page, "4999") == ["4999"]
    page.run("document.querySelector('#table th[data-key=item] button').click()")
    quiet(page)


def test_every_field_and_figure_has_a_name(page, large_report):
    """What a screen reader is given."""
    page.open(large_report)
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    wanted = {"slider", "searchbox", "button", "image", "table", "application", "region"}
    found = set()
    for node in nodes:
        role = node.get("role", {}).get("value")
        if role in wanted and not node.get("ignored"):
            found.add(role)
            assert node["name"]["value"], role
    assert {"slider", "searchbox", "button", "table", "application"} <= found
