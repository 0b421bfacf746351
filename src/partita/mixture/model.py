"""The model: by name as it is kept with the draws, and with every number as the core takes it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from partita import _core
from partita.errors import InvalidValueError, PartitaWarning
from partita.mixture import partition_priors, priors

About = Mapping[str, str | float]


def make_model(
    resolved: priors.Resolved,
    partition: partition_priors.Partition,
    concentration: tuple[float, float, float],
) -> _core.MixtureModel:
    """Data and priors for the core."""
    n, p = resolved.x.shape
    scale = resolved.inverse_scale
    if resolved.shape != "full":
        scale = np.diag(scale).reshape(p, 1)
    prior = _core.ClusterPrior(
        shape=resolved.shape,
        df=resolved.df,
        mean_weight=resolved.mean_weight or 0.0,
        mean_var=np.ascontiguousarray(resolved.mean_var),
        scale=np.ascontiguousarray(scale),
    )
    sizes = _core.PartitionPrior(
        offset=partition.offset,
        shape=concentration[0],
        rate=concentration[1],
        log_size=partition.log_size(n + 1),
        log_more=partition.log_more(n),
    )
    return _core.MixtureModel(np.ascontiguousarray(resolved.x), prior, sizes)


class Chosen(NamedTuple):
    """A model as :func:`~partita.mixture.sample_mixture` takes it."""

    prior: str | priors.Prior
    df: float | None
    covariance: str
    partition: str | partition_priors.Partition


def told_of(chosen: Chosen) -> dict[str, str | float]:
    """What is kept with the draws; of a prior given as an object, nothing."""
    about: dict[str, str | float] = {"covariance": chosen.covariance}
    if isinstance(chosen.prior, str):
        about["prior"] = chosen.prior
        if chosen.df is not None:
            about["df"] = float(chosen.df)
    if isinstance(chosen.partition, str):
        about["partition"] = chosen.partition
    return about


def recalled(about: About, n_columns: int, *, needed: tuple[str, ...], **told: Any) -> Chosen:
    """The model to use: what was told, else what the draws say, else the defaults.

    Parameters
    ----------
    about : mapping
        ``Draws.about``. Draws with a record of the covariance alone had other priors, given as
        objects or not the same in all parts, and these must be told.
    n_columns : int
        Of the data: df where none is given.
    needed : tuple of str
        Which of "prior" and "partition" the caller makes use of.
    **told
        ``prior``, ``df``, ``covariance``, ``partition``; None if left out.
    """
    defaults = {"prior": "independent", "covariance": "full", "partition": "dirichlet"}
    for name in needed:
        if told[name] is None and "covariance" in about and name not in about:
            raise InvalidValueError(
                f"`{name}` must be given: the draws were sampled under one that has no name, or "
                "under several. Pass what `sample_mixture` was given."
            )
    same_prior = told["prior"] is None or _name(told["prior"]) == about.get("prior")
    df = told["df"]
    if df is None and same_prior and not isinstance(told["prior"], priors.Prior):
        df = about.get("df")
    picked: dict[str, Any] = {
        name: about.get(name, usual) if told[name] is None else told[name]
        for name, usual in defaults.items()
    }
    chosen = Chosen(df=df, **picked)
    _warn_of_contradictions(about, chosen, n_columns)
    return chosen


def _warn_of_contradictions(about: About, chosen: Chosen, n_columns: int) -> None:
    used = {name: _name(getattr(chosen, name)) for name in ("prior", "covariance", "partition")}
    kept: dict[str, Any] = {name: about[name] for name in used if name in about}
    if "prior" in about and used["prior"] == about["prior"]:
        df = chosen.prior.df if isinstance(chosen.prior, priors.Prior) else chosen.df
        used["df"] = n_columns if df is None else df
        kept["df"] = about.get("df", n_columns)
    for name, value in kept.items():
        if used[name] != value:
            warnings.warn(
                f"`{name}` is {used[name]!r}, but the draws were sampled with {value!r}; leave it "
                "out to use theirs.",
                PartitaWarning,
                stacklevel=5,
            )


def _name(prior: Any) -> Any:
    """The name of a prior, or that which its class goes by."""
    for names in (priors.NAMES, partition_priors.NAMES):
        for name, kind in names.items():
            if isinstance(prior, kind):
                return name
    return prior
