"""The three records that mixture kernels pass around; numba reads named tuples as structs.

A :class:`Model` never changes during a run, a :class:`State` is all that a run would need to be
taken up again, a :class:`Work` is scratch whose contents mean nothing between calls. Coordinates
are canonical: the data centred at the prior mean and scaled so that the prior covariance of a
cluster mean is the identity (spherical covariances: diagonal, ``mean_var``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# How the data enter, the shape of a cluster's covariance, the prior of the partition.
INDEPENDENT, CONJUGATE, NO_DATA = 0, 1, 2
FULL, DIAGONAL, SPHERICAL = 0, 1, 2
DIRICHLET, PITMAN_YOR, FINITE = 0, 1, 2

# How items are passed over.
NO_ITEMS, EXPLICIT, COLLAPSED = 0, 1, 2

# Entries of State.cursor.
SCANS, ITEM, STORED, N_CLUSTERS, N_FREE, MOVES, PROXY_SCANS = 0, 1, 2, 3, 4, 5, 6
CURSOR_SIZE = 8

# Rows of State.tally: proposed, accepted, of these large (a tenth of the items change clusters).
SPLIT, MERGE, REALLOCATE = 0, 1, 2


class Prior(NamedTuple):
    """The prior of a cluster's mean and precision."""

    kind: int
    shape: int
    df: float  # kappa0
    mean_weight: float  # k0 of the conjugate prior
    mean_var: np.ndarray  # (p,) prior variance of a cluster mean
    scale: np.ndarray  # (p, q) inverse of R0; q = p for full, 1 for diagonal and spherical
    log_const: np.ndarray  # (n + 2,) what a cluster's log marginal owes to its size alone


class Sizes(NamedTuple):
    """The prior of the partition, and of its concentration."""

    kind: int
    discount: float  # sigma of Pitman-Yor
    gamma: float  # of the finite mixture
    conc_shape: float  # gamma prior of the concentration; 0: fixed
    conc_rate: float
    log_size: np.ndarray  # (n + 2,) log weight of a cluster of that size
    log_more: np.ndarray  # (t + 1,) log V(t + 1) / V(t) of the finite mixture


class Proxy(NamedTuple):
    """The conjugate model that proposes."""

    weight: float
    df: float
    const: np.ndarray  # (n + 2,) its predictive's constant by size, log size included


class Model(NamedTuple):
    """The data in canonical coordinates and every constant of the posterior."""

    x: np.ndarray  # (n, p) items
    xt: np.ndarray  # (p, n) the same, a column at a time for vector units
    log_alone: np.ndarray  # (n,) log m({i})
    log_joint_const: float
    prior: Prior
    sizes: Sizes
    proxy: Proxy


class State(NamedTuple):
    """Where a chain stands."""

    labels: np.ndarray  # (n,) slot of every item
    order: np.ndarray  # (capacity,) slots in use, first N_CLUSTERS entries
    place: np.ndarray  # (capacity,) where in ``order`` a slot is
    free: np.ndarray  # (capacity,) slots not in use, first N_FREE entries
    count: np.ndarray  # (capacity,)
    total: np.ndarray  # (capacity, p) sums
    cross: np.ndarray  # (capacity, p, q) sums of products
    mean: np.ndarray  # (capacity, p) mu_k
    root: np.ndarray  # (capacity, p, q) lower R with T_k = R'R
    log_marginal: np.ndarray  # (capacity,) log m(S_k), where known
    known: np.ndarray  # (capacity,) whether it is
    cursor: np.ndarray  # (CURSOR_SIZE,) int64
    concentration: np.ndarray  # (1,)
    proxy: np.ndarray  # (p, q) pooled covariance within clusters
    proxy_inverse: np.ndarray  # (p, q) inverse of the proxy's scale matrix
    proxy_log_det: np.ndarray  # (1,)
    tally: np.ndarray  # (3, 3) int64, since the last stage of the run began
    reallocate: np.ndarray  # (1,) reallocations a scan
    random: np.ndarray  # (4,) uint64


class Scratch(NamedTuple):
    """Scratch of the marginals."""

    matrix: np.ndarray  # (3, p, q)
    vector: np.ndarray  # (5, p)
    node: np.ndarray  # (4, MAX_NODES): nodes of the scale integral, its terms there, weights


class Work(NamedTuple):
    """Scratch."""

    scratch: Scratch
    exponent: np.ndarray  # (capacity, block)
    weight: np.ndarray  # (capacity, block)
    cumulative: np.ndarray  # (capacity + 1,)
    relabel: np.ndarray  # (capacity,)
    members: np.ndarray  # (n,) items of the clusters that a move touches
    side: np.ndarray  # (2, n) int8: proposed, present
    total: np.ndarray  # (2, p) sums of the clusters that a move proposes
    cross: np.ndarray  # (2, p, q)
    log_marginal: np.ndarray  # (2,)
    side_matrix: np.ndarray  # (2, p, q) posterior of the proxy on either side
    side_vector: np.ndarray  # (2, 3, p)


BLOCK = 256
MAX_NODES = 1024
