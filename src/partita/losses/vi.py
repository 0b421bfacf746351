"""The variation of information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from partita.losses._ratio import Combination, WeightedLoss, entropy
from partita.typing import Needs


@dataclass(frozen=True)
class VI(WeightedLoss):
    r"""The variation of information, in bits (equation 17).

    .. math:: L(c, c^*) = \frac{1}{n} \Big[ a \sum_r n_{r+} \log_2 n_{r+}
              + (2 - a) \sum_s n_{+s} \log_2 n_{+s} - 2 \sum_{rs} n_{rs} \log_2 n_{rs} \Big]

    Parameters
    ----------
    a : float in [0, 2], or None
        The cost of splitting what belongs together; 2 - a is that of joining what does not.
        Larger a gives fewer clusters. If None, :func:`partita.estimate` chooses the weight that
        gives its ``n_clusters``.

    References
    ----------
    Meilă (2007), Comparing clusterings, J. Multivariate Analysis 98. Wade & Ghahramani (2018),
    Bayesian cluster analysis, Bayesian Analysis 13. Dahl, Johnson & Müller (2022), Search
    algorithms and loss functions for Bayesian clustering, J. Comput. Graph. Stat. 31, for a ≠ 1.

    Examples
    --------
    >>> VI()([0, 0, 1, 1], ["b", "b", "a", "a"])
    0.0
    >>> VI()([0, 0, 1, 1], [0, 1, 0, 1])
    2.0
    """

    needs: ClassVar[Needs] = "draws"
    cell = staticmethod(entropy)
    denominator = Combination(n=1)  # n
