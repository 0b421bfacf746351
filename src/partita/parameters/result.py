"""Parameters of the reported clusters, draw by draw, and their summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from partita import validate
from partita.diagnostics import ess_bulk, rhat

if TYPE_CHECKING:
    import pandas as pd

    from partita.typing import BoolArray, Doubles

SHARE, WEIGHT, DRAW_WEIGHT = "matched_share", "cluster_weight", "draw_weight"


class ClusterParameters(xr.Dataset):  # type: ignore[no-untyped-call]
    """A Dataset of parameters (chain, draw, cluster, ...); NaN where a draw has no such cluster.

    ``cluster_weight`` is the share of all items that are in the cluster in a draw, and
    ``matched_share`` the share of the cluster's own items that are. ArviZ takes it as it is.
    """

    __slots__ = ()

    def summary(self, prob: float = 0.95) -> pd.DataFrame:
        """Return mean, sd, shortest interval, R-hat and effective sample size of each parameter.

        Of the draws in which the cluster was found, a share that ``matched`` gives. R-hat and
        ``ess`` are of the last of those of each chain, as many as the shortest has.

        Parameters
        ----------
        prob : float in (0, 1)
            Of the interval of highest density.

        Returns
        -------
        DataFrame
            Indexed by ``parameter``, such as ``mu[0]``, and ``cluster``: mean, sd, hdi_low,
            hdi_high, rhat, ess, matched.
        """
        import pandas as pd

        prob = validate.real("prob", prob, low=0, high=1, open_low=True)
        together = self[SHARE].transpose("cluster", "chain", "draw").values
        found = together > 0
        is_draw = ~np.isnan(together[0])
        shares = self.coords[DRAW_WEIGHT].values if DRAW_WEIGHT in self.coords else is_draw * 1.0
        rows, index = [], []
        for name in (name for name in self.data_vars if name != SHARE):
            one = self[name].transpose("cluster", ..., "chain", "draw")
            entries = _entries(one)
            for cluster, values, kept in zip(one["cluster"].values, one.values, found, strict=True):
                table = values.reshape(len(entries), *kept.shape)
                matched = float(shares[kept].sum() / shares.sum())
                for entry, row in zip(entries, _summarized(table, kept, shares, prob), strict=True):
                    rows.append((*row, matched))
                    index.append((f"{name}{entry}", cluster))
        columns = ["mean", "sd", "hdi_low", "hdi_high", "rhat", "ess", "matched"]
        names = pd.MultiIndex.from_tuples(index, names=["parameter", "cluster"])
        return pd.DataFrame(rows, index=names, columns=columns)


def _entries(array: Any) -> list[str]:
    """The entries of a vector or a matrix as ArviZ writes them: [0, 1], or [height]."""
    dims = [d for d in array.dims if d not in ("cluster", "chain", "draw")]
    if not dims:
        return [""]
    labels = [[str(x) for x in array[d].values.tolist()] for d in dims]
    grid = np.indices([len(x) for x in labels]).reshape(len(dims), -1).T
    return [f"[{', '.join(x[i] for x, i in zip(labels, at, strict=True))}]" for at in grid]


def _summarized(
    values: Doubles, kept: BoolArray, weights: Doubles, prob: float
) -> list[tuple[float, ...]]:
    """One row for each entry of ``values`` (entries, chains, draws)."""
    flat, w = values[:, kept], weights[kept]
    if not w.sum():
        return [(np.nan,) * 6] * len(values)
    first = flat[:, 0]  # differences from it are exactly 0 where all draws agree
    mean = first + (flat - first[:, None]) @ w / w.sum()
    n_effective = w.sum() ** 2 / (w @ w)
    unbiased = n_effective / max(n_effective - 1, np.finfo(float).tiny)
    sd = np.sqrt((flat - mean[:, None]) ** 2 @ w / w.sum() * unbiased)
    counts = kept.sum(axis=1)
    last = kept & (np.cumsum(kept, axis=1) > (counts - counts.min())[:, None])
    even = values[:, last].reshape(len(values), len(counts), -1)
    bounds = [_shortest_interval(one, w, prob) for one in flat]
    low, high = zip(*bounds, strict=True)
    return list(zip(mean, sd, low, high, rhat(even), ess_bulk(even), strict=True))


def _shortest_interval(values: Doubles, weights: Doubles, prob: float) -> tuple[float, float]:
    """The shortest interval that holds ``prob`` of the draws."""
    if prob == 1.0:
        return float(values.min()), float(values.max())
    order = np.argsort(values)
    share = weights[order] / weights.sum()
    x, held, slack = values[order], np.cumsum(share), 1e-12  # sums of weights are exact to this
    start = np.flatnonzero(held - share + prob < 1 - slack)
    stop = np.searchsorted(held, held[start] + prob + slack, side="right") - 1
    best = np.argmin(x[stop] - x[start])
    return float(x[start[best]]), float(x[stop[best]])
