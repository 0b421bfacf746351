"""From a resolved prior and a start to the records that kernels work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels
from partita.kernels import mixture_types as types
from partita.mixture.partition_priors import (
    MOST_CLUSTERS,
    FiniteMixture,
    Partition,
    PitmanYor,
)

if TYPE_CHECKING:
    from partita.mixture.priors import Resolved
    from partita.typing import IntArray

_SHAPES = {"full": types.FULL, "diagonal": types.DIAGONAL, "spherical": types.SPHERICAL}


def make_model(
    resolved: Resolved,
    partition: Partition,
    concentration: tuple[float, float, float],
    *,
    with_data: bool = True,
    n_new: int = 0,
) -> types.Model:
    """Every constant of the posterior; ``with_data=False`` leaves the prior alone.

    ``n_new`` items beyond the data are to be placed, one at a time: 1 for predictions.
    """
    n, p = resolved.x.shape
    shape = _SHAPES[resolved.shape]
    kind = types.INDEPENDENT if resolved.mean_weight is None else types.CONJUGATE
    scale = resolved.inverse_scale
    if shape != types.FULL:
        scale = np.diag(scale).reshape(p, 1)
    log_size = partition.log_size(n + 1)
    finite = isinstance(partition, FiniteMixture)
    weight, df = 0.01, float(p + 4 if shape == types.FULL else 4)
    prior = types.Prior(
        kind=kind if with_data else types.NO_DATA,
        shape=shape,
        df=resolved.df,
        mean_weight=resolved.mean_weight or 0.0,
        mean_var=np.ascontiguousarray(resolved.mean_var),
        scale=np.ascontiguousarray(scale),
        log_const=_log_const(resolved, n + 1),
    )
    sizes = types.Sizes(
        kind=_code(partition),
        discount=float(partition.discount) if isinstance(partition, PitmanYor) else 0.0,
        gamma=float(partition.gamma) if isinstance(partition, FiniteMixture) else 0.0,
        conc_shape=concentration[0],
        conc_rate=concentration[1],
        log_size=log_size,
        log_more=_log_more(partition, n + n_new) if finite else np.zeros(1),
    )
    model = types.Model(
        x=np.ascontiguousarray(resolved.x),
        xt=np.ascontiguousarray(resolved.x.T),
        log_alone=np.zeros(n),
        log_joint_const=-n * resolved.log_unit if with_data else 0.0,
        prior=prior,
        sizes=sizes,
        proxy=types.Proxy(weight, df, _proxy_const(shape, p, n, weight, df, log_size)),
    )
    kernels.mixture_marginal.log_marginals(
        prior,
        np.ones(n, np.int64),
        model.x,
        products(model.x, shape),
        make_scratch(model),
        model.log_alone,
    )
    return model


def make_state(model: types.Model, labels: IntArray, start: float, random: Any) -> types.State:
    """A chain that stands at the partition ``labels``."""
    p, q = model.prior.scale.shape
    slots = np.unique(labels, return_inverse=True)[1]
    used = int(slots.max()) + 1
    capacity = used + 16
    state = types.State(
        labels=slots.astype(np.int64),
        order=np.arange(capacity),
        place=np.arange(capacity),
        free=np.concatenate([np.arange(used, capacity)[::-1], np.zeros(used, np.int64)]),
        count=np.zeros(capacity, np.int64),
        total=np.zeros((capacity, p)),
        cross=np.zeros((capacity, p, q)),
        mean=np.zeros((capacity, p)),
        root=np.zeros((capacity, p, q)),
        log_marginal=np.zeros(capacity),
        known=np.zeros(capacity, np.bool_),
        cursor=np.zeros(types.CURSOR_SIZE, np.int64),
        concentration=np.array([start]),
        proxy=np.zeros((p, q)),
        proxy_inverse=np.zeros((p, q)),
        proxy_log_det=np.zeros(1),
        tally=np.zeros((3, 3), np.int64),
        reallocate=np.zeros(1),
        random=random,
    )
    state.cursor[types.N_CLUSTERS] = used
    state.cursor[types.N_FREE] = capacity - used
    work = make_work(model, capacity)
    kernels.mixture_slots.recount(model.x, state)
    kernels.mixture_chain.learn_proxy(model.prior, state)
    kernels.mixture_proposal.set_proxy(
        model.proxy,
        state.proxy,
        work.scratch.matrix[0],
        state.proxy_inverse,
        state.proxy_log_det,
    )
    kernels.mixture_chain.draw_parameters(model, state, work)
    return state


def more_slots(state: types.State) -> types.State:
    """The same chain with room for twice as many clusters."""
    old = state.order.size
    grown = state._asdict()
    for name in ("order", "place", "free", "count", "total", "cross", "mean", "root", "known"):
        grown[name] = _padded(grown[name])
    grown["log_marginal"] = _padded(state.log_marginal)
    n_free = int(state.cursor[types.N_FREE])
    grown["free"][n_free : n_free + old] = np.arange(2 * old - 1, old - 1, -1)
    grown["cursor"] = state.cursor.copy()
    grown["cursor"][types.N_FREE] += old
    return types.State(**grown)


def make_work(model: types.Model, capacity: int) -> types.Work:
    """Scratch for a chain with that many slots."""
    n, p = model.x.shape
    q = model.prior.scale.shape[1]
    return types.Work(
        scratch=make_scratch(model),
        exponent=np.zeros((capacity, types.BLOCK)),
        weight=np.zeros((capacity, types.BLOCK)),
        cumulative=np.zeros(capacity + 1),
        relabel=np.zeros(capacity, np.int64),
        members=np.zeros(n, np.int64),
        side=np.zeros((2, n), np.int8),
        total=np.zeros((2, p)),
        cross=np.zeros((2, p, q)),
        log_marginal=np.zeros(2),
        side_matrix=np.zeros((2, p, q)),
        side_vector=np.zeros((2, 3, p)),
    )


def make_scratch(model: types.Model) -> types.Scratch:
    """Scratch of the marginals."""
    p, q = model.prior.scale.shape
    return types.Scratch(
        matrix=np.zeros((3, p, q)),
        vector=np.zeros((5, p)),
        node=np.zeros((4, types.MAX_NODES)),
    )


def seed_state(seed: np.random.SeedSequence) -> Any:
    """The generator's four words; never all zero."""
    words = seed.generate_state(4, np.uint64)
    words[0] |= np.uint64(1)
    return words


