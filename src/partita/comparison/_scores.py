"""Scores of a partition against a truth."""

from __future__ import annotations

from typing import Any

from partita import validate
from partita.losses import OMARI, VI, Binder


def rand_index(truth: Any, labels: Any) -> float:
    r"""Return the share of pairs on which two partitions agree (equation 12).

    .. math:: Rand(c, c^*) = 1 - L^B(c, c^*) / \binom{n}{2}

    with :math:`L^B` the number of pairs i < j on which they disagree.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)

    Examples
    --------
    >>> rand_index([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> rand_index([0, 0, 0], [0, 1, 2])
    0.0
    """
    n = validate.labels("truth", truth).size
    if n == 1:
        return 1.0
    return 1.0 - Binder()(truth, labels) * n / (n - 1)


def adjusted_rand_index(truth: Any, labels: Any) -> float:
    """Return the Rand index corrected for chance (equation 14): 1 if equal, about 0 by chance.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)

    Examples
    --------
    >>> adjusted_rand_index([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> round(adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1]), 6)
    -0.5
    """
    return 1.0 - OMARI()(truth, labels)


def variation_of_information(truth: Any, labels: Any) -> float:
    """Return the variation of information between two partitions, in bits (equation 17).

    Parameters
    ----------
    truth, labels : array-like of shape (n,)

    Examples
    --------
    >>> variation_of_information([0, 0, 1, 1], [1, 1, 0, 0])
    0.0
    >>> variation_of_information([0, 0, 1, 1], [0, 1, 0, 1])
    2.0
    """
    return VI()(truth, labels)
