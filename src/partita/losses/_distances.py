"""The loss of every partition against every draw, not averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partita import kernels
from partita.distributed import map_blocks
from partita.draws import streams
from partita.losses._common import Basis, Loss, RatioLoss, _grid, _partitions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.typing import IntArray


def distances(
    loss: Loss, partitions: IntArray, draws: Draws, *, n_jobs: int = 1
) -> NDArray[np.float64]:
    """Return the loss of reporting each of the (p, n) partitions when each draw is the truth.

    Returns
    -------
    ndarray, shape (p, n_draws)

    Examples
    --------
    >>> from partita.draws import Draws
    >>> from partita.losses import VI
    >>> distances(VI(), np.array([[0, 0, 1, 1]]), Draws([[0, 0, 1, 1], [0, 1, 0, 1]]))
    array([[0., 2.]])
    """
    if not isinstance(loss, RatioLoss):
        each = [[loss(draw, labels) for draw in draws.labels] for labels in partitions]
        return np.asarray(each, dtype=np.float64)
    partitions, counts = _partitions(partitions)
    if streams(draws):
        return loss.streamed(partitions, draws, n_jobs)
    table = loss.table(draws.n_items)
    e = kernels.contingency.marginal(partitions, table)[:, None]
    out = np.empty((partitions.shape[0], draws.n_draws))

    def work(part: tuple[slice, slice]) -> None:
        some, rows = part
        labels, sizes = draws.labels[some], draws.n_clusters[some]
        t = kernels.contingency.marginal(labels, table)
        j = kernels.contingency.joint(labels, sizes, partitions[rows], counts[rows], table)
        out[rows, some] = loss.ratio(Basis(t, e[rows], j, table[-1], draws.n_items))

    parts = list(_grid(draws.n_draws, partitions.shape[0], draws.n_items))
    for _ in map_blocks(work, parts, n_jobs=n_jobs, label="losses"):
        pass
    return out
