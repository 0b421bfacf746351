"""The normalised information distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from partita.losses._common import Combination, RatioLoss, entropy
from partita.typing import Needs


@dataclass(frozen=True)
class NID(RatioLoss):
    r"""The information distance over the larger entropy, in [0, 1].

    With t, e and j the sums of x log₂ x over the clusters of c, of c* and over their contingency
    table, :math:`L = (t + e - j - \min(t, e)) / (n \log_2 n - \min(t, e))`.

    References
    ----------
    Vinh, Epps & Bailey (2010), Information theoretic measures for clusterings comparison,
    J. Machine Learning Research 11.

    Examples
    --------
    >>> NID()([0, 0, 1, 1], [1, 1, 0, 0])
    0.0
    >>> NID()([0, 0, 1, 1], [0, 1, 0, 1])
    1.0
    """

    needs: ClassVar[Needs] = "draws"

    def cell(self, x: Any) -> Any:
        """x log₂ x."""
        return entropy(x)

    @property
    def numerator(self) -> Combination:
        """t + e - j - min(t, e)."""
        return Combination(t=1, e=1, j=-1, least=-1)

    @property
    def denominator(self) -> Combination:
        """w - min(t, e)."""
        return Combination(w=1, least=-1)
