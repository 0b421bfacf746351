"""What the draws say about new items, and about the clusters' parameters.

Given a draw of the partition every cluster's (mu, T) is drawn exactly from its posterior, so that
labels, data and prior are enough: a run keeps no parameters, and draws read from a file serve too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partita import kernels, validate
from partita.distributed import progress
from partita.draws import Draws, as_draws
from partita.errors import InvalidValueError
from partita.mixture import assembly, partition_priors, priors, record
from partita.mixture.data import read_data

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.kernels import mixture_types as types
    from partita.typing import Seed

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parameters:
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


class _Drawn(NamedTuple):
    n_clusters: int
    count: Any
    mean: Any
    root: Any
    concentration: float
    labels: Any
    probability: float


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
    told = {"prior": prior, "df": df, "covariance": covariance, "partition": None}
    model, resolved, draws = _model(draws, X, told, 1.0, needed=("prior",))
    back = np.linalg.inv(resolved.whiten) * resolved.unit[:, None]
    means, covariances, sizes = [], [], []
    for drawn in _each(model, draws, np.arange(draws.n_draws), rng):
        k = drawn.n_clusters
        means.append(drawn.mean[:k] @ back.T + resolved.mean)
        covariances.append(back @ _covariances(drawn.root[:k]) @ back.T)
        sizes.append(drawn.count[:k].copy())
    offsets = np.concatenate([[0], np.cumsum([len(m) for m in means])])
    return Parameters(
        np.concatenate(means), np.concatenate(covariances), np.concatenate(sizes), offsets
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
    told = {"prior": prior, "df": df, "covariance": covariance, "partition": partition}
    model, resolved, draws = _model(draws, X, told, concentration)
    new = _points(points, resolved)
    density = np.zeros(new.shape[0])
    for drawn, rows in _rows(model, draws, new, max_draws, rng):
        kernels.mixture_predict.add_density(rows, drawn.n_clusters, drawn.probability, density)
    return np.asarray(density * np.exp(-resolved.log_unit))


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

    In a draw the new item joins one of its clusters S, or none; it is then said to join cluster k
    of the estimate with probability ``|S & E_k| / |S|``, the chance that a companion picked at
    random from S belongs to E_k. Averaged over draws. The last column is the probability of a
    cluster of its own. Rows sum to 1. Arguments as for :func:`predictive_density`; ``labels`` is
    the estimate, a label for every row of X, the columns in their order.

    With ``own_cluster=False`` that column is left out: in every draw it is taken as given that the
    item joins a cluster that is there, and draws count alike. An item far from all the data then
    goes where most draws would put it, not where the one draw does that doubts least.
    """
    told = {"prior": prior, "df": df, "covariance": covariance, "partition": partition}
    model, resolved, draws = _model(draws, X, told, concentration)
    wanted = validate.labels("labels", labels, n_items=draws.n_items)
    wanted = np.unique(wanted, return_inverse=True)[1]
    n_wanted = int(wanted.max()) + 1
    new = _points(points, resolved)
    out = np.zeros((new.shape[0], n_wanted + 1))
    for drawn, rows in _rows(model, draws, new, max_draws, rng):
        overlap = np.zeros((drawn.n_clusters, n_wanted))
        np.add.at(overlap, (drawn.labels, wanted), 1.0)
        overlap /= overlap.sum(axis=1, keepdims=True)
        kernels.mixture_predict.add_memberships(
            rows, drawn.n_clusters, drawn.n_clusters + own_cluster, overlap, drawn.probability, out
        )
    return out if own_cluster else out[:, :-1]


