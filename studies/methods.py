"""The paper's methods and ours on one set of draws, and what a partition scores against a truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import partita as pt

MODELS = ("nmf-ls", "nmf-kl", "nmf-ns", "nmf-offset")
CONVENTIONAL = ("minbinder", "maxpear", "minvi", "medv")
OURS = ("auto-binder", "auto-omari", "auto-vi")
MEASURES = ("Rand", "AR", "VI")
RANKS = tuple(range(2, 13))  # the paper's
N_INIT = 10  # restarts, the paper's
#: The paper's eq. 11, 16 and 18: it chooses the rank by "one of the expected loss functions".
CHOOSERS: Mapping[str, str] = {"binder": "binder", "pear": "pear", "vi": "vi-lower-bound"}
#: On which scales of H the labels are read: R leaves H as its updates left it.
READINGS = {"mu": ("as-is",), "fast": pt.nmf.READINGS}


def conventional(similarity: pt.Similarity) -> dict[str, NDArray[np.int64]]:
    """Return the partitions of the methods that the paper compares with."""
    return {name: pt.estimate(similarity, method=name, rng=0).labels for name in CONVENTIONAL}


def ours(draws: pt.Draws, seed: int) -> dict[str, NDArray[np.int64]]:
    """Return the partitions of our default search under three losses."""
    found = {name: name.removeprefix("auto-") for name in OURS}
    return {name: pt.estimate(draws, loss=loss, rng=seed).labels for name, loss in found.items()}


def factorised(
    similarity: pt.Similarity,
    solver: str,
    seed: int,
    ranks: tuple[int, ...] = RANKS,
    n_init: int = N_INIT,
    device: str | None = None,
) -> dict[str, NDArray[np.int64]]:
    """Return the partition of each NMF model under each loss that may choose its rank.

    Returns
    -------
    dict of str to ndarray, shape (n,)
        ``"nmf-kl/binder"`` is NMF-kl, its rank the one of least expected Binder loss.
    """
    on_device: dict[str, Any] = {} if device is None else {"device": device, "dtype": "float64"}
    found = {}
    for model in MODELS:
        fits = pt.nmf.factorize_ranks(
            similarity, model=model.removeprefix("nmf-"), ranks=ranks, n_init=n_init,
            solver=solver, seed=seed, n_jobs=1, **on_device,
        )  # fmt: skip
        candidates = [fit.read(scale).labels for fit in fits for scale in READINGS[solver]]
        for chooser, loss in CHOOSERS.items():
            losses = pt.expected_loss(np.stack(candidates), similarity, loss=loss)
            found[f"{model}/{chooser}"] = candidates[int(np.argmin(losses))]
    return found


def scores(truth: NDArray[np.int64], labels: NDArray[np.int64]) -> dict[str, float]:
    """Return the paper's three measures against a truth, VI in bits, and the number of clusters."""
    return {
        "Rand": pt.rand_index(truth, labels),
        "AR": pt.adjusted_rand_index(truth, labels),
        "VI": pt.variation_of_information(truth, labels),
        "K": float(len(np.unique(labels))),
    }


def scored(
    truth: NDArray[np.int64], partitions: Mapping[str, NDArray[np.int64]]
) -> dict[str, float]:
    """Return the scores of all partitions in one row: ``"nmf-kl/binder:AR"`` and so on."""
    return {
        f"{method}:{measure}": value
        for method, labels in partitions.items()
        for measure, value in scores(truth, labels).items()
    }


def runs(labels: NDArray[np.int64]) -> str:
    """Return a partition of ordered items in words.

    Examples
    --------
    >>> runs(np.array([0, 0, 1, 1, 0]))
    '1-2 & 5 / 3-4'
    """
    told = []
    for cluster in np.unique(labels):
        items = np.flatnonzero(labels == cluster) + 1
        pieces = np.split(items, np.flatnonzero(np.diff(items) > 1) + 1)
        told.append(" & ".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else f"{p[0]}" for p in pieces))
    return " / ".join(told)


def together(labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the matrix of ones where two items share a cluster."""
    return np.equal.outer(labels, labels).astype(np.float64)
