"""The variation of information with the expectation moved inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from partita.losses._ratio import Combination, RatioLoss, entropy
from partita.typing import Needs


@dataclass(frozen=True)
class VILowerBound(RatioLoss):
    r"""The paper's J^VI (equation 18): the expected variation of information, approximated on π̂.

    .. math:: J(c^*) = \frac{1}{n} \sum_i \Big[ \log_2 \sum_j x_{ij}
              - 2 \log_2 \sum_j x_{ij} \hat\pi_{ij} + \log_2 \sum_j \hat\pi_{ij} \Big]

    in bits, with the constant that makes it 0 for a certain partition. The literature calls it a
    lower bound; Jensen's inequality is applied to two terms of opposite sign, so it can exceed
    the expected loss.

    References
    ----------
    Wade & Ghahramani (2018), Bayesian cluster analysis, Bayesian Analysis 13.

    Examples
    --------
    Between two partitions it is the variation of information itself:

    >>> VILowerBound()([0, 0, 1, 1], [1, 1, 0, 0])
    0.0
    >>> VILowerBound()([0, 0, 1, 1], [0, 1, 0, 1])
    2.0
    """

    needs: ClassVar[Needs] = "similarity"
    cell = staticmethod(entropy)
    numerator = Combination(t=1, e=1, j=-2)  # t + e - 2j
    denominator = Combination(n=1)  # n