def _model(
    draws: Any,
    X: Any,
    told: dict[str, Any],
    concentration: Any,
    needed: tuple[str, ...] = ("prior", "partition"),
) -> tuple[types.Model, priors.Resolved, Draws]:
    draws = as_draws(draws)
    data, _ = read_data(X)
    if data.shape[0] != draws.n_items:
        raise InvalidValueError(
            f"`X` must have a row for each of the {draws.n_items} items; got {data.shape[0]}."
        )
    model = record.read(draws.about, data.shape[1], needed=needed, **told)
    shape = validate.choice("covariance", model.covariance, priors.SHAPES)
    resolved = priors.named(model.prior, model.df).complete(data, shape)
    chosen = partition_priors.named(model.partition)
    value = None
    if concentration is not None:
        value = validate.real("concentration", concentration, low=0, open_low=True)
    elif "concentration" not in draws.traces:
        if not isinstance(chosen, partition_priors.FiniteMixture):
            raise InvalidValueError(
                "`concentration` must be given: the draws have no trace of that name."
            )
        value = 1.0
    if value is not None:
        traces = {**draws.traces, "concentration": np.full(draws.n_draws, value)}
        draws = replace(draws, traces=traces)
    ahead = assembly.make_model(resolved, chosen, (0.0, 0.0, 1.0), n_new=1)
    return ahead, resolved, draws


def _points(points: Any, resolved: priors.Resolved) -> Floats:
    new, _ = read_data(points, name="points")
    p = resolved.x.shape[1]
    if new.shape[1] != p:
        raise InvalidValueError(f"`points` must have the {p} columns of `X`; got {new.shape[1]}.")
    return resolved.transform(new)


def _each(model: types.Model, draws: Draws, which: Any, rng: Seed) -> Iterator[_Drawn]:
    """Every chosen draw with its clusters' parameters; the arrays are used again."""
    p, q = model.prior.scale.shape
    most = int(draws.n_clusters.max())
    count, total = np.zeros(most, np.int64), np.zeros((most, p))
    cross, mean, root = np.zeros((most, p, q)), np.zeros((most, p)), np.zeros((most, p, q))
    scratch = assembly.make_scratch(model)
    state = assembly.seed_state(np.random.SeedSequence(validate.seed(rng)))
    share = draws.probabilities[which]
    share = share / share.sum()
    for m, probability in zip(which, share, strict=True):
        labels = draws.labels[m].astype(np.int64)
        k = kernels.mixture_predict.draw_clusters(
            model, labels, count, total, cross, mean, root, scratch, state
        )
        value = float(draws.traces["concentration"][m])
        yield _Drawn(k, count, mean, root, value, labels, float(probability))


def _rows(
    model: types.Model, draws: Draws, new: Floats, max_draws: int, rng: Seed
) -> Iterator[tuple[_Drawn, Floats]]:
    """For each draw used: log p(joins k) + log p(y | joins k), a row a cluster, new last."""
    n_used = min(validate.integer("max_draws", max_draws, least=1), draws.n_draws)
    which = np.unique(np.linspace(0, draws.n_draws - 1, n_used).round().astype(np.int64))
    n_points = new.shape[0]
    alone = np.empty(n_points)
    kernels.mixture_marginal.log_marginals(
        model.prior,
        np.ones(n_points, np.int64),
        new,
        assembly.products(new, model.prior.shape),
        assembly.make_scratch(model),
        alone,
    )
    columns = np.ascontiguousarray(new.T)
    rows = np.empty((int(draws.n_clusters.max()) + 1, n_points + 1))
    nothing = np.zeros(n_points)
    with progress(which.size, "predicting") as bar:
        for drawn in _each(model, draws, which, rng):
            kernels.mixture_predict.log_joint_rows(
                model,
                columns,
                alone,
                drawn.concentration,
                drawn.n_clusters,
                drawn.count,
                drawn.mean,
                drawn.root,
                nothing,
                rows,
            )
            yield drawn, rows
            bar.advance()


def _covariances(root: Any) -> Any:
    """T^-1 from the lower R with T = R'R, or from its diagonal."""
    p = root.shape[1]
    if root.shape[2] != p:
        return np.eye(p) / root[:, :, :1] ** 2
    inverse = np.linalg.inv(np.tril(root))
    return inverse @ inverse.transpose(0, 2, 1)
