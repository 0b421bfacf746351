"""Credible balls: how far from the answer the posterior reaches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita.draws import Draws, complete_draws
from partita.io import Shown, to_dataset
from partita.uncertainty._density import Density
from partita.uncertainty._given import labels_of

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from numpy.typing import NDArray

    from partita.losses import Loss
    from partita.typing import BoolArray, IntArray

_TIE = 1e-12  # distances closer than this are equal
_SWEEP = 1 << 27  # labels taken from the draws together, in one sweep over a store


@dataclass(frozen=True, eq=False)
class Bound(Shown):
    """The partitions at one edge of a ball.

    Parameters
    ----------
    labels : ndarray, shape (ties, n)
        Every distinct partition that is as extreme, in order of appearance.
    distance : float
        Their distance from the centre.
    n_clusters : int
        Their number of clusters; of a horizontal bound, that of the first.
    """

    labels: IntArray
    distance: float
    n_clusters: int

    def __repr__(self) -> str:
        return (
            f"Bound({validate.count_text(len(self.labels), 'partition')} at {self.distance:.6g}, "
            f"{validate.count_text(self.n_clusters, 'cluster')})"
        )


@dataclass(frozen=True, eq=False)
class CredibleBall(Shown):
    """The draws within ``radius`` of the centre, and those at its edges.

    Parameters
    ----------
    center : ndarray, shape (n,)
    loss : Loss
    prob : float
        What the ball had to hold.
    probability : float
        What it holds: at least ``prob``, more where draws are tied at the radius.
    radius : float
    horizontal : Bound
        The draws of the ball that are farthest from the centre.
    upper_vertical, lower_vertical : Bound
        Among those with the fewest, and with the most, clusters the farthest.
    distances : ndarray, shape (n_draws,)
        From the centre to every draw that was given, in their order.
    draws : Draws
        Those that were given.
    """

    center: NDArray[np.int64]
    loss: Loss
    prob: float
    probability: float
    radius: float
    horizontal: Bound
    upper_vertical: Bound
    lower_vertical: Bound
    distances: NDArray[np.float64]
    draws: Draws

    def __contains__(self, labels: Any) -> bool:
        labels = validate.labels("labels", labels, n_items=self.center.size)
        return self.loss(labels, self.center) <= self.radius + _TIE

    def __repr__(self) -> str:
        return (
            f"CredibleBall({self.prob:.3g} of the posterior within {losses.name_of(self.loss)} "
            f"{self.radius:.6g})"
        )

    @cached_property
    def _density(self) -> Density:
        return Density.of(self.draws)

    def p_value(self, labels: Any) -> Any:
        r"""Return how far a partition is from being the least credible one, from 0 to 1.

        It is the conformal p-value: the share of draws that score no higher, with the partition
        counted among them, (1 + number) / (m + 1). The score is a kernel density in VI over the
        first half of every chain, :math:`\operatorname{mean}_t \exp(-d(c, c_t) / 2)`; the draws
        compared with are those of the second halves, at most 500. If the posterior is right and
        its draws are independent, the true partition has a p-value of at most x with probability
        at most x. So {c: p(c) > 0.05} is a credible set of 95%, which may be in several pieces.

        Parameters
        ----------
        labels : array-like of shape (n,) or (p, n), or Estimate

        Returns
        -------
        float, or ndarray of shape (p,)

        References
        ----------
        Bariletto, Ho & Rinaldo (2025), Conformalized Bayesian inference, with applications to
        random partition models, arXiv:2511.05746.

        Examples
        --------
        >>> ball = credible_ball([0, 0, 1, 1], [[0, 0, 1, 1]] * 90 + [[0, 1, 0, 1]] * 10)
        >>> ball.p_value([0, 0, 1, 1])
        1.0
        """
        given = getattr(labels, "labels", labels)
        if np.ndim(given) == 2:
            rows = np.stack([labels_of(one, self.draws) for one in given])
            return self._density.p_value(rows)
        return float(self._density.p_value(labels_of(given, self.draws)[None, :])[0])

    def to_xarray(self) -> xr.Dataset:
        """Return the centre, the distance of every draw, and one partition of each bound."""
        bounds = (self.horizontal, self.upper_vertical, self.lower_vertical)
        variables = {
            "center": (["item"], self.center),
            "distance": (["draw"], self.distances),
            "bound_labels": (["bound", "item"], np.stack([one.labels[0] for one in bounds])),
            "bound_distance": (["bound"], [one.distance for one in bounds]),
        }
        about = {"loss": losses.name_of(self.loss), "prob": self.prob}
        about |= {"radius": self.radius, "probability": self.probability}
        named = ["horizontal", "upper_vertical", "lower_vertical"]
        return to_dataset(variables, about).assign_coords(bound=named)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a bound: its distance, number of clusters, number of tied partitions."""
        import pandas as pd

        bounds = {
            "horizontal": self.horizontal,
            "upper_vertical": self.upper_vertical,
            "lower_vertical": self.lower_vertical,
        }
        rows = [(b.distance, b.n_clusters, len(b.labels)) for b in bounds.values()]
        index = pd.Index(list(bounds), name="bound")
        return pd.DataFrame(rows, index=index, columns=["distance", "n_clusters", "ties"])


