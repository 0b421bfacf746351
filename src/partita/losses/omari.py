"""One minus the adjusted Rand index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from partita.losses._ratio import Combination, RatioLoss, distinct_pairs
from partita.typing import Needs


@dataclass(frozen=True)
class OMARI(RatioLoss):
    r"""One minus the adjusted Rand index (equation 14), averaged over the draws (equation 15).

    With t, e and j the numbers of pairs together in c, in c* and in both, and w = n(n-1)/2,
    :math:`L = [(t + e)/2 - j] / [(t + e)/2 - te/w]`.

    References
    ----------
    Hubert & Arabie (1985), Comparing partitions, J. Classification 2.

    Examples
    --------
    >>> OMARI()([0, 0, 1, 1], [1, 1, 0, 0])
    0.0
    >>> OMARI()([0, 0, 1, 1], [0, 0, 0, 0])
    1.0
    """

    needs: ClassVar[Needs] = "draws"
    cell = staticmethod(distinct_pairs)
    numerator = Combination(t=0.5, e=0.5, j=-1)  # (t + e)/2 - j
    denominator = Combination(t=0.5, e=0.5, product=-1)  # (t + e)/2 - t·e/w
