"""The information distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from partita.losses._ratio import Combination, RatioLoss, entropy
from partita.typing import Needs


@dataclass(frozen=True)
class ID(RatioLoss):
    r"""The information distance: the larger entropy less the mutual information, in bits.

    With t, e and j the sums of x log₂ x over the clusters of c, of c* and over their contingency
    table, :math:`L = (t + e - j - \min(t, e)) / n`.

    References
    ----------
    Vinh, Epps & Bailey (2010), Information theoretic measures for clusterings comparison,
    J. Machine Learning Research 11.

    Examples
    --------
    >>> ID()([0, 0, 1, 1], [1, 1, 0, 0])
    0.0
    >>> ID()([0, 0, 1, 1], [0, 1, 0, 1])
    1.0
    """

    needs: ClassVar[Needs] = "draws"
    cell = staticmethod(entropy)
    numerator = Combination(t=1, e=1, j=-1, least=-1)  # t + e - j - min(t, e)
    denominator = Combination(n=1)  # n
