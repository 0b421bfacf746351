"""What the sampler kept of each draw, as arrays (draws, components or items, ...)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from partita import io
from partita.draws import Draws
from partita.errors import InvalidTypeError, InvalidValueError, PartitaWarning
from partita.io.containers import open_container
from partita.io.files import kind_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.parameters.marginalized import MarginalizedMixture
    from partita.typing import Doubles

_DRAW_DIMS = ("chain", "draw", "sample")


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter of every draw.

    Parameters
    ----------
    name : str
    values : ndarray, shape (n_draws, n_components or n_items, ...)
        In the order of the draws.
    coordinate : ndarray, optional
        What the components are called.
    dims : tuple of str
        Of the axes beyond the second.
    coords : dict of str to ndarray
        Of those that have any.
    """

    name: str
    values: Doubles
    coordinate: NDArray[Any] | None
    dims: tuple[str, ...]
    coords: dict[str, NDArray[Any]]

    def at_codes(self, draws: Draws, first_code: int) -> Doubles:
        """The parameter of every cluster of every draw, shape (n_draws.n_clusters.sum(), ...)."""
        owner = np.repeat(np.arange(draws.n_draws), draws.n_clusters)
        n, what = self.values.shape[1], f"`params[{self.name!r}]`"
        return self.values[owner, positions_of(draws.codes, n, self.coordinate, first_code, what)]

    def at_components(self, mixture: MarginalizedMixture) -> Doubles:
        """The parameter of every component of every draw, occupied or not, in their order."""
        n, k = self.values.shape[1], mixture.n_components
        if n != k:
            raise InvalidValueError(
                f"`params[{self.name!r}]` must have the {k} components of the mixture after the "
                f"draws; got {n}. Pass dim= if they are along another axis."
            )
        found = self.values[np.arange(len(self.values))[:, None], mixture.order]
        return found.reshape(-1, *found.shape[2:])


def positions_of(
    codes: NDArray[Any], n: int, names: NDArray[Any] | None, first_code: int, what: str
) -> NDArray[np.int64]:
    """Where each code is along an axis of ``n`` components, which may have names."""
    if codes.dtype.kind == "U" and (names is None or names.dtype.kind != "U"):
        raise InvalidValueError(
            f"`draws.codes` are words such as {str(codes[0])!r}, so {what} must have a coordinate "
            "of words along its components. Pass an xarray Dataset with one, or draws with whole "
            "numbers."
        )
    is_named = names is not None and names.dtype.kind == codes.dtype.kind == "U"
    is_numbered = names is not None and names.dtype.kind in "iu" and first_code == 0
    if names is None or not (is_named or is_numbered):
        found = codes.astype(np.int64) - first_code
        bad = (found < 0) | (found >= n)
        span = f"{first_code} to {first_code + n - 1}"
    else:
        order = np.argsort(names, kind="stable")
        at = np.minimum(np.searchsorted(names[order], codes), n - 1)
        found = order[at]
        bad = names[found] != codes
        span = ", ".join(map(str, names[:8].tolist())) + (", ..." if n > 8 else "")
    if bad.any():
        raise InvalidValueError(
            f"`draws.codes` must lie on the component axis of {what}, which has {n} components, "
            f"{span}; got {codes[bad][0]!s}. Pass first_code=1 for samplers that number from 1 "
            "(Stan, NIMBLE, R), or dim= if the components are along another axis."
        )
    if first_code == 0 and codes.dtype.kind != "U" and found.min() > 0:
        warnings.warn(
            f"`first_code` is 0, but no draw has a cluster in the first component of {what}: for "
            "samplers that number from 1 (Stan, NIMBLE, R), pass first_code=1.",
            PartitaWarning,
            stacklevel=4,
        )
    return np.asarray(found, dtype=np.int64)


def check_has_codes(draws: Draws) -> None:
    """Refuse draws of which nobody knows the components."""
    if not draws.has_codes:
        raise InvalidValueError(
            "`draws` must have codes, the numbers of their components; got draws without, as "
            "unique() leaves them. Pass the draws as they were sampled."
        )


