"""Links between pages, and lists that must stay complete."""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType

import pytest

import partita as pt
from documentation.pages import ROOT, anchors, blocks, links, pages
from partita import cli

DOCS = ROOT / "docs"


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    """As GitHub follows them: files of this repository, and headings in them."""
    for link in links(path):
        if re.match(r"https?:|mailto:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), f"{path.name}: {link}"
        assert target.is_relative_to(ROOT), f"{path.name}: {link} leaves the repository"
        if anchor:
            assert anchor in anchors(target), f"{path.name}: {link}"


def test_every_page_is_in_a_table_of_contents():
    contents = [b for page in pages() for b in blocks(page) if b.language == "{toctree}"]
    listed = {line.strip() for block in contents for line in block.text.split("\n")}
    for page in DOCS.glob("*.md"):
        assert page.stem in listed or page.stem == "index", f"no contents list {page.name}"
    assert "gallery/index" in listed


def test_the_side_bar_is_short():
    contents = [b.text for b in blocks(DOCS / "index.md") if b.language == "{toctree}"]
    entries = [line for text in contents for line in text.split("\n") if line[:1].isalpha()]
    assert 10 < len(entries) <= 20


def test_files_that_contributing_lists_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([\w./]+\.(?:py|hpp))` \|", text, re.MULTILINE)
    assert 10 < len(named) < 15
    assert [name for name in named if not (ROOT / "src" / "partita" / name).exists()] == []


PUBLIC = {name for name in pt.__all__ if isinstance(getattr(pt, name), ModuleType)}
ROOMS = (*sorted(PUBLIC), "uncertainty")


def listed(room):
    """The names that docs/api.md lists under a module."""
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    found = set()
    for part in text.split(".. currentmodule:: ")[1:]:
        name, _, rest = part.partition("\n")
        if name == room:
            body = rest.split("```")[0]
            found |= set(re.findall(r"^   (\w+)$", body, re.MULTILINE))
            found |= set(re.findall(r"^\.\. py:data:: (\w+)$", body, re.MULTILINE))
    return found


def test_the_api_lists_every_public_name():
    wanted = set(pt.__all__) - PUBLIC - {"__version__"}
    assert listed("partita") == wanted


@pytest.mark.parametrize("room", ROOMS)
def test_the_api_lists_every_name_of_a_room(room):
    """Names that ``partita`` itself gives are listed there and not again."""
    module = import_module(f"partita.{room}")
    public = getattr(module, "__all__", [name for name in dir(module) if name[:1].isupper()])
    wanted = {name for name in public if name not in pt.__all__ or room == "plots"}
    assert listed(f"partita.{room}") == wanted


@pytest.mark.parametrize("names", [pt.losses.NAMES, pt.search.NAMES, pt.search.METHODS])
def test_a_page_has_every_name(names):
    text = (DOCS / "choosing.md").read_text(encoding="utf-8")
    assert [name for name in names if f"`{name}`" not in text] == []


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_the_page_of_the_shell_has_every_command(command):
    path = DOCS / "shell.md"
    assert f"partita {command} --help\n" in {b.text for b in blocks(path)}
    assert any(line.startswith(f"| [`{command}`]") for line in path.read_text("utf-8").split("\n"))
