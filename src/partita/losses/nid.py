"""The normalised information distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from partita.losses._ratio import Combination, RatioLoss, entropy
from partita.typing import Needs


@dataclass(frozen=True)
class NID(RatioLoss):
    r"""The information distance over the larger entropy, in [0, 1].

    :math:`L = (t + e - j - \min(t, e)) / (n \log_2 n - \min(t, e))`, with the sums t, e and j of
    :class:`ID` (Vinh, Epps & Bailey 2010).

    Examples
    --------
    A partition that says nothing of the other is at distance 1, however few the clusters:

    >>> NID()([0, 0, 1, 1], [0, 1, 0, 1])
    1.0
    """

    needs: ClassVar[Needs] = "draws"
    cell = staticmethod(entropy)
    numerator = Combination(t=1, e=1, j=-1, least=-1)  # t + e - j - min(t, e)
    denominator = Combination(w=1, least=-1)  # w - min(t, e)
