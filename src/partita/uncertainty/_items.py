"""A table of the items: how surely each is where it was put."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core, validate
from partita.draws import Draws, contingency, offsets_of, own_values, spread
from partita.parallel import blocks
from partita.similarity import Similarity
from partita.uncertainty._align import align_memberships
from partita.uncertainty._given import draws_or_similarity, item_index, labels_of, one_hot

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from partita.typing import Doubles

_FROM_DRAWS = ("probability", "entropy", "expected_vi")  # columns that need whole draws
_SUMS = 20_000_000  # sums over clusters of draws held at a time


def item_uncertainty(estimate: Any, draws: Any, *, n_jobs: int | None = -1) -> pd.DataFrame:
    r"""Return a table with a row for each item and what is known of its place.

    Parameters
    ----------
    estimate : Estimate or array-like of shape (n,)
        With memberships, as from NMF, they are in the table too.
    draws : Draws, Similarity or anything that can become draws
        Of a similarity alone, or of draws with missing labels, there are the columns up to
        ``runner_up_similarity``; ``table.attrs["left_out"]`` names the others.
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    DataFrame
        Indexed by item, with the columns

        - ``cluster``: where the estimate puts it;
        - ``membership``: its own column of the estimate's memberships, where there are any;
        - ``own_similarity``: its mean similarity to the others of its cluster (nan if alone);
        - ``runner_up``, ``runner_up_similarity``: the other cluster of highest mean similarity;
        - ``probability``: of being in its cluster, by :func:`align_memberships`;
        - ``entropy``: in bits, of where it goes, by the same alignment;
        - ``expected_vi``: its share of the expected variation of information,
          :math:`\frac{1}{n} E[\log_2 n_{c_i} + \log_2 n_{c^*_i} - 2 \log_2 n_{c_i c^*_i}]`.
          The column sums to the expected loss.

    Examples
    --------
    >>> table = item_uncertainty([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> table["own_similarity"].round(3).tolist()
    [1.0, 1.0, 0.667, 0.667]
    >>> int(table["probability"].idxmin())
    2
    """
    import pandas as pd

    given, operator = draws_or_similarity(draws)
    labels = labels_of(estimate, operator)
    n_jobs = validate.n_jobs(n_jobs)
    similarity = mean_similarity(labels, operator, n_jobs=n_jobs)
    everyone = np.arange(labels.size)
    columns: dict[str, Any] = {"cluster": labels}
    memberships = getattr(estimate, "memberships", None)
    if memberships is not None:
        columns["membership"] = np.asarray(memberships)[everyone, labels]
    columns["own_similarity"] = similarity[everyone, labels]
    columns |= _runner_up(similarity, labels)
    if given is not None:
        aligned = align_memberships(labels, given, n_jobs=n_jobs)
        columns["probability"] = aligned.memberships[everyone, labels]
        columns["entropy"] = aligned.entropy
        columns["expected_vi"] = _vi_shares(labels, given, n_jobs=n_jobs)
    table = pd.DataFrame(columns, index=item_index(operator))
    table.attrs["left_out"] = () if given is not None else _FROM_DRAWS
    return table


def mean_similarity(
    labels: NDArray[np.int64], operator: Similarity, *, n_jobs: int = 1
) -> NDArray[np.float64]:
    """Return the (n, K) mean similarity of items to the others of each cluster; nan to nobody."""
    x = one_hot(labels)
    draws = operator.draws
    whole = draws is None or draws.observed is not None
    width = x.shape[1] if draws is None or whole else _SUMS // int(draws.n_clusters.sum())
    sums = np.empty_like(x)
    for some in blocks(x.shape[1], max(1, width)):
        sums[:, some] = operator.matmul(x[:, some], n_jobs=n_jobs)
    others = x.sum(axis=0) - x
    means = np.where(others > 0, (sums - x) / np.maximum(others, 1.0), np.nan)
    return np.clip(means, 0.0, 1.0)


def _runner_up(similarity: NDArray[np.float64], labels: NDArray[np.int64]) -> dict[str, Any]:
    import pandas as pd

    n = labels.size
    if similarity.shape[1] == 1:
        nobody = pd.array([pd.NA] * n, dtype="Int64")
        return {"runner_up": nobody, "runner_up_similarity": np.full(n, np.nan)}
    others = similarity.copy()
    others[np.arange(n), labels] = -1.0
    best = others.argmax(axis=1)
    return {
        "runner_up": pd.array(best, dtype="Int64"),
        "runner_up_similarity": others[np.arange(n), best],
    }


def _vi_shares(labels: NDArray[np.int64], draws: Draws, *, n_jobs: int = 1) -> Doubles:
    """Each item's share of the expected variation of information, shape (n,)."""
    offsets = offsets_of(draws)
    (counts,) = contingency(draws, [labels], n_jobs=n_jobs, label="items")
    logs = _core.log2(np.maximum(np.arange(draws.n_items + 1.0), 1.0))
    truth = spread(draws, logs[counts.row_sizes()][:, None], n_jobs=n_jobs)[:, 0]
    own = logs[counts.column_sizes(offsets)][labels]
    joint = own_values(draws, labels, counts, logs, n_jobs=n_jobs)
    return np.asarray(np.maximum(truth + own - 2.0 * joint, 0.0) / draws.n_items)
