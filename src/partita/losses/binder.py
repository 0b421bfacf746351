"""Binder's loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from partita.losses._ratio import Combination, WeightedLoss, pairs
from partita.typing import Needs


@dataclass(frozen=True)
class Binder(WeightedLoss):
    r"""Binder's loss: the share of ordered pairs on which two partitions disagree (equation 9).

    .. math:: L(c, c^*) = \frac{1}{n^2} \Big[ a \sum_r n_{r+}^2 + (2 - a) \sum_s n_{+s}^2
              - 2 \sum_{rs} n_{rs}^2 \Big]

    It is linear in the pairs, so the expected loss on draws and on their similarity are equal.
    The paper's scale, ``Σ_{i<j} |π̂_ij - x_ij|`` (eq. 11), is n²/2 times ``Binder(1)``.

    Parameters
    ----------
    a : float in [0, 2], or None
        The cost of splitting a pair that belongs together; 2 - a is that of joining a pair that
        does not. If None, :func:`partita.estimate` chooses the weight that gives its
        ``n_clusters``.

    References
    ----------
    Binder (1978), Bayesian cluster analysis, Biometrika 65.

    Examples
    --------
    >>> Binder()([0, 0, 1, 1], [5, 5, 2, 2])
    0.0
    >>> Binder()([0, 0, 0, 0], [0, 1, 2, 3])
    0.75
    """

    needs: ClassVar[Needs] = "either"
    cell = staticmethod(pairs)
    denominator = Combination(w=1)  # n²
