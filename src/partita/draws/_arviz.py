"""Draws as ArviZ knows them: chains, draws and items as named dimensions."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidValueError
from partita.io import WEIGHTS

if TYPE_CHECKING:
    from partita.draws._draws import Draws


def to_arviz(draws: Draws, estimate: Any) -> Any:
    """Return an InferenceData (ArviZ before 1.0) or a DataTree; see ``Draws.to_arviz``."""
    import xarray as xr

    chains = draws.chains
    chains = np.zeros(draws.n_draws, np.int64) if chains is None else np.asarray(chains)
    lengths = np.bincount(chains)
    if (lengths != lengths[0]).any():
        raise InvalidValueError(
            "`to_arviz` needs chains of equal length; got "
            f"{', '.join(map(str, lengths[:8].tolist()))} draws. Keep as many of each by `take`."
        )
    order = np.argsort(chains, kind="stable")
    shape = (lengths.size, int(lengths[0]))
    labels = np.asarray(draws.labels)
    starts = np.cumsum(draws.n_clusters) - draws.n_clusters
    if draws.has_codes:
        labels = draws.codes[starts[:, None] + labels]
    labels = labels[order].reshape(*shape, draws.n_items)
    variables: dict[str, Any] = {"labels": (("chain", "draw", "item"), labels)}
    scalars = dict(draws.traces)
    if draws.weights is not None:
        scalars[WEIGHTS] = draws.weights
    for name, values in scalars.items():
        variables[name] = (("chain", "draw"), np.asarray(values)[order].reshape(shape))
    names = draws.item_names
    coords = {
        "chain": np.arange(shape[0]),
        "draw": np.arange(shape[1]),
        "item": np.arange(draws.n_items) if names is None else np.array(names, dtype=np.str_),
    }
    groups = {"posterior": xr.Dataset(variables, coords, {"created_by": "partita"})}
    if estimate is not None:
        sizes = np.bincount((starts[:, None] + draws.labels).ravel())
        shares = sizes / draws.n_items
        bits = np.add.reduceat(-shares * np.log2(shares), starts)
        invariant = {"n_clusters": draws.n_clusters, "entropy": bits}
        dims = ("chain", "draw")
        traces = {name: (dims, one[order].reshape(shape)) for name, one in invariant.items()}
        beside = {name: coords[name] for name in (*dims, "item")}
        groups["partita"] = estimate.to_xarray().assign(traces).assign_coords(beside)
    if find_spec("arviz") is not None:
        import arviz

        if hasattr(arviz, "InferenceData"):
            return arviz.InferenceData(**groups, warn_on_custom_groups=False)
    return xr.DataTree.from_dict(groups)
