"""The built site, every page: links, anchors, figures, formulas, by a program and in a browser.

Run by ``make docs``, which says where the site is: ``PARTITA_SITE=docs/_build/html``.
"""

from __future__ import annotations

import os
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from reporting import browser

if "PARTITA_SITE" not in os.environ:
    pytest.skip("no site: `make docs` builds one and runs this", allow_module_level=True)

SITE = Path(os.environ["PARTITA_SITE"]).resolve()
PAGES = sorted(p for p in SITE.rglob("*.html") if "_static" not in p.parts)
WIDTHS = (1280, 400)


class Parsed(HTMLParser):
    """The ids of a page, where it links to and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        said = dict(attrs)
        self.ids.update(said[key] for key in ("id", "name") if said.get(key))
        if tag == "a" and said.get("href"):
            self.links.append(said["href"])
        if tag == "link" and said.get("rel") != "canonical" and said.get("href"):
            self.loads.append(said["href"])
        if said.get("src"):
            self.loads.append(said["src"])


@cache
def parsed(path):
    return Parsed(path.read_text(encoding="utf-8"))


def missing(page, address):
    """Why a local address leads nowhere, or None."""
    parts = urlsplit(address)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.is_relative_to(SITE):
        return "leaves the site"
    if not target.exists():
        return "no such file"
    if parts.fragment and target.suffix == ".html":
        known = parsed(target).ids
        if unquote(parts.fragment) not in known:
            return "no such anchor"
    return None


def test_there_is_a_site():
    assert len(PAGES) > 100
    assert (SITE / "index.html") in PAGES


def test_every_link_leads_somewhere():
    seen, faults = 0, []
    for page in PAGES:
        for link in parsed(page).links:
            if urlsplit(link).scheme in ("http", "https", "mailto"):
                continue
            seen += 1
            if why := missing(page, link):
                faults.append(f"{page.relative_to(SITE)}: {link}: {why}")
    assert not faults, "\n".join(faults)
    assert seen > 1000


def test_nothing_is_loaded_from_elsewhere():
    faults = []
    for page in PAGES:
        for load in parsed(page).loads:
            outside = urlsplit(load).scheme not in ("", "data") or load.startswith("//")
            if why := "from the network" if outside else missing(page, load):
                faults.append(f"{page.relative_to(SITE)}: {load}: {why}")
    assert not faults, "\n".join(faults)


LOOK = """(() => {
  const wide = document.documentElement.clientWidth;
  const name = (e) => (e.tagName + '.' + (e.getAttribute('class') || '')).slice(0, 60);
  const shown = (e) => e.getClientRects().length > 0;
  const scrolls = (e) => {
    for (let p = e; p && p !== document.body; p = p.parentElement)
      if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(p).overflowX)) return true;
    return false;
  };
  const faults = [];
  if (document.documentElement.scrollWidth > wide)
    faults.push('wider than the window: ' + document.documentElement.scrollWidth);
  for (const e of document.querySelectorAll('article *')) {
    if (!shown(e) || e.closest('math, svg')) continue;
    const box = e.getBoundingClientRect();
    if (box.right > wide + 1 && !scrolls(e)) faults.push('sticks out: ' + name(e));
  }
  for (const e of document.images)
    if (shown(e) && !(e.complete && e.naturalWidth > 0)) faults.push('no picture: ' + e.src);
  for (const e of document.querySelectorAll('article :not(.sphx-glr-thumbcontainer) > img'))
    if (!e.alt) faults.push('a picture without words: ' + e.src);
  for (const e of document.querySelectorAll('math')) {
    const box = e.getBoundingClientRect();
    if (shown(e) && !(box.width > 2 && box.height > 4)) faults.push('empty formula');
    if (e.querySelector('merror')) faults.push('formula: ' + e.textContent);
    if (/[\\\\$]/.test(e.textContent)) faults.push('formula with TeX: ' + e.textContent);
  }
  const words = document.querySelector('article')?.innerText || '';
  for (const bad of ['{eq}`', '{ref}`', '```', ':func:`', '$$', '\\\\frac', 'System Message'])
    if (words.includes(bad)) faults.push('markup is left: ' + bad);
  if (!document.querySelector('h1') && !location.pathname.endsWith('/search.html'))
    faults.push('no heading');
  return JSON.stringify([...new Set(faults)].slice(0, 8));
})()"""


def opened(page, path):
    page.events.clear()
    page.run("window.left = true")
    page.call("Page.navigate", url=path.as_uri())
    page.wait("!window.left && document.readyState === 'complete'")


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    if browser.find() is None:
        said = "no Chromium is installed"
        pytest.fail(said) if os.environ.get("PARTITA_BROWSER") == "required" else pytest.skip(said)
    with browser.opened(tmp_path_factory.mktemp("profile")) as page:
        yield page


def test_every_page_in_a_browser(tab):
    import json

    faults = []
    for path in PAGES:
        name = path.relative_to(SITE)
        tab.size(WIDTHS[0], 900)
        opened(tab, path)
        for width in WIDTHS:
            tab.size(width, 900, mobile=width < 600)
            tab.frames(2)
            faults += [f"{name} at {width}: {fault}" for fault in json.loads(tab.run(LOOK))]
        faults += [f"{name}: {said}" for said in tab.complaints()]
        asked = [url for url in tab.requests() if not url.startswith("file:")]
        faults += [f"{name} asks for {url}" for url in asked]
    assert not faults, "\n".join(faults)