def credible_ball(
    labels: Any,
    draws: Any,
    *,
    loss: Any = None,
    prob: float = 0.95,
    n_jobs: int | None = -1,
) -> CredibleBall:
    r"""Return the smallest ball around a partition that holds ``prob`` of the posterior.

    .. math:: \epsilon^* = \min \{ \epsilon : P(L(c, c^*) \le \epsilon \mid data) \ge prob \}

    The ball is every draw within the radius, those tied at it (to 1e-12) included.

    Parameters
    ----------
    labels : array-like of shape (n,) or Estimate
        The centre.
    draws : Draws or anything that can become one
    loss : str or Loss, optional
        Any that compares two partitions draw by draw. If None, the loss by which the estimate was
        chosen; VI for labels alone, for ``zero-one``, whose ball is the centre or everything, and
        for the two losses that are defined on the similarity. ``ball.loss`` says which.
    prob : float in (0, 1]
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    CredibleBall

    References
    ----------
    Wade & Ghahramani (2018), Bayesian cluster analysis: point estimation and credible balls,
    Bayesian Analysis 13.

    Examples
    --------
    >>> draws = [[0, 0, 1, 1]] * 8 + [[0, 0, 0, 1], [0, 1, 2, 3]]
    >>> ball = credible_ball([0, 0, 1, 1], draws, prob=0.9)
    >>> ball.radius, ball.probability
    (1.0, 0.9)
    >>> ball.horizontal.labels
    array([[0, 1, 2, 3]], dtype=uint8)
    >>> credible_ball([0, 0, 1, 1], draws, prob=0.8).radius
    0.0
    """
    given = complete_draws(draws, "credible_ball")
    center = labels_of(labels, given)
    chosen = losses.distance_of(labels) if loss is None else losses.resolve_distance(loss)
    prob = validate.real("prob", prob, low=0, high=1, open_low=True)
    n_jobs = validate.n_jobs(n_jobs)
    far = losses.distances(chosen, center[None, :], given, n_jobs=n_jobs)[0]
    possible = given.probabilities > 0
    radius = _radius(far[possible], given.probabilities[possible], prob)
    inside = possible & (far <= radius + _TIE)
    k = given.n_clusters
    most, fewest = k == k[inside].max(), k == k[inside].min()
    edges = [_farthest(far, among) for among in (inside, inside & fewest, inside & most)]
    bounds = _bounds(given, far, edges)
    return CredibleBall(
        center=center,
        loss=chosen,
        prob=prob,
        probability=float(given.probabilities[inside].sum()),
        radius=radius,
        horizontal=bounds[0],
        upper_vertical=bounds[1],
        lower_vertical=bounds[2],
        distances=far,
        draws=given,
    )


def _radius(far: NDArray[np.float64], probabilities: NDArray[np.float64], prob: float) -> float:
    """The least distance within which ``prob`` lies; sums of weights are exact to 1e-12 only."""
    order = np.argsort(far, kind="stable")
    held = np.cumsum(probabilities[order])
    reached = np.searchsorted(held, prob * held[-1] - 1e-12)
    return float(far[order[min(int(reached), far.size - 1)]])


def _farthest(far: NDArray[np.float64], among: BoolArray) -> BoolArray:
    return among & (far >= float(far[among].max()) - _TIE)


def _bounds(draws: Draws, far: NDArray[np.float64], edges: list[BoolArray]) -> list[Bound]:
    """The partitions at each edge; of a store they are read together, in one sweep, if few."""
    some = np.flatnonzero(np.any(edges, axis=0))
    if some.size * draws.n_items <= _SWEEP:
        draws = draws.take(some)
        draws = draws._with(labels=np.asarray(draws.labels))
        far, edges = far[some], [edge[some] for edge in edges]
    return [_bound(draws.take(edge).unique(), float(far[edge].max())) for edge in edges]


def _bound(at_edge: Draws, distance: float) -> Bound:
    return Bound(np.asarray(at_edge.labels), distance, int(at_edge.n_clusters[0]))
