"""A streamed fit brought here as a `Factorization`: for those who want the factors themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.evidence import LARGE
from partita.nmf._common import Factors
from partita.nmf._factorize import Factorization
from partita.nmf._streamed import Streamed
from partita.similarity import Similarity

if TYPE_CHECKING:
    from partita.typing import Seed

MODELS = ("ls", "offset", "symmetric")


def is_streamed(similarity: Any, model: str, solver: str, init: Any, device: Any) -> bool:
    """Whether a factorisation goes through the draws of an implicit similarity, a block a time."""
    return (
        isinstance(similarity, Similarity)
        and not similarity.is_dense
        and similarity.device is None
        and similarity.draws is not None
        and similarity.n_items > LARGE
        and model in MODELS
        and solver == "fast"
        and isinstance(init, str)
        and init == "random"
        and device is None
    )


def factorize_streamed(
    similarity: Similarity, *, model: str, rank: int, n_init: int, normalize: str, rng: Seed,
    n_jobs: int | None,
) -> Factorization:  # fmt: skip
    """Fit, and bring the factors together; only the best restart is ever that of all items."""
    assert similarity.draws is not None
    rank = validate.integer("rank", rank, least=1, most=similarity.n_items)
    n_init = validate.integer("n_init", n_init, least=1)
    seed, workers = validate.seed(rng), validate.n_jobs(n_jobs)
    shared = Streamed(similarity.draws.unique(), model, [rank], n_init, seed, workers)
    fit = next(shared.fits())
    H = fit.brought(fit.H)
    W = H.T if fit.W is None else fit.brought(fit.W).T
    offset = None if fit.offset is None else fit.brought(fit.offset)
    return Factorization(
        model, rank, "fast", normalize, W, H, offset, fit.objective, fit.n_iter, fit.converged,
        np.array([fit.objective]), (Factors(W, H, offset),),
    )  # fmt: skip
