"""Reports to open, and a browser to open them in."""

from __future__ import annotations

import os

import numpy as np
import pytest

import partita as pt
from reporting import browser

HOSTILE = (
    "<script>document.title = 'owned'</script>",
    "</script><img src=x onerror=\"document.title='owned'\">",
    "\"'`${document.title='owned'}&lt;b&gt;",
    "emoji 🦀 and \u202eright to left\u202c",
    "x" * 10_000,
    "{{style}} <!-- ]]> --> \\u003c",
    '=HYPERLINK("http://example.org")',
    "a\nb\tc\u0000d",
)


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory):
    """A report whose items, title and command are all out for trouble."""
    draws = pt.datasets.simulate_draws(40, 200, n_clusters=3, noise=0.2, rng=0)
    names = [*HOSTILE, *(f"item {i}" for i in range(len(HOSTILE), 40))]
    named = pt.Draws(draws.labels, item_names=names, chains=np.repeat([0, 1], 100))
    X = np.random.default_rng(0).normal(size=(40, 2))
    path = tmp_path_factory.mktemp("report") / "report.html"
    best = pt.estimate(named, search="nmf-kl", rng=0)
    pt.report(best, named, path, X, np.arange(40) * 3 // 40, title=HOSTILE[1], command=HOSTILE[0])
    return path


@pytest.fixture(scope="session")
def large_report(tmp_path_factory):
    """A report of 5,000 items, without the methods that would only take time."""
    draws = pt.datasets.simulate_draws(5_000, 100, n_clusters=12, noise=0.2, rng=0)
    labels = np.arange(5_000) * 12 // 5_000
    X = np.random.default_rng(0).normal(size=(5_000, 2))
    path = tmp_path_factory.mktemp("large") / "report.html"
    pt.report(labels, draws, path, X, comparison=False, brief=True)
    return path


@pytest.fixture(scope="session")
def browser_page(tmp_path_factory):
    if browser.find() is None:
        said = "no Chromium is installed"
        pytest.fail(said) if os.environ.get("PARTITA_BROWSER") == "required" else pytest.skip(said)
    with browser.opened(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(browser_page):
    browser_page.size(1280, 900)
    browser_page.dark(False)
    return browser_page
