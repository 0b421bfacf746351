"""The normalised variation of information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from partita.losses._ratio import Combination, RatioLoss, entropy
from partita.typing import Needs


@dataclass(frozen=True)
class NVI(RatioLoss):
    r"""The variation of information over the joint entropy, in [0, 1].

    With the sums t, e and j of :class:`ID`, :math:`L = (t + e - 2j) / (n \log_2 n - j)` (Vinh, Epps
    & Bailey 2010).

    Examples
    --------
    Half of what the two partitions say together is said by one alone:

    >>> NVI()([0, 0, 1, 1], [0, 0, 0, 0])
    1.0
    >>> NVI()([0, 0, 1, 1], [0, 1, 2, 3])
    0.5
    """

    needs: ClassVar[Needs] = "draws"
    cell = staticmethod(entropy)
    numerator = Combination(t=1, e=1, j=-2)  # t + e - 2j
    denominator = Combination(w=1, j=-1)  # w - j
