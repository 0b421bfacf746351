"""Log weights of a mixture of PyMC, by the model's own densities."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita import validate
from partita.errors import InvalidValueError
from partita.parameters.marginalized import MarginalizedMixture
from partita.typing import Seed


def from_pymc(
    model: Any, idata: Any, *, key: str | None = None, rng: Seed = None
) -> MarginalizedMixture:
    """Return the mixture of a PyMC model as draws, a similarity and responsibilities.

    The model stays as it is: ``pm.Mixture`` or ``pm.NormalMixture`` with components of one item
    each, univariate or multivariate, and weights that all items share or that each has.

    Parameters
    ----------
    model : pymc.Model
    idata : InferenceData or DataTree
        What ``pm.sample`` returned, with the posterior of every free variable of the mixture.
    key : str, optional
        The observed mixture, where there are several.
    rng : int, SeedSequence or Generator, optional
        Of the labels that ``draws`` samples.

    Returns
    -------
    MarginalizedMixture
    """
    import pymc as pm
    from pytensor import tensor as pt
    from pytensor.graph import ancestors

    mixture = _mixture(model, key)
    posterior = idata["posterior"]
    _, weights, *components = mixture.owner.inputs
    value = model.rvs_to_values[mixture]
    if len(components) == 1:
        axis = -components[0].owner.op.ndim_supp - 1
        density = pm.logp(components[0], pt.expand_dims(value, axis))
    else:
        density = pt.stack([pm.logp(one, value) for one in components], axis=-1)
    log_weights = pt.log(weights) + density
    met = set(ancestors([log_weights]))
    free = [one for one in model.free_RVs if one in met]
    missing = [one.name for one in free if one.name not in posterior]
    if missing:
        raise InvalidValueError(
            f"`idata` must have the posterior of {', '.join(map(repr, missing))}, on which the "
            "mixture depends; sample without leaving them out."
        )
    samples = [
        np.asarray(posterior[one.name].transpose("chain", "draw", ...)).astype(one.dtype)
        for one in free
    ]
    n_chains, n_draws = (int(posterior.sizes[dim]) for dim in ("chain", "draw"))
    evaluate = model.compile_fn(log_weights, inputs=free, point_fn=False, on_unused_input="ignore")
    out = None
    for chain in range(n_chains):
        for draw in range(n_draws):
            found = evaluate(*(one[chain, draw] for one in samples))
            if out is None:
                out = _room(mixture.name, found.shape, n_chains * n_draws)
            out[chain * n_draws + draw] = found
    assert out is not None
    chains = np.repeat(np.arange(n_chains), n_draws)
    return MarginalizedMixture(out, chains, _item_names(model, mixture.name), validate.seed(rng))


def _mixture(model: Any, key: str | None) -> Any:
    """The observed mixture that ``key`` names, or the only one."""
    from pymc.distributions.mixture import MixtureRV

    found = {one.name: one for one in model.observed_RVs if isinstance(one.owner.op, MixtureRV)}
    if key is not None:
        return validate.lookup("key", key, found)
    if len(found) != 1:
        raise InvalidValueError(
            "`key` must name the mixture where the model has not just one that is observed; it has "
            f"{', '.join(map(repr, found)) or 'none (pm.Mixture, pm.NormalMixture)'}."
        )
    return next(iter(found.values()))


def _room(name: str, shape: tuple[int, ...], n_draws: int) -> Any:
    if len(shape) != 2:
        raise InvalidValueError(
            f"`model` must have one mixture an item in {name!r}, (items, components); got shape "
            f"{shape}. If an item is a row, use components that are multivariate."
        )
    validate.fits_in_memory(
        f"Log weights of {n_draws:,} draws, {shape[0]:,} items and {shape[1]} components",
        8 * n_draws * shape[0] * shape[1],
        "thin the draws.",
    )
    return np.empty((n_draws, *shape))


def _item_names(model: Any, name: str) -> tuple[str, ...] | None:
    """The coordinate of the items, unless it only counts."""
    dims = model.named_vars_to_dims.get(name)
    names = None if not dims else model.coords.get(dims[0])
    if names is None or list(names) == list(range(len(names))):
        return None
    return tuple(map(str, names))
