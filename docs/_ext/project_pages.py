"""The files at the root of the repository as pages, so that links to them work in both places.

On GitHub a page links to ``../CONTRIBUTING.md``; on the site that file is ``project/contributing``.
"""

from __future__ import annotations

import re
from pathlib import Path

NAMES = ("CONTRIBUTING", "CHANGELOG", "SECURITY")
_UP = re.compile(rf"\]\(\.\./({'|'.join(NAMES)})\.md")


def write(app) -> None:
    """Copy the files, their links seen from where they now are."""
    folder = Path(app.srcdir) / "project"
    folder.mkdir(exist_ok=True)
    for name in NAMES:
        text = (Path(app.srcdir).parent / f"{name}.md").read_text(encoding="utf-8")
        text = text.replace("](docs/", "](../")
        text = re.sub(rf"\]\(({'|'.join(NAMES)})\.md", lambda m: f"]({m[1].lower()}.md", text)
        (folder / f"{name.lower()}.md").write_text(text, encoding="utf-8")


def relink(app, docname: str, source: list[str]) -> None:
    """Lead links that go up to those pages."""
    source[0] = _UP.sub(lambda m: f"](project/{m[1].lower()}.md", source[0])


def setup(app):
    """Sphinx calls this."""
    app.connect("builder-inited", write, priority=100)
    app.connect("source-read", relink)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