def _padded(array: Any) -> Any:
    return np.concatenate([array, np.zeros_like(array)])


def _code(partition: Partition) -> int:
    if isinstance(partition, FiniteMixture):
        return types.FINITE
    return types.PITMAN_YOR if isinstance(partition, PitmanYor) else types.DIRICHLET


def _log_more(partition: Any, n: int) -> Any:
    most = min(n, MOST_CLUSTERS) + 1
    log_v = partition.log_v(n, most)
    log_v[0] = 0.0
    return np.append(np.diff(log_v), -np.inf)


def products(x: Any, shape: int) -> Any:
    """What each item adds to a cluster's sum of products."""
    if shape == types.FULL:
        return x[:, :, None] * x[:, None, :]
    return (x * x)[:, :, None]


def _log_const(resolved: Resolved, n: int) -> Any:
    """What log m(S) owes to the size of S alone, for sizes 0..n."""
    from scipy.special import gammaln, multigammaln

    p, df = resolved.x.shape[1], resolved.df
    size = np.arange(n + 1.0)
    B = resolved.inverse_scale
    value = -0.5 * size * p * np.log(np.pi)
    if resolved.shape == "full":
        value += _multigammaln(0.5 * (df + size), p) - multigammaln(0.5 * df, p)
        value += 0.5 * df * np.linalg.slogdet(B)[1]
    elif resolved.shape == "diagonal":
        value += p * (gammaln(0.5 * (df + size)) - gammaln(0.5 * df))
        value += 0.5 * df * np.log(np.diag(B)).sum()
    else:
        value += gammaln(0.5 * (df + size * p)) - gammaln(0.5 * df)
        value += 0.5 * df * np.log(B[0, 0])
    if resolved.mean_weight is not None:
        k0 = resolved.mean_weight
        value += 0.5 * p * (np.log(k0) - np.log(k0 + size))
        return value
    # The constants of the scale integrals: one, or one a column.
    dims = p if resolved.shape == "spherical" else 1
    repeats = p if resolved.shape == "diagonal" else 1
    return value - repeats * gammaln(0.5 * (df + size * dims))


def _multigammaln(a: Any, p: int) -> Any:
    from scipy.special import gammaln

    j = np.arange(p)
    parts = gammaln(a[:, None] - 0.5 * j[None, :]).sum(axis=1)
    return 0.25 * p * (p - 1) * np.log(np.pi) + parts


def _proxy_const(shape: int, p: int, n: int, k0: float, df: float, log_size: Any) -> Any:
    """The proxy's predictive constant plus log weight of one more item, for sizes 0..n + 1."""
    from scipy.special import gammaln

    size = np.arange(n + 2.0)
    value = 0.5 * p * np.log((k0 + size) / (k0 + size + 1))
    if shape == types.FULL:
        value += gammaln(0.5 * (df + size + 1)) - gammaln(0.5 * (df + size + 1 - p))
    else:
        value += p * (gammaln(0.5 * (df + size + 1)) - gammaln(0.5 * (df + size)))
    growth = np.append(np.diff(log_size), 0.0)
    growth[0] = 0.0
    return value + growth
