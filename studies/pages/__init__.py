"""Pages: templates with numbers put in, which come from ledgers and nowhere else.

``NAME.md`` is the page of a study; ``NAME.py`` has its ``numbers`` and, where there are figures,
``figures``. ``reproducing.md`` is the first page, the list of a referee.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from studies.ledger import Ledger, source
from studies.paper import Frame
from studies.study import Study

#: By the name of the run, such as ``simulation-mu``.
Ledgers: TypeAlias = Mapping[str, Ledger]
Figures: TypeAlias = Mapping[str, Callable[[], Any]]


class Numbers(dict[str, Any]):
    """What a template asks for; what no ledger has reads "not run"."""

    def __missing__(self, key: str) -> Numbers:
        return Numbers()

    def __format__(self, spec: str) -> str:
        return "not run"


def markdown(frame: Frame, digits: int = 3) -> str:
    """Return a frame as a table in Markdown, its index first."""
    shown = frame.reset_index()
    rows = [[_cell(value, digits) for value in row] for row in shown.itertuples(index=False)]
    lines = [[str(column) for column in shown.columns], ["---"] * len(shown.columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: Any, digits: int) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.{digits}f}"
    return str(value)


def read(folder: Path) -> dict[str, Ledger]:
    """Return every ledger in a folder by the name of its run."""
    paths = sorted(folder.glob("*/replicates.csv"))
    return {path.parent.name: Ledger.read(path) for path in paths}


def first(ledgers: Ledgers, names: Sequence[str]) -> str:
    """Return the first page of the reproduction."""
    have = {name: _of(name).numbers(ledgers) for name in names if name in ledgers}
    return _template("reproducing").format_map(Numbers(have))


def write(ledgers: Ledgers, studies: Sequence[type[Study]], folder: Path) -> Path:
    """Write the pages and figures of the studies that have ledgers, then the first page."""
    for study in studies:
        if study.name not in ledgers:
            continue
        place, page = folder / "results" / study.name, _of(study.name)
        place.mkdir(parents=True, exist_ok=True)
        for name, draw in getattr(page, "figures", lambda _: {})(ledgers).items():
            # Without a date or version inside, the same figure is the same file.
            draw().savefig(place / f"{name}.png", dpi=110, metadata={"Software": None})
        text = _template(study.name).format_map(page.numbers(ledgers))
        text = f"{text.rstrip()}\n\n{_made(ledgers, study())}\n"
        (place / f"{study.name}.md").write_text(text, encoding="utf-8")
    whole = folder / "reproducing.md"
    whole.write_text(first(ledgers, [study.name for study in studies]), encoding="utf-8")
    return whole


def _of(name: str) -> Any:
    return import_module(f"studies.pages.{name}")


def _template(name: str) -> str:
    return files("studies").joinpath("pages", f"{name}.md").read_text(encoding="utf-8")


def _made(ledgers: Ledgers, study: Study) -> str:
    """Return what made a study's ledgers, and whether that is not what is at work now."""
    lines = ["## What made the numbers\n"]
    for slug, ledger in ledgers.items():
        if slug.partition("-")[0] == study.name:
            told = "; ".join(ledger.made) or "versions that were not recorded"
            same = {source(one) for one in ledger.made} == {source(study.made)}
            now = "." if same else ". **The package or the study has changed since.**"
            lines.append(f"- `{slug}`: {len(ledger.rows)} rows, made with {told}{now}")
    return "\n".join(lines)
