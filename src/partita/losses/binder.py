"""Binder's loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from partita import validate
from partita.losses._ratio import Combination, RatioLoss, pairs, weight_of
from partita.typing import Needs


@dataclass(frozen=True)
class Binder(RatioLoss):
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
    a: float | None = 1.0
    cell = staticmethod(pairs)
    denominator = Combination(w=1)  # n²

    def __post_init__(self) -> None:
        if self.a is not None:
            object.__setattr__(self, "a", validate.real("a", self.a, low=0, high=2))

    @property
    def weight(self) -> float:
        """The number a; an error where it is still to be chosen."""
        return weight_of(self.a)

    @property
    def numerator(self) -> Combination:
        """a·t + (2 - a)·e - 2j."""
        return Combination(t=self.weight, e=2 - self.weight, j=-2)
