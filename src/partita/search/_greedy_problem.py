"""Which family a loss is searched in, on how much of the evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from partita.draws import Draws
from partita.errors import InvalidTypeError
from partita.losses import RatioLoss, name_of
from partita.search._greedy_draws import DrawsProblem
from partita.search._greedy_similarity import SimilarityProblem

if TYPE_CHECKING:
    from partita.evidence import Evidence
    from partita.losses import Loss

    Problem: TypeAlias = DrawsProblem | SimilarityProblem

_DENSE_ITEMS = 5_000  # beyond this many, Binder's loss goes through the draws, if there are any


def check(loss: Loss) -> RatioLoss:
    """Return the loss if the compiled moves can score it, or say what to use instead."""
    if not isinstance(loss, RatioLoss):
        raise InvalidTypeError(
            "`loss` must be one that a greedy search can score while it changes a partition an "
            f"item at a time; got {name_of(loss)!r}. Use a search that only scores whole "
            "partitions, such as 'draws' or 'average', or subclass partita.losses.RatioLoss."
        )
    return loss


def on_draws(loss: RatioLoss, evidence: Evidence) -> bool:
    """Whether the search keeps counts against the draws rather than sums of the similarity."""
    if loss.needs == "either":
        return evidence.has_draws and not evidence.has_dense and evidence.n_items > _DENSE_ITEMS
    return loss.needs == "draws"


def is_bent(loss: RatioLoss) -> bool:
    """Whether a loss bends in e, so that runs anneal."""
    return bool(loss.numerator.least or loss.denominator.least)


def is_curved(loss: RatioLoss) -> bool:
    """Whether a loss bends, or is a ratio of what the partition changes."""
    varying = replace(loss.denominator, t=0.0, w=0.0, n=0.0)
    return is_bent(loss) or bool(varying.coefficients.any())


def problem(
    loss: RatioLoss,
    evidence: Evidence,
    *,
    max_draws: int | None = None,
    merge: bool = True,
    n_columns: int | None = None,
) -> Problem:
    """Return the problem that the runs share, on at most ``max_draws`` draws.

    ``n_columns`` are the clusters of what is only to be swept over a few times.
    """
    if not on_draws(loss, evidence):
        return SimilarityProblem(evidence.similarity, loss, merge=merge, n_jobs=evidence.n_jobs)
    draws = evidence.distinct
    if max_draws is not None and draws.n_draws > max_draws:
        draws = resampled(draws, max_draws)
    return DrawsProblem(draws, loss, merge=merge, n_columns=n_columns)


def resampled(draws: Draws, size: int) -> Draws:
    """Return ``size`` draws evenly spaced in cumulated weight, as distinct weighted ones.

    All of them if there are no more.
    """
    if draws.n_draws <= size:
        return draws
    edges = np.cumsum(draws.probabilities)
    at = np.searchsorted(edges, (np.arange(size) + 0.5) / size * edges[-1])
    weights = np.bincount(np.minimum(at, draws.n_draws - 1)).astype(np.float64)
    picked = np.flatnonzero(weights)
    return draws._picked(picked, weights=weights[picked], chains=None, traces={})
