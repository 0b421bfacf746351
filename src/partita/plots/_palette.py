"""Colours and symbols of clusters, the same in every figure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from partita import validate
from partita.partitions import matched_labels

# Okabe and Ito's colours without black, in an order that keeps neighbours far apart; then some of
# Paul Tol's muted ones. The first eight stay apart under each kind of colour blindness.
COLOURS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#f0e442",
    "#5b2a86",
    "#882255",
    "#7a7a2a",
    "#44aa99",
    "#8c564b",
)
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "p")
OTHER = "#b5b5b5"


def palette(n_clusters: int) -> list[str]:
    """Return the colour of clusters 0, 1, ..., as hex strings.

    The colour of a canonical label never depends on how many there are, so that a cluster keeps
    its colour from figure to figure; across partitions see :func:`matched_labels`. The first eight
    are told apart by the colour-blind; beyond twelve they return, paler each round.

    Parameters
    ----------
    n_clusters : int

    References
    ----------
    Okabe & Ito (2008), Color universal design. Tol (2021), Colour schemes.

    Examples
    --------
    >>> palette(2)
    ['#0072b2', '#e69f00']
    >>> palette(13)[12]
    '#59a3cd'
    """
    n = validate.integer("n_clusters", n_clusters, least=0)
    return [_paler(COLOURS[k % len(COLOURS)], k // len(COLOURS)) for k in range(n)]


def _paler(colour: str, rounds: int) -> str:
    """Mix with white: 35% of what is left, round by round, as far as 70% in all."""
    kept = max(0.65**rounds, 0.3)
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - (255 - c) * kept):02x}" for c in channels)


def rgb(n_clusters: int) -> NDArray[np.float64]:
    """Return the palette as numbers in [0, 1], shape (n_clusters, 3)."""
    hexes = palette(n_clusters)
    values = [[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in hexes]
    return np.array(values, dtype=np.float64).reshape(-1, 3)


def column_numbers(reference: Any, labels: Any, n_columns: int) -> NDArray[np.int64]:
    """Return the number of each column of memberships: that of its label, matched; else a spare.

    A column that wins no item, and so is no label, gets the first number that is left over.
    """
    matched = matched_labels(reference, labels)
    numbers = np.full(n_columns, -1, dtype=np.int64)
    numbers[np.asarray(labels)] = matched
    spare = np.setdiff1d(np.arange(n_columns + int(matched.max()) + 1), numbers)
    free = np.flatnonzero(numbers < 0)
    numbers[free] = spare[: free.size]
    return numbers
