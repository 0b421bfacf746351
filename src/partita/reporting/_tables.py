"""DataFrames as HTML tables with a caption and headers that a screen reader can follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_ROWS = 200
_LONG = 60


def table(
    frame: pd.DataFrame,
    caption: str,
    corner: str,
    best: Mapping[str, Callable[[Any], Any]] | None = None,
) -> str:
    """Return a frame as HTML; ``best`` maps columns to ``min`` or ``max``, whose cells are bold."""
    wanted = {column: pick(frame[column].dropna()) for column, pick in (best or {}).items()
              if column in frame and frame[column].notna().any()}  # fmt: skip
    head = "".join(f'<th scope="col">{escape(str(c))}</th>' for c in (corner, *frame.columns))
    rows = []
    for name, row in frame.head(_ROWS).iterrows():
        cells = [_cell(row[c], c in wanted and _equal(row[c], wanted[c])) for c in frame.columns]
        label = f'<th scope="row"><bdi>{escape(_cut(str(name)))}</bdi></th>'
        rows.append(f"<tr>{label}{''.join(cells)}</tr>")
    more = f" (the first {_ROWS} of {len(frame):,})" if len(frame) > _ROWS else ""
    return (
        '<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(caption)}"><table><caption>{escape(caption)}{more}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def _equal(value: Any, best: Any) -> bool:
    return bool(value == value and abs(value - best) <= 1e-9 * max(1.0, abs(best)))


def _cell(value: Any, is_best: bool) -> str:
    import pandas as pd

    if pd.api.types.is_scalar(value) and pd.isna(value):
        text = "–"
    elif isinstance(value, float):
        text = f"{value:.0f}" if value.is_integer() and abs(value) < 1e6 else f"{value:.4g}"
    else:
        text = escape(_cut(str(value)))
    return f"<td><strong>{text}</strong></td>" if is_best else f"<td>{text}</td>"
