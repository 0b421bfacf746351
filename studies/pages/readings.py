"""The distance of every reading of the table of settings from the paper, in equal numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from studies import paper
from studies.pages import Ledgers, Numbers, markdown


def numbers(ledgers: Ledgers) -> Numbers:
    """Return root mean squares over the conventional methods' cells, a row a reading."""
    wide = paper.scores(ledgers["readings"])
    pieces = wide.index.get_level_values("piece").str.partition("/").to_frame(index=False)
    rows = {}
    for reading in pieces[2].unique():
        part = wide[(pieces[2] == reading).to_numpy()].rename(
            index=lambda piece: piece[:3], level=0
        )
        squares = paper.cells(part).z ** 2
        by = np.sqrt(squares.groupby(level="configuration").mean())
        rows[reading] = {f"rms z, {paper.LETTERS[name]}": by[name] for name in by.index}
        rows[reading] |= {"all": np.sqrt(squares.mean()), "data sets": len(part.loc[by.index[0]])}
    table = pd.DataFrame(rows).T.rename_axis("reading").sort_values("all")
    return Numbers(table=markdown(table.astype({"data sets": int}), 2))
