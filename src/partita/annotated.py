"""AnnData by what it offers: columns of ``obs`` as draws, and an estimate written back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita._version import __version__
from partita.errors import InvalidTypeError, InvalidValueError
from partita.evidence import as_evidence
from partita.parallel import blocks
from partita.uncertainty import item_uncertainty

if TYPE_CHECKING:
    from partita.estimation import Estimate
    from partita.similarity import Similarity

_ROWS = 256  # of the similarity, made together


def to_anndata(
    estimate: Estimate,
    adata: Any,
    draws: Any = None,
    *,
    key_added: str = "partita",
    min_similarity: float = 0.1,
    n_jobs: int | None = -1,
) -> None:
    """Write an estimate into an AnnData object, where scanpy finds it.

    Parameters
    ----------
    estimate : Estimate
        Of ``adata.n_obs`` items, in their order.
    adata : AnnData
        Is changed: ``obs[key_added]``, categorical labels; ``obsm[key_added + "_memberships"]``
        where the estimate has memberships; ``uns[key_added]``, the loss, the search, the seed and
        the version. With ``draws`` also ``obs[key_added + "_own_similarity"]`` and, of draws with
        every label, ``_probability`` and ``_entropy``; and ``obsp[key_added + "_similarity"]``,
        sparse.
    draws : Draws, Similarity or anything that can become draws, optional
        What the estimate was made from.
    key_added : str
    min_similarity : float
        Smaller similarities are left out of ``obsp``.
    n_jobs : int
        Threads; -1, the default, is every core.

    Examples
    --------
    >>> import partita as pt
    >>> pt.to_anndata(best, adata, runs)  # doctest: +SKIP
    >>> sc.pl.umap(adata, color=["partita", "partita_entropy"])  # doctest: +SKIP
    """
    import pandas as pd

    if not all(hasattr(adata, name) for name in ("obs", "obsm", "obsp", "uns")):
        raise InvalidTypeError(f"`adata` must be an AnnData object; got {type(adata).__name__}.")
    n = len(adata.obs)
    if estimate.labels.size != n:
        raise InvalidValueError(
            f"`estimate` must have a label for each of the {n} observations; got "
            f"{estimate.labels.size}."
        )
    names = pd.Index([str(k) for k in range(estimate.n_clusters)])
    adata.obs[key_added] = pd.Categorical.from_codes(estimate.labels, names)
    if estimate.memberships is not None:
        adata.obsm[f"{key_added}_memberships"] = np.asarray(estimate.memberships)
    adata.uns[key_added] = {
        "loss": estimate.loss_name,
        "expected_loss": float(estimate.expected_loss),
        "search": estimate.search_name,
        "seed": str(estimate.seed),
        "partita": __version__,
    }
    if draws is None:
        return
    validate.real("min_similarity", min_similarity, low=0, high=1)
    table = item_uncertainty(estimate, draws, n_jobs=n_jobs)
    for column in ("own_similarity", "probability", "entropy"):
        if column in table:
            adata.obs[f"{key_added}_{column}"] = table[column].to_numpy()
    similarity = as_evidence(draws).similarity
    adata.obsp[f"{key_added}_similarity"] = _sparse(similarity, min_similarity)


def _sparse(similarity: Similarity, least: float) -> Any:
    """The entries of a similarity from ``least`` on."""
    from scipy import sparse

    n = similarity.n_items
    parts = []
    for rows in blocks(n, _ROWS):
        part = np.asarray(similarity.block(rows, slice(None)), dtype=np.float32)
        part[part < least] = 0
        parts.append(sparse.csr_matrix(part))
    return sparse.vstack(parts, format="csr")
