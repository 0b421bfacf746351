"""One minus the posterior expected adjusted Rand index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from partita.losses._ratio import Combination, RatioLoss, distinct_pairs
from partita.typing import Needs


@dataclass(frozen=True)
class PEAR(RatioLoss):
    r"""The paper's J^PEAR (equation 16): one minus the adjusted Rand index, approximated on π̂.

    With e and j the sums of x_ij and x_ij π̂_ij over pairs i < j, t that of π̂_ij and
    w = n(n-1)/2, :math:`J = [(t + e)/2 - j] / [(t + e)/2 - te/w]`.

    References
    ----------
    Fritsch & Ickstadt (2009), Improved criteria for clustering based on the posterior similarity
    matrix, Bayesian Analysis 4.

    Examples
    --------
    Between two partitions it is one minus the adjusted Rand index itself:

    >>> from sklearn.metrics import adjusted_rand_score
    >>> round(PEAR()([0, 0, 1], [0, 1, 1]) + adjusted_rand_score([0, 0, 1], [0, 1, 1]), 9)
    1.0
    """

    needs: ClassVar[Needs] = "similarity"
    cell = staticmethod(distinct_pairs)
    numerator = Combination(t=0.5, e=0.5, j=-1)  # (t + e)/2 - j
    denominator = Combination(t=0.5, e=0.5, product=-1)  # (t + e)/2 - t·e/w
