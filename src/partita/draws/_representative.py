"""A few draws that stand for all."""

from __future__ import annotations

import numpy as np

from partita import validate
from partita.draws._draws import Draws

_GOLDEN = 0.6180339887498949


def representative(draws: Draws, most: int) -> Draws:
    """Return at most ``most`` draws that stand for all, equally weighted; the same every time.

    Draws are put in order of their chains and their weight is cut into ``most`` equal shares; one
    draw is taken from each, so that a chain, or a heavy draw, has as many as its weight asks for
    to within two, and a draw of weight zero none. Where in a share is a multiple of the golden
    ratio, so that chains which take turns without being told apart are all met. So few draws that
    there is nothing to leave out come back as they are, weights and all.

    Examples
    --------
    >>> draws = Draws([[0, 0], [0, 1], [0, 1]], weights=[6, 2, 0])
    >>> representative(draws, 4) is draws
    True
    >>> representative(draws, 2).labels.tolist()
    [[0, 0], [0, 0]]
    """
    validate.integer("most", most, least=1)
    if draws.n_draws <= most:
        return draws
    order = np.argsort(draws._chain_numbers, kind="stable")
    ends = np.cumsum(draws.probabilities[order])
    share = np.arange(most)
    points = (share + (0.5 + share * _GOLDEN) % 1.0) / most
    last = int(np.flatnonzero(draws.probabilities[order])[-1])
    chosen = np.minimum(np.searchsorted(ends / ends[-1], points, side="right"), last)
    return draws.take(order[chosen])._with(weights=None)
