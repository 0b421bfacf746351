"""What draws of the partition say about items not seen, and about cluster parameters.

Given a partition, every cluster's (mu, T) has a known posterior, drawn from exactly; so draws of
the labels are enough, and nothing but labels need be kept by a run.
"""

from __future__ import annotations

import math

from partita.kernels._compile import inner, jit
from partita.kernels.mixture_density import log_ratios
from partita.kernels.mixture_marginal import draw
from partita.kernels.mixture_slots import add_item, clear, log_more, size_offset


@jit
def draw_clusters(model, labels, count, total, cross, mean, root, scratch, rng):
    """Draw (mu, T) of every cluster of one partition, labels 0..K-1; returns K."""
    n_clusters = 0
    for i in range(labels.size):
        k = labels[i]
        if k >= n_clusters:
            n_clusters = k + 1
            count[k] = 0
            clear(total[k], cross[k])
        count[k] += 1
        add_item(model.x[i], total[k], cross[k], 1.0)
    for k in range(n_clusters):
        draw(model.prior, count[k], total[k], cross[k], mean[k], root[k], scratch, rng)
    return n_clusters


@inner
def _weights(sizes, concentration, count, n_clusters, weight):
    """Log prior probability that one more item joins each cluster, or (last) a new one."""
    offset = size_offset(sizes)
    total = 0.0
    for k in range(n_clusters):
        weight[k] = math.log(count[k] + offset)
        total += count[k] + offset
    new = log_more(sizes, concentration, n_clusters) + sizes.log_size[1]
    weight[n_clusters] = new
    total += math.exp(new)
    for k in range(n_clusters + 1):
        weight[k] -= math.log(total)


@jit
def log_joint_rows(
    model, points, alone, concentration, n_clusters, count, mean, root, nothing, out
):
    """``out[k, g] = log p(joins k) + log p(y_g | joins k)``; the last row is a new cluster's.

    Parameters
    ----------
    points : (p, g)
        New items, a column each, in canonical coordinates.
    alone : (g,)
        log m({y_g}).
    nothing : (g,)
        Zeros.
    out : (clusters + 1 or more, g + 1)
        The last column is scratch.
    """
    g = points.shape[1]
    weight = out[: n_clusters + 1, g]
    _weights(model.sizes, concentration, count, n_clusters, weight)
    for k in range(n_clusters + 1):
        row = out[k]
        if k < n_clusters:
            log_ratios(points, mean[k], root[k], nothing, 0, g, row)
            for i in range(g):
                row[i] += weight[k]
        else:
            for i in range(g):
                row[i] = alone[i] + weight[k]


@jit
def add_density(log_joint, n_clusters, scale, out):
    """``out[g] += scale * sum_k exp(log_joint[k, g])``."""
    for g in range(out.size):
        s = 0.0
        for k in range(n_clusters + 1):
            s += math.exp(log_joint[k, g])
        out[g] += scale * s


@jit
def add_memberships(log_joint, n_clusters, n_rows, overlap, scale, out):
    """``out[g, e] += scale * sum_k p(joins k | y_g) overlap[k, e]``, a new cluster last in both.

    ``n_rows`` is K + 1, or K to leave the new cluster out: given that the item joins one of them.
    """
    last = out.shape[1] - 1
    for g in range(out.shape[0]):
        top = -math.inf
        for k in range(n_rows):
            top = max(top, log_joint[k, g])
        total = 0.0
        for k in range(n_rows):
            total += math.exp(log_joint[k, g] - top)
        for k in range(n_rows):
            p = scale * math.exp(log_joint[k, g] - top) / total
            if k == n_clusters:
                out[g, last] += p
            else:
                for e in range(last):
                    out[g, e] += p * overlap[k, e]