def read_parameters(params: Any, draws: Draws, by: str, dim: str | int | None) -> list[Parameter]:
    """Return every parameter along the components, or along the items.

    In a Dataset and the like, variables without such an axis are left out; in a mapping that was
    made for the purpose they are an error.
    """
    arrays, is_chosen = _arrays(params)
    found = {}
    for name, one in arrays.items():
        if one.dtype.kind in "biuf":
            aligned = _by_draw(name, one, draws, dim, strict=is_chosen)
            if aligned is not None:
                found[name] = aligned
        elif is_chosen:
            raise InvalidTypeError(f"`params[{name!r}]` must hold numbers; got {one.dtype}.")
    if not is_chosen:
        found = _of_one_axis(found, draws, by, dim)
    sizes = {name: one.values.shape[1] for name, one in found.items()}
    if not found:
        raise InvalidValueError(
            f"`params` must hold an array (draws, {by}s, ...); it holds "
            f"{', '.join(map(repr, arrays)) or 'nothing'}."
        )
    wanted = {draws.n_items} if by == "item" else set(sizes.values())
    if len(wanted) > 1 or wanted != set(sizes.values()):
        listed = ", ".join(f"{name!r} has {size}" for name, size in sizes.items())
        raise InvalidValueError(
            f"`params` must have one length along the {by}s"
            + (f", {draws.n_items}" if by == "item" else "")
            + f": {listed}. Pass those that belong together, or dim= with the axis of the {by}s."
        )
    return list(found.values())


def _arrays(params: Any) -> tuple[dict[str, Any], bool]:
    """Arrays and DataArrays by name, and whether the caller chose each of them."""
    # A Dataset, a DataTree and an InferenceData are mappings too, and can be written.
    if isinstance(params, Mapping) and not hasattr(params, "to_netcdf"):
        named = {str(name): value for name, value in params.items()}
        return {k: v if hasattr(v, "dims") else np.asarray(v) for k, v in named.items()}, True
    if isinstance(params, str | os.PathLike):
        return _in_file(os.fspath(params)), False
    found = None if hasattr(params, "columns") else io.variables_of(params)
    if found is None:
        raise InvalidTypeError(
            "`params` must map names to arrays, {'mu': mu}, or be an xarray Dataset, ArviZ data, "
            f"what a sampler returned or a file of these; got {type(params).__name__}."
        )
    return _labelled(found), False


def _in_file(path: str) -> dict[str, Any]:
    """The variables of a file, or of the files that a pattern names, a chain each."""
    parts = []
    for one in io.matching(path):
        kind = kind_at(one)
        if kind in ("text", "npy"):
            raise InvalidValueError(
                "`params` must be an .npz, NetCDF, Zarr, Parquet or R file, or CmdStan's CSV; got "
                f"{one!r}."
            )
        with open_container(kind, one) as (variables, _):
            parts.append(_labelled(variables))
    if len(parts) == 1:
        return parts[0]
    return {name: _one_after_the_other([part[name] for part in parts]) for name in parts[0]}


def _one_after_the_other(parts: list[Any]) -> Any:
    """An array of several chains."""
    if not hasattr(parts[0], "dims"):
        return np.concatenate(parts)
    first = parts[0].dims[0]
    return xr.concat([part.drop_vars(first, errors="ignore") for part in parts], dim=first)


def _labelled(variables: Any) -> dict[str, Any]:
    """The variables of the posterior, or all where there is no such group."""
    group, found = "posterior/", {}
    inside = [one for one in variables.found if one.name.startswith(group)]
    for one in inside or variables.found:
        dims = one.dims or ()
        if one.short in dims:
            continue
        coords = {d: variables.coordinate(one, k) for k, d in enumerate(dims)}
        known = {d: values for d, values in coords.items() if values is not None}
        array = variables.whole(one)
        name = one.name.removeprefix(group)
        found[name] = xr.DataArray(array, dims=dims, coords=known) if dims else array
    return found


