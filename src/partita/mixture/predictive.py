"""What the draws say about new items, and about the clusters' parameters.

Given a draw of the partition every cluster's (mu, T) is drawn exactly from its posterior, so that
labels, data and prior are enough: a run keeps no parameters, and draws read from a file serve too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core, validate
from partita.draws import Draws, Reported, complete_draws, overlap_of_draws
from partita.errors import InvalidValueError
from partita.io import Shown
from partita.mixture import partition_priors, priors
from partita.mixture.data import read_data
from partita.mixture.model import make_model, recalled
from partita.parallel import progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Seed

    Floats = NDArray[np.float64]


@dataclass(repr=False, frozen=True, eq=False)
class Parameters(Shown):
    """Means and covariances of the clusters of some draws, all clusters in one list.

    Attributes
    ----------
    means : (total, p)
    covariances : (total, p, p)
    sizes : (total,)
    offsets : (n_draws + 1,)
        The clusters of draw m are ``offsets[m]:offsets[m + 1]``, in the order of its labels.
    """

    means: Floats
    covariances: Floats
    sizes: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def of_draw(self, m: int) -> tuple[Floats, Floats]:
        """Means (K, p) and covariances (K, p, p) of draw m, by label."""
        part = slice(self.offsets[m], self.offsets[m + 1])
        return self.means[part], self.covariances[part]


_BLOCK = 1 << 21  # labels, and numbers of points times clusters, that are worked on together


def component_parameters(
    draws: Any,
    X: Any,
    *,
    prior: str | priors.Prior | None = None,
    df: float | None = None,
    covariance: str | None = None,
    rng: Seed = None,
) -> Parameters:
    """Draw the mean and covariance of every cluster of every draw, given its items.

    With the labels of a draw they are one draw from the joint posterior. Arguments as for
    :func:`predictive_density`.
    """
    given = {"prior": prior, "df": df, "covariance": covariance, "partition": None}
    model = _Model.of(draws, X, given, 1.0, needed=("prior",))
    every = np.arange(model.draws.n_draws)
    drawn = [block.clusters for block in _blocks(model, every, 0, rng, None)]
    n_clusters, sizes, means, roots = (np.concatenate(part) for part in zip(*drawn, strict=True))
    resolved = model.resolved
    back = np.linalg.inv(resolved.whiten) * resolved.unit[:, None]
    return Parameters(
        means @ back.T + resolved.mean,
        back @ _covariances(roots) @ back.T,
        sizes,
        np.concatenate([[0], np.cumsum(n_clusters)]),
    )


def predictive_density(
    draws: Any,
    X: Any,
    points: Any,
    *,
    prior: str | priors.Prior | None = None,
    df: float | None = None,
    covariance: str | None = None,
    partition: str | partition_priors.Partition | None = None,
    concentration: float | None = None,
    max_draws: int = 2000,
    rng: Seed = None,
) -> Floats:
    """Posterior predictive density at new points, (n_points,).

    The mean over draws of sum_k p(joins k) N(y; mu_k, T_k^-1) + p(new) m({y}).

    Parameters
    ----------
    draws, X
        Draws of the partition of the rows of X, and X.
    points : array-like of shape (n_points, p), or (n_points,) if p = 1
        Where.
    prior, df, covariance, partition : optional
        As given to :func:`partita.sample_mixture`; if None, what the draws say in ``about``, else
        its defaults. A prior that was an object must be given. One that contradicts the draws gives
        a warning.
    concentration : float, optional
        If None, the draws' ``concentration`` trace.
    max_draws : int
        At most this many draws are used, evenly spaced.
    rng : int, SeedSequence or Generator, optional
        Of the draws of (mu, T).
    """
    given = {"prior": prior, "df": df, "covariance": covariance, "partition": partition}
    model = _Model.of(draws, X, given, concentration)
    new, alone = model.points(points)
    density = np.zeros(len(new))
    for block in _blocks(model, _spaced(model.draws, max_draws), len(new), rng, "predicting"):
        log_joint, log_alone = block.log_joint(new, alone)
        density += (block.share[block.draw, None] * np.exp(log_joint)).sum(axis=0)
        density += (block.share[:, None] * np.exp(log_alone)).sum(axis=0)
    return np.asarray(density * np.exp(-model.resolved.log_unit))


def join_probabilities(
    draws: Any,
    X: Any,
    points: Any,
    labels: Any,
    *,
    prior: str | priors.Prior | None = None,
    df: float | None = None,
    covariance: str | None = None,
    partition: str | partition_priors.Partition | None = None,
    concentration: float | None = None,
    max_draws: int = 2000,
    own_cluster: bool = True,
    rng: Seed = None,
) -> Floats:
    """P(a new item joins cluster k of an estimate), (n_points, K + 1).

    :func:`partita.predict_memberships` with ``method="items"``, under the sampler's own densities.
    In a draw the new item joins one of its clusters S, or none; it is then said to join cluster k
    of the estimate with probability ``|S & E_k| / |S|``, the chance that a companion picked at
    random from S belongs to E_k. Averaged over draws. The last column is the probability of a
    cluster of its own, or of one left out of the estimate, labelled -1. Rows sum to 1. Arguments as
    for :func:`predictive_density`; ``labels`` is the estimate, a label for every row of X, the
    columns in their order.

    With ``own_cluster=False`` that column is left out: in every draw it is taken as given that the
    item joins a cluster that is there, and draws count alike. An item far from all the data then
    goes where most draws would put it, not where the one draw does that doubts least.
    """
    given = {"prior": prior, "df": df, "covariance": covariance, "partition": partition}
    model = _Model.of(draws, X, given, concentration)
    reported = Reported.of(labels, model.draws.n_items)
    new, alone = model.points(points)
    out = np.zeros((len(new), reported.names.size + 1))
    for block in _blocks(model, _spaced(model.draws, max_draws), len(new), rng, "predicting"):
        log_joint, log_alone = block.log_joint(new, alone)
        overlap = overlap_of_draws(reported, Draws(block.labels))
        column = np.arange(overlap.draw.size) - overlap.offsets[overlap.draw]
        log_weights = np.full((len(log_alone), len(new), column.max() + 2), -np.inf)
        log_weights[overlap.draw, :, column] = log_joint
        if own_cluster:
            log_weights[:, :, -1] = log_alone
        out += overlap.memberships(log_weights, column, block.share, "items")
    return out if own_cluster else out[:, :-1]


@dataclass(frozen=True, eq=False)
class _Model:
    """What draws were sampled under, as far as predictions need it."""

    draws: Draws
    resolved: priors.Resolved
    partition: partition_priors.Partition
    core: _core.MixtureModel

    @classmethod
    def of(
        cls,
        draws: Any,
        X: Any,
        given: dict[str, Any],
        concentration: Any,
        needed: tuple[str, ...] = ("prior", "partition"),
    ) -> _Model:
        draws = complete_draws(draws, "join_probabilities")
        data, _ = read_data(X)
        if data.shape[0] != draws.n_items:
            raise InvalidValueError(
                f"`X` must have a row for each of the {draws.n_items} items; got {data.shape[0]}."
            )
        chosen = recalled(draws.about, data.shape[1], needed=needed, **given)
        shape = validate.choice("covariance", chosen.covariance, priors.SHAPES)
        resolved = priors.named(chosen.prior, chosen.df).complete(data, shape)
        partition = partition_priors.named(chosen.partition)
        value = None
        if concentration is not None:
            value = validate.real("concentration", concentration, low=0, open_low=True)
        elif "concentration" not in draws.traces:
            if not isinstance(partition, partition_priors.FiniteMixture):
                raise InvalidValueError(
                    "`concentration` must be given: the draws have no trace of that name."
                )
            value = 1.0
        if value is not None:
            traces = {**draws.traces, "concentration": np.full(draws.n_draws, value)}
            draws = replace(draws, traces=traces)
        return cls(draws, resolved, partition, make_model(resolved, partition, (0.0, 0.0, 1.0)))

    def points(self, points: Any) -> tuple[Floats, Floats]:
        """New points in canonical coordinates, and their log marginal densities."""
        new, _ = read_data(points, name="points")
        p = self.resolved.x.shape[1]
        if new.shape[1] != p:
            raise InvalidValueError(
                f"`points` must have the {p} columns of `X`; got {new.shape[1]}."
            )
        new = self.resolved.transform(new)
        return new, _core.mixture_log_marginals(self.core, new, _core.Stop())


@dataclass(frozen=True, eq=False)
class _Block:
    """Some draws, with parameters drawn for all of their clusters."""

    model: _Model
    labels: NDArray[np.int32]
    concentration: Floats
    share: Floats  # of each draw in the mean over draws
    clusters: tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]

    @property
    def draw(self) -> NDArray[np.int64]:
        """Which draw of the block each cluster is of."""
        return np.repeat(np.arange(len(self.labels)), self.clusters[0])

    def log_joint(self, new: Floats, alone: Floats) -> tuple[Floats, Floats]:
        """Log p(y, joins k) for each cluster and point, and log p(y, joins none) for each draw."""
        counts, sizes, means, roots = self.clusters
        n, p = new.shape
        square, diagonal = np.zeros((len(sizes), n)), roots[:, :, 0]
        for j in range(p):
            if roots.shape[2] == p:
                row = roots[:, j, : j + 1]
                away = row @ new[:, : j + 1].T - (row * means[:, : j + 1]).sum(axis=1)[:, None]
            else:
                away = diagonal[:, j, None] * (new[:, j] - means[:, j, None])
            square += away * away
        if roots.shape[2] == p:
            diagonal = np.diagonal(roots, axis1=1, axis2=2)
        partition, n_items = self.model.partition, self.labels.shape[1]
        weight = sizes + partition.offset
        log_new = partition.log_new(n_items, counts, self.concentration)
        log_total = np.log(np.bincount(self.draw, weight) + np.exp(log_new))
        constant = np.log(diagonal).sum(axis=1) - 0.5 * p * np.log(2 * np.pi)
        constant += np.log(weight) - log_total[self.draw]
        return constant[:, None] - 0.5 * square, (log_new - log_total)[:, None] + alone


def _spaced(draws: Draws, max_draws: int) -> NDArray[np.int64]:
    """So many draws, evenly spaced."""
    n_used = min(validate.integer("max_draws", max_draws, least=1), draws.n_draws)
    return np.unique(np.linspace(0, draws.n_draws - 1, n_used).round().astype(np.int64))


def _blocks(
    model: _Model, which: NDArray[np.int64], n_points: int, rng: Seed, label: str | None
) -> Iterator[_Block]:
    """Blocks of the chosen draws. Every draw has random numbers of its own, whatever its block."""
    draws, p = model.draws, model.resolved.x.shape[1]
    seed = int(np.random.SeedSequence(validate.seed(rng)).generate_state(1, np.uint64)[0])
    share = draws.probabilities[which]
    share = share / share.sum()
    n_clusters = int(draws.n_clusters[which].max())
    size = max(1, _BLOCK // max(draws.n_items, n_points * (n_clusters + 1)))
    with progress(which.size, label) as bar:
        for first in range(0, which.size, size):
            part = which[first : first + size]
            labels = np.ascontiguousarray(draws.labels[part], np.int32)
            counts, sizes, means, roots = _core.mixture_parameters(
                model.core, labels, seed, first, _core.Stop()
            )
            yield _Block(
                model,
                labels,
                np.asarray(draws.traces["concentration"][part], np.float64),
                share[first : first + size],
                (counts, sizes, means.reshape(-1, p), roots.reshape(len(sizes), p, -1)),
            )
            bar.advance(part.size)


def _covariances(root: Any) -> Any:
    """T^-1 from the lower R with T = R'R, or from its diagonal."""
    p = root.shape[1]
    if root.shape[2] != p:
        return np.eye(p) / root[:, :, :1] ** 2
    inverse = np.linalg.inv(np.tril(root))
    return inverse @ inverse.transpose(0, 2, 1)
