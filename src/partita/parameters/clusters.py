"""``cluster_parameters``: what the clusters of a partition are like, draw by draw."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.draws import METHODS, Draws, Overlap, Reported, complete_draws, overlap_of_draws
from partita.errors import InvalidValueError, PartitaWarning
from partita.mixture import Parameters
from partita.parallel import blocks
from partita.parameters.arrays import Parameter, check_has_codes, read_parameters
from partita.parameters.marginalized import MarginalizedMixture
from partita.parameters.result import DRAW_WEIGHT, SHARE, WEIGHT, ClusterParameters
from partita.parameters.stephens import overlap_of_mixture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Doubles

_FEW = 0.5  # of the draws: parameters of a cluster found in fewer describe a minority of them
_AT_ONCE = 1 << 22  # numbers of parameters taken together


def cluster_parameters(
    estimate_or_labels: Any,
    draws: Any,
    params: Any,
    *,
    by: str = "component",
    method: str = "align",
    dim: str | int | None = None,
    first_code: int = 0,
) -> ClusterParameters:
    r"""Return the parameters of each reported cluster in each draw.

    A component's number means nothing from one draw to the next, so the average of ``mu[0]`` over
    draws is an average of different clusters. Here every draw is asked for the parameters of the
    items that were reported together.

    Parameters
    ----------
    estimate_or_labels : Estimate, Chips or array-like of shape (n,)
        The reported clusters; items labelled -1 are in none.
    draws : Draws or anything that can become one
        With ``codes``, which tell the component of each cluster of each draw. Those of a
        :class:`MarginalizedMixture` are told by its responsibilities.
    params : mapping of str to array, Dataset, InferenceData, DataTree or Parameters
        Arrays whose axes are the draws, (chain, draw) or (draw,); the components, or the items;
        then anything. Where the number of components varies, padded with NaN. Of a Dataset and the
        like, variables without such an axis are left out.
    by : {"component", "item"}
        What the axis after the draws is. Items have "items" and "conditional".
    method : {"align", "items", "conditional"}
        ``"align"``: the parameters of the component that a draw's clusters are matched with, one to
        one so that most items agree; NaN where none is. ``"items"``: the mean over the cluster's
        items of the parameter of the component that each is in; always defined.
        ``"conditional"``: of the draws in which these very items are one cluster, NaN in others.
    dim : str or int, optional
        The axis of the components or items, by name, or by its position after the draws. If None,
        the one after the draws.
    first_code : int
        What the sampler calls the first component: 1 for Stan, NIMBLE and R. With 0, a coordinate
        of the axis that has numbers or words is used.

    Returns
    -------
    ClusterParameters
        An xarray Dataset with the dimensions ``chain``, ``draw``, ``cluster`` and those of each
        parameter; ``.summary()`` makes a table. ``cluster_weight`` is the share of items in the
        component; with "items", in those that the cluster's items are in, so that the weights of
        clusters that share one add up to more than 1. ``matched_share`` is the share of the
        cluster's items that were found together. A chain shorter than others, as an interrupted run
        leaves it, ends in NaN.

    References
    ----------
    ``"align"``: Stephens (2000), J. R. Statist. Soc. B 62; by counts, Kuhn (1955). ``"items"``:
    Molitor, Papathomas, Jerrett & Richardson (2010), Bayesian profile regression, Biostatistics
    11. ``"conditional"``: Page, Barrientos, Dahl & Dunson (2025), arXiv:2511.16040.

    Examples
    --------
    >>> z = [[0, 0, 1, 1], [1, 1, 0, 0]]
    >>> mu = [[-1.0, 5.0], [5.2, -1.2]]
    >>> found = cluster_parameters([0, 0, 1, 1], z, {"mu": mu})
    >>> found["mu"].mean(["chain", "draw"]).values
    array([-1.1,  5.1])
    """
    validate.choice("by", by, ("component", "item"))
    validate.choice("method", method, METHODS)
    validate.integer("first_code", first_code)
    if by == "item" and method == "align":
        raise InvalidValueError(
            "`method` must be 'items' or 'conditional' with by='item'; got 'align', which matches "
            "components."
        )
    given = complete_draws(draws, "cluster_parameters")
    mixture = draws if isinstance(draws, MarginalizedMixture) and method != "conditional" else None
    reported = Reported.of(estimate_or_labels, given.n_items)
    overlap = (
        overlap_of_mixture(reported, mixture) if mixture else overlap_of_draws(reported, given)
    )
    shares = overlap.shares(method)
    if isinstance(params, Parameters) and not mixture:
        found = {
            "mean": _combined(shares, params.means, overlap),
            "covariance": _combined(shares, params.covariances, overlap),
        }
        beyond: dict[str, Any] = {"mean": ("column",), "covariance": ("column", "other_column")}
        coords: dict[str, Any] = {}
    else:
        read = read_parameters(params, given, by, dim)
        _check_names(read)
        if by == "component":
            check_has_codes(given)
            found = {
                one.name: _combined(
                    shares,
                    one.at_components(mixture) if mixture else one.at_codes(given, first_code),
                    overlap,
                )
                for one in read
            }
        else:
            found = {one.name: _of_items(one, overlap, shares, method) for one in read}
        beyond = {one.name: one.dims for one in read}
        coords = {d: values for one in read for d, values in one.coords.items()}
    found[WEIGHT] = _combined(shares, overlap.sizes / given.n_items, overlap)
    found[SHARE] = _matched_share(shares, overlap, method)
    _warn_of_rare(found[SHARE], given, overlap.reported.names)
    return _dataset(found, beyond, coords, given, overlap.reported.names)


def _check_names(read: list[Parameter]) -> None:
    for one in read:
        if one.name in (WEIGHT, SHARE):
            raise InvalidValueError(
                f"`params` must not hold {one.name!r}, the name of what is added; rename it."
            )


def _combined(shares: Doubles, values: Doubles, overlap: Overlap) -> Doubles:
    """Sum the values of each draw's rows by their shares, (n_draws, K, ...); NaN without any."""
    starts = overlap.offsets[:-1]
    flat = values.reshape(len(values), -1)
    out = np.empty((starts.size, shares.shape[1], flat.shape[1]))
    most = max(1, _AT_ONCE // (flat.shape[1] * int(np.diff(overlap.offsets).max())))
    for part in blocks(starts.size, most):
        rows = slice(overlap.offsets[part.start], overlap.offsets[part.stop])
        for k, share in enumerate(shares[rows].T):
            counted = np.where(share[:, None] > 0, share[:, None] * flat[rows], 0.0)
            out[part, k] = np.add.reduceat(counted, starts[part] - rows.start, axis=0)
    out[np.add.reduceat(shares, starts, axis=0) == 0] = np.nan
    return out.reshape(*out.shape[:2], *values.shape[1:])


def _of_items(one: Parameter, overlap: Overlap, shares: Doubles, method: str) -> Doubles:
    """The mean of a parameter of items over each cluster; NaN in draws that do not hold it."""
    reported = overlap.reported
    values = one.values.reshape(*one.values.shape[:2], -1)
    out = np.empty((values.shape[0], reported.names.size, values.shape[2]))
    for k in range(reported.names.size):
        out[:, k] = values[:, reported.labels == k].mean(axis=1)
    if method == "conditional":
        out[np.add.reduceat(shares, overlap.offsets[:-1], axis=0) == 0] = np.nan
    return out.reshape(*out.shape[:2], *one.values.shape[2:])


def _matched_share(shares: Doubles, overlap: Overlap, method: str) -> Doubles:
    """The share of each cluster's items that a draw has together, (n_draws, K)."""
    together = overlap.counts / overlap.reported.sizes
    if method != "items":
        together = np.where(shares > 0, together, 0.0)
    return np.asarray(np.maximum.reduceat(together, overlap.offsets[:-1], axis=0))


def _warn_of_rare(matched: Doubles, draws: Draws, names: NDArray[Any]) -> None:
    share = draws.probabilities @ (matched > 0)
    rare = [f"{names[k]} in {share[k]:.0%}" for k in np.flatnonzero(share < _FEW)]
    if rare:
        warnings.warn(
            f"Clusters are matched in few draws: {', '.join(rare[:8])}. Their parameters are those "
            "of these draws alone; method='items' describes them in every draw.",
            PartitaWarning,
            stacklevel=3,
        )


def _dataset(
    found: dict[str, Doubles],
    beyond: dict[str, tuple[str, ...]],
    coords: dict[str, Any],
    draws: Draws,
    names: NDArray[Any],
) -> ClusterParameters:
    """The values by chain and draw, NaN after the end of a chain that is shorter than others."""
    chain, at = draws._chain_numbers, draws._position_in_chain
    shape = (draws.n_chains, int(at.max()) + 1)

    def by_chain(values: Doubles, beyond_the_end: float = np.nan) -> Doubles:
        out = np.full((*shape, *values.shape[1:]), beyond_the_end)
        out[chain, at] = values
        return out

    variables = {
        name: (("chain", "draw", "cluster", *beyond.get(name, ())), by_chain(values))
        for name, values in found.items()
    }
    coords |= {"chain": np.arange(shape[0]), "draw": np.arange(shape[1]), "cluster": names}
    if draws.weights is not None:
        coords[DRAW_WEIGHT] = (("chain", "draw"), by_chain(draws.probabilities, 0.0))
    return ClusterParameters(variables, coords, {"created_by": "partita"})
