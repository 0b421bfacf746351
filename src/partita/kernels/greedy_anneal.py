"""Moving items between clusters at random, likelier where the loss is low; see ``greedy_draws``."""

from __future__ import annotations

from partita.kernels._compile import jit
from partita.kernels.greedy_draws import _add, _free, _gains, _own, bend


@jit
def soften(t, p, j, e, width, num, den, w, n, alpha32, alpha):
    """As ``linearise``, with min(t, e) rounded off within ``width`` of its bend.

    Returns d expected / d e, and how much the rounding makes it rise with e.
    """
    ratio = 1.0 / w if w != 0.0 else 0.0
    slope, rise = 0.0, 0.0
    for m in range(t.shape[0]):
        gap = t[m] - e
        least, below = min(t[m], e), 1.0 if gap > 0 else 0.0
        is_near = abs(gap) < width
        if is_near:
            below = 0.5 + gap / (2 * width)
            least = t[m] - width * below * below
        product = t[m] * e * ratio
        top = (num[0] * t[m] + num[1] * e + num[2] * j[m] + num[3] * w + num[4] * least
               + num[5] * product + num[6] * n)  # fmt: skip
        bottom = (den[0] * t[m] + den[1] * e + den[2] * j[m] + den[3] * w + den[4] * least
                  + den[5] * product + den[6] * n)  # fmt: skip
        inverse = 1.0 / bottom if bottom > 1e-9 * abs(w) else 0.0
        loss = top * inverse
        top_e = num[1] + num[4] * below + num[5] * t[m] * ratio
        bottom_e = den[1] + den[4] * below + den[5] * t[m] * ratio
        alpha[m] = -p[m] * (num[2] - loss * den[2]) * inverse
        alpha32[m] = alpha[m]
        slope += p[m] * (top_e - loss * bottom_e) * inverse
        if is_near:
            rise -= p[m] * (num[4] - loss * den[4]) * inverse / (2 * width)
    return slope, rise


@jit
def anneal(
    items, begin, noise, rows, weight, cell, step, counts, table, labels, sizes, j,
    alpha32, alpha, slope, rise, curve, bends, t, p, num, den, w_total, n_total, is_ratio, width,
    limit, totals, block, gains, own,
):  # fmt: skip
    """Reassign items one at a time, each to the cluster of the best score plus ``noise``.

    The cost is linear in j and slope·e + bend(e). If the loss ``is_ratio`` it is so only about the
    present state, softened by ``width``, and taken anew after every move.
    Row a of ``noise`` belongs to the a-th item from ``begin`` on.
    Returns (how far it came, slope, rise); it stops short when no free column is left.
    """
    for a in range(begin, items.shape[0]):
        i = items[a]
        w, old = weight[i], labels[i]
        fresh = _free(sizes, limit)
        if fresh < 0 and (sizes > 0).sum() < limit:
            return a, slope, rise
        if sizes[old] == w:
            fresh = -1
        _gains(rows[i], w, cell, step, counts, table, alpha32, block, gains)
        freed = cell[sizes[old]] - cell[sizes[old] - w]
        most = _own(rows[i], old, w, cell, counts, alpha, own) + noise[a - begin, old]
        most -= bend(totals[0], curve, bends)
        best = old
        for k in range(sizes.shape[0]):
            if k != old and (sizes[k] > 0 or k == fresh):
                de = cell[sizes[k] + w] - cell[sizes[k]] - freed
                score = gains[k] - (slope + 0.5 * rise * de) * de + noise[a - begin, k]
                score -= bend(totals[0] + de, curve, bends)
                if score > most:
                    best, most = k, score
        if best == old:
            continue
        totals[1] += _add(rows[i], old, -w, cell, step, counts, table, j, alpha)
        sizes[old] -= w
        totals[1] += _add(rows[i], best, w, cell, step, counts, table, j, alpha)
        totals[0] += cell[sizes[best] + w] - cell[sizes[best]] - freed
        sizes[best] += w
        labels[i] = best
        if is_ratio:
            slope, rise = soften(
                t, p, j, totals[0], width, num, den, w_total, n_total, alpha32, alpha
            )
    return items.shape[0], slope, rise
