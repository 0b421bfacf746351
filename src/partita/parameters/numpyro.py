"""Log weights of a mixture of NumPyro, by the model's own densities."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita import validate
from partita.errors import InvalidValueError
from partita.parallel import blocks
from partita.parameters.marginalized import MarginalizedMixture
from partita.typing import Seed

_CELLS = 1 << 22  # log weights computed together, 32 MiB


def from_numpyro(
    model: Any, mcmc: Any, *, key: str | None = None, rng: Seed = None
) -> MarginalizedMixture:
    """Return the mixture of a NumPyro model as draws, a similarity and responsibilities.

    The model stays as it is: a discrete site inside the plate of the items, which NumPyro
    enumerates, or an observed ``MixtureSameFamily`` or ``MixtureGeneral``. Densities have the
    precision that JAX was told: single, unless ``numpyro.enable_x64()`` was called.

    Parameters
    ----------
    model : callable
    mcmc : numpyro.infer.MCMC
        After ``run``, whose arguments the model is given again.
    key : str, optional
        The discrete site or the mixture, where there are several.
    rng : int, SeedSequence or Generator, optional
        Of the labels that ``draws`` samples.

    Returns
    -------
    MarginalizedMixture
    """
    samples = mcmc.get_samples(group_by_chain=True)
    n_chains, n_draws = next(iter(samples.values())).shape[:2]
    flat = {name: np.asarray(one).reshape(-1, *one.shape[2:]) for name, one in samples.items()}
    log_weights = _log_weights(model, mcmc._args, mcmc._kwargs, flat, key)
    chains = np.repeat(np.arange(n_chains), n_draws)
    return MarginalizedMixture(log_weights, chains, None, validate.seed(rng))


def _log_weights(model: Any, args: Any, kwargs: Any, samples: dict[str, Any], key: Any) -> Any:
    """Evaluate the model at every draw, in blocks, and for every value of the site."""
    import jax
    from jax import numpy as jnp
    from numpyro.handlers import seed, substitute, trace

    def sites(values: Any) -> Any:
        return trace(substitute(seed(model, 0), values)).get_trace(*args, **kwargs)

    first = sites({name: one[0] for name, one in samples.items()})
    site = _site(first, key)
    name, is_discrete = site["name"], not site["is_observed"]
    if is_discrete:
        plate = _plate(site)
        n_items, support = plate.size, site["fn"].enumerate_support(expand=False).ravel()
        n_components = support.shape[0]
    else:
        n_items, n_components = site["value"].shape[0], _unwrapped(site).mixture_size

    def one_draw(values: Any) -> Any:
        if not is_discrete:
            observed = sites(values)[name]
            return _unwrapped(observed).component_log_probs(observed["value"])
        columns = []
        for code in support:
            found = sites({**values, name: jnp.full(site["value"].shape, code)})
            columns.append(
                sum(_of_items(one, plate) for one in found.values() if _is_in(one, plate))
            )
        return jnp.stack(columns, axis=-1)

    m = len(next(iter(samples.values())))
    validate.fits_in_memory(
        f"Log weights of {m:,} draws, {n_items:,} items and {n_components} components",
        8 * m * n_items * n_components,
        "thin the draws.",
    )
    every = jax.jit(jax.vmap(one_draw))
    out = np.empty((m, n_items, n_components))
    for part in blocks(m, max(1, _CELLS // (n_items * n_components))):
        out[part] = every({k: v[part] for k, v in samples.items()})
    return out


def _site(sites: Any, key: str | None) -> Any:
    """The discrete site or the observed mixture that ``key`` names, or the only one."""
    found = {}
    for name, one in sites.items():
        if one["type"] != "sample":
            continue
        is_discrete = not one["is_observed"] and one["fn"].is_discrete
        if is_discrete or (one["is_observed"] and hasattr(_unwrapped(one), "component_log_probs")):
            found[name] = one
    if key is not None:
        return validate.lookup("key", key, found)
    if len(found) != 1:
        raise InvalidValueError(
            "`key` must name the site of the components where the model has not just one that is "
            f"discrete or an observed mixture; it has {', '.join(map(repr, found)) or 'none'}."
        )
    return next(iter(found.values()))


def _unwrapped(site: Any) -> Any:
    """The distribution of a site without what a plate put around it."""
    found = site["fn"]
    while not hasattr(found, "component_log_probs") and hasattr(found, "base_dist"):
        found = found.base_dist
    return found


def _plate(site: Any) -> Any:
    plates = site["cond_indep_stack"]
    if len(plates) != 1:
        raise InvalidValueError(
            f"`model` must have its site {site['name']!r} in one plate, that of the items; it is "
            f"in {len(plates)}."
        )
    return plates[0]


def _is_in(site: Any, plate: Any) -> bool:
    return site["type"] == "sample" and any(
        one.name == plate.name for one in site["cond_indep_stack"]
    )


def _of_items(site: Any, plate: Any) -> Any:
    """The log density of a site, summed over all but the items."""
    density = site["fn"].log_prob(site["value"])
    axes = tuple(k for k in range(-density.ndim, 0) if k != plate.dim)
    return density.sum(axis=axes)