def _by_draw(
    name: str, one: Any, draws: Draws, dim: str | int | None, *, strict: bool
) -> Parameter | None:
    """Put the draws first, in their order, and the components or items second."""
    dims = [str(d) for d in getattr(one, "dims", ())]
    leading = [d for d in _DRAW_DIMS if d in dims]
    rest = [d for d in dims if d not in leading]
    if not strict and dims and (not leading or _axis(dim, rest) is None):
        return None
    array = one.transpose(*leading, ...) if leading else one
    values = _flat_draws(name, np.asarray(array), draws, len(leading))
    if not leading:
        rest = [f"{name}_dim_{k}" for k in range(values.ndim - 1)]
    at = _axis(dim, rest)
    if at is None:
        if not strict:
            return None
        wanted = "" if dim is None else f" that is `dim`, {dim!r}"
        raise InvalidValueError(
            f"`params[{name!r}]` must have an axis for the components or the items after the "
            f"draws{wanted}; got shape {np.shape(one)}{' along ' + ', '.join(dims) if dims else ''}"
            ". Leave out what all components share."
        )
    values, axis = np.moveaxis(values, at + 1, 1), rest.pop(at)
    coords = {d: _plain(one[d].values) for d in (axis, *rest) if leading and d in one.coords}
    return Parameter(name, values.astype(np.float64), coords.pop(axis, None), tuple(rest), coords)


def _axis(dim: str | int | None, dims: list[str]) -> int | None:
    """The position of a dimension, given by name or by position, the first if not given."""
    if isinstance(dim, str):
        return dims.index(dim) if dim in dims else None
    at = 0 if dim is None else dim
    return at % len(dims) if -len(dims) <= at < len(dims) else None


def _plain(values: Any) -> NDArray[Any]:
    """A coordinate as numbers or as text."""
    array = np.asarray(values)
    return array.astype(np.str_) if array.dtype.kind in "OST" else array


def _flat_draws(name: str, values: NDArray[Any], draws: Draws, n_leading: int) -> NDArray[Any]:
    """Make (chain, draw, ...) or (draw, ...) an array with a row for each draw, in their order."""
    m, lengths = draws.n_draws, np.bincount(draws._chain_numbers)
    shape = values.shape
    if n_leading != 2 and shape[:1] == (m,):
        return values
    even = (lengths == lengths[0]).all()
    n_chains = shape[0] if lengths.size == 1 and m == np.prod(shape[:2]) else lengths.size
    if n_leading != 1 and len(shape) > 1 and even and shape[:2] == (n_chains, m // n_chains):
        out = np.empty((m, *shape[2:]), dtype=values.dtype)
        out[np.argsort(draws._chain_numbers, kind="stable")] = values.reshape(m, *shape[2:])
        return out
    by_chain = f"({lengths.size}, {lengths[0]}, ...) or " if even else ""
    raise InvalidValueError(
        f"`params[{name!r}]` must have the {m} draws of `draws` first, {by_chain}({m}, ...); got "
        f"shape {shape}. Draws that were burned, thinned or left out, or chains that were, need "
        "their parameters treated alike."
    )


def _of_one_axis(
    found: dict[str, Parameter], draws: Draws, by: str, dim: str | int | None
) -> dict[str, Parameter]:
    """Of the variables of a Dataset, those along the axis in question, which must be clear."""
    sizes = {name: one.values.shape[1] for name, one in found.items()}
    n = draws.n_items
    if by == "item":
        return {name: one for name, one in found.items() if sizes[name] == n}
    lengths = set(sizes.values())
    if len(lengths) > 1:
        lengths.discard(n)
    if len(lengths) > 1:
        listed = ", ".join(f"{name!r} has {size}" for name, size in sizes.items())
        raise InvalidValueError(
            "`dim` must name the dimension of the components, since the variables of `params` "
            f"differ along the axis after the draws: {listed}. Or pass a dict of those wanted."
        )
    return {name: one for name, one in found.items() if sizes[name] in lengths}
