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

# Entries of State.cursor.
SCANS, ITEM, STORED, N_CLUSTERS, N_FREE, MOVES, PROXY_SCANS = 0, 1, 2, 3, 4, 5, 6
CURSOR_SIZE = 8

# Rows of State.tally: proposed, accepted.
SPLIT, MERGE, REALLOCATE, SHUFFLE = 0, 1, 2, 3


class Model(NamedTuple):
    """The data in canonical coordinates and every constant of the posterior."""

    x: np.ndarray  # (n, p) items
    xt: np.ndarray  # (p, n) the same, a column at a time for vector units
    kind: int
    shape: int
    mean_var: np.ndarray  # (p,) prior variance of a cluster mean
    mean_weight: float  # k0 of the conjugate prior
    df: float  # kappa0
    scale: np.ndarray  # (p, q) inverse of R0; q = p for full, 1 for diagonal and spherical
    log_const: np.ndarray  # (n + 2,) what a cluster's log marginal owes to its size alone
    log_alone: np.ndarray  # (n,) log m({i})
    partition: int
    discount: float  # sigma of Pitman-Yor
    gamma: float  # of the finite mixture
    log_size: np.ndarray  # (n + 2,) log weight of a cluster of that size
    log_more: np.ndarray  # (t + 1,) log V(t + 1) / V(t) of the finite mixture
    conc_shape: float  # gamma prior of the concentration; 0: fixed
    conc_rate: float
    log_joint_const: float
    proxy_weight: float  # the proxy of the split-merge proposals: k, degrees of freedom,
    proxy_df: float
    proxy_const: np.ndarray  # (n + 2,) its predictive's constant by size, log size included


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
    tally: np.ndarray  # (4, 2) int64
    random: np.ndarray  # (4,) uint64


class Work(NamedTuple):
    """Scratch."""

    exponent: np.ndarray  # (capacity, block)
    weight: np.ndarray  # (capacity, block)
    cumulative: np.ndarray  # (capacity + 1,)
    matrix: np.ndarray  # (6, p, q)
    vector: np.ndarray  # (12, p)
    node_t: np.ndarray  # nodes of the scale integral, and its terms there
    node_u: np.ndarray
    node_h: np.ndarray
    members: np.ndarray  # (n,) items of the clusters that a move touches
    side: np.ndarray  # (n,) int8
    other_side: np.ndarray  # (n,) int8
    relabel: np.ndarray  # (capacity,)


BLOCK = 256
MAX_NODES = 1024
