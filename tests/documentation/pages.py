"""The pages as they are written: their code blocks, headings and links."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```+")
_REMARK = re.compile(r"^<!-- (slow|prints|not run: .+) -->$")
_LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")


def pages():
    """Every page that a reader may paste from."""
    return sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, its first line and what is said before it.

    ``prints`` is the text of the block after it, where that one is said to be what it prints.
    """

    language: str
    text: str
    line: int
    remark: str
    prints: str | None = None

    @property
    def is_slow(self):
        return self.remark == "slow"

    @property
    def is_run(self):
        return not self.remark.startswith("not run")


def blocks(path):
    found, lines, language, start, remark = (
        [],
        path.read_text(encoding="utf-8").split("\n"),
        "",
        0,
        "",
    )
    inside = False
    for number, line in enumerate(lines, 1):
        if _FENCE.match(line.strip()):
            if inside:
                text = "\n".join(lines[start : number - 1]) + "\n"
                if remark == "prints":
                    found[-1] = replace(found[-1], prints=text)
                else:
                    found.append(Block(language, text, start + 1, remark))
                remark = ""
            else:
                language, start = line.strip().lstrip("`").strip(), number
            inside = not inside
        elif not inside and line.strip():
            said = _REMARK.match(line.strip())
            remark = said[1] if said else ""
    assert not inside, f"{path.name}: a fence is left open"
    return found


def prose(path):
    """The lines outside fences."""
    kept, inside = [], False
    for line in path.read_text(encoding="utf-8").split("\n"):
        if _FENCE.match(line.strip()):
            inside = not inside
        elif not inside:
            kept.append(line)
    return kept


def anchors(path):
    """The anchors that GitHub and MyST both give to a page's headings."""
    found = set()
    for line in prose(path):
        if line.startswith("#"):
            words = line.lstrip("#").strip().lower().replace("`", "")
            found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found | {f"eq-{tag}" for tag in re.findall(r"\\tag\{(\w+)\}", path.read_text("utf-8"))}


def links(path):
    return [found for line in prose(path) for found in _LINK.findall(line)]
