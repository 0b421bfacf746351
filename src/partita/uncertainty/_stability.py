"""How good the number itself is: Monte Carlo error, and the answer from parts of the draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita.diagnostics import Chains, monte_carlo_error
from partita.draws import Draws
from partita.errors import InvalidValueError
from partita.estimation import estimate as find
from partita.evidence import Evidence
from partita.io import Shown
from partita.parallel import progress
from partita.partitions import canonical
from partita.uncertainty._given import halves, labels_of, positive_draws

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from partita.losses import Loss
    from partita.typing import Seed

_RIVALS = 200  # draws tried as a runner-up
_STEPS = 20  # steps of an estimate's path tried, by their own loss


@dataclass(frozen=True, eq=False)
class LossError(Shown):
    """An expected loss, its distance from the runner-up, and the Monte Carlo error of both.

    Parameters
    ----------
    loss : Loss
    value, error : float
        The expected loss and its Monte Carlo standard error.
    ess : float
        The effective number of draws that it rests on.
    rival : ndarray of int64, shape (n,), or None
        The runner-up; None if every draw is the partition itself.
    difference, difference_error : float
        How much more the runner-up costs, and the standard error of that. Both losses rest on
        the same draws, so the error of the difference is often the smaller one.
    """

    loss: Loss
    value: float
    error: float
    ess: float
    rival: NDArray[np.int64] | None
    difference: float
    difference_error: float

    @property
    def clear(self) -> bool:
        """Whether the runner-up is behind by more than two standard errors."""
        return self.difference > 2 * self.difference_error

    def __repr__(self) -> str:
        name = losses.name_of(self.loss)
        if not np.isfinite(self.error):
            return f"LossError({name} {self.value:.6g}, error unknown: too few draws in a chain)"
        text = f"LossError({name} {self.value:.6g} ± {self.error:.2g}, ess {self.ess:.0f}"
        if self.rival is None:
            return text + ")"
        return text + f"; runner-up {self.difference:+.3g} ± {self.difference_error:.2g})"

    def to_frame(self) -> pd.DataFrame:
        """Return two rows, the expected loss and the runner-up's difference: value and error."""
        import pandas as pd

        rows = [(self.value, self.error), (self.difference, self.difference_error)]
        index = pd.Index(["expected loss", "runner-up, difference"], name="quantity")
        return pd.DataFrame(rows, index=index, columns=["value", "error"])


def loss_error(
    estimate: Any, draws: Any, *, rival: Any = None, loss: Any = None, n_jobs: int | None = -1
) -> LossError:
    """Return the expected loss of a partition with its Monte Carlo error.

    Parameters
    ----------
    estimate : Estimate or array-like of shape (n,)
    draws : Draws or anything that can become one
        Autocorrelation within ``chains`` is accounted for.
    rival : array-like of shape (n,), optional
        What to compare with. If None, the next best: of the estimate's path or, if it has none,
        of the draws.
    loss : str or Loss, optional
        The estimate's own if None and that can be taken draw by draw, else ``vi``.
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    LossError

    Examples
    --------
    >>> draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]] * 25
    >>> found = loss_error([0, 0, 1, 1], draws, loss="binder")
    >>> found.value, found.rival.tolist(), found.clear
    (0.09375, [0, 0, 0, 1], True)
    """
    given = positive_draws(draws, "loss_error")
    labels = labels_of(estimate, given)
    chosen = _own_loss(estimate, loss)
    n_jobs = validate.n_jobs(n_jobs)
    if rival is not None:
        other: NDArray[np.int64] | None = labels_of(rival, given)
    else:
        other = _runner_up(estimate, labels, given, chosen, n_jobs)
    pair = labels[None, :] if other is None else np.stack([labels, other])
    far = losses.distances(chosen, pair, given, n_jobs=n_jobs)
    value, error, ess = monte_carlo_error(far[0], given)
    if other is None:
        return LossError(chosen, value, error, ess, None, np.nan, np.nan)
    difference, difference_error, _ = monte_carlo_error(far[1] - far[0], given)
    return LossError(chosen, value, error, ess, other, difference, difference_error)


def _own_loss(estimate: Any, loss: Any) -> Loss:
    if loss is not None:
        return losses.resolve_distance(loss)
    own = getattr(estimate, "loss", None)
    usable = own is not None and not isinstance(own, str) and own.needs != "similarity"
    return losses.resolve_distance(own if usable else "vi")


def _runner_up(
    estimate: Any, labels: NDArray[np.int64], draws: Draws, loss: Loss, n_jobs: int
) -> NDArray[np.int64] | None:
    """The best partition that is not ``labels``, of the estimate's path or of some draws."""
    steps = [step for step in getattr(estimate, "path", ()) if step.labels is not None]
    steps.sort(key=lambda step: step.expected_loss)
    offered = [step.labels for step in steps[:_STEPS]]
    if not offered:
        distinct = draws.unique().labels
        spread = np.linspace(0, len(distinct) - 1, min(len(distinct), _RIVALS)).round().astype(int)
        offered = list(distinct[spread])
    others = [row for row in map(canonical, offered) if not np.array_equal(row, labels)]
    if not others:
        return None
    values = losses.expected(loss, np.stack(others), Evidence(draws=draws), n_jobs=n_jobs)
    return others[int(values.argmin())]


def stability(
    estimate: Any,
    draws: Any,
    *,
    loss: Any = None,
    search: Any = None,
    rng: Seed = None,
    n_jobs: int | None = -1,
) -> pd.DataFrame:
    """Estimate again from each half of the draws and from each chain.

    Parameters
    ----------
    estimate : Estimate or array-like of shape (n,)
        What was found from all draws.
    draws : Draws or anything that can become one
        The halves are the first and the second of every chain.
    loss, search : optional
        The estimate's own if None; ``vi`` and ``auto`` if it has none.
    rng : int, SeedSequence or Generator, optional
        The estimate's seed if None.
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    DataFrame
        One row a part: ``n_draws`` and ``n_clusters`` of it; ``expected_loss`` on the draws that
        were used and ``held_out_loss`` on those that were not; ``all_held_out_loss``, that of the
        estimate from all draws on the same; ``distance``, the loss between the two partitions.

    Examples
    --------
    >>> table = stability([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 1, 1]] * 10, search="draws")
    >>> table["distance"].to_dict()
    {'first half': 0.0, 'second half': 0.0}
    """
    import pandas as pd

    given = positive_draws(draws, "stability")
    labels = labels_of(estimate, given)
    chosen, how, seed = _own_way(estimate, loss, search, rng)
    n_jobs = validate.n_jobs(n_jobs)
    rows = {}
    parts = _parts(given)
    with progress(len(parts), "parts of the draws") as bar:
        for name, used in parts.items():
            kept, rest = Evidence(draws=given.take(used)), Evidence(draws=given.take(~used))
            again = find(kept, loss=chosen, search=how, rng=seed, n_jobs=n_jobs)
            both = np.stack([again.labels, labels])
            held_out = losses.expected(chosen, both, rest, n_jobs=n_jobs)
            far = chosen(labels, again.labels)
            row = (int(used.sum()), again.n_clusters, again.expected_loss, *held_out, far)
            rows[name] = row
            bar.advance()
    columns = [
        "n_draws",
        "n_clusters",
        "expected_loss",
        "held_out_loss",
        "all_held_out_loss",
        "distance",
    ]
    index = pd.Index(list(rows), name="part")
    return pd.DataFrame(list(rows.values()), index=index, columns=columns)


def _own_way(estimate: Any, loss: Any, search: Any, rng: Any) -> tuple[Loss, Any, int]:
    """What the estimate was made with, as far as it is known and not said otherwise."""
    own = getattr(estimate, "loss", "vi")
    if loss is None:
        loss = "vi" if isinstance(own, str) and own not in losses.NAMES else own
    how = getattr(estimate, "search", "auto")
    if search is None:
        search = "auto" if isinstance(how, str) else how
    seed = getattr(estimate, "seed", None) if rng is None else rng
    return losses.resolve(loss), search, validate.seed(seed)


def _parts(draws: Draws) -> dict[str, NDArray[np.bool_]]:
    """Masks of the halves and, if there are several, of the chains."""
    if draws.n_draws < 2:
        raise InvalidValueError(
            "`draws` must hold at least two draws of positive weight to be halved; got 1."
        )
    chains = Chains.of(draws)
    first = halves(draws)
    parts = {"first half": first, "second half": ~first}
    if chains.n_chains > 1:
        for number, members in zip(chains.numbers.tolist(), chains.members, strict=True):
            of_chain = np.zeros(draws.n_draws, dtype=np.bool_)
            of_chain[members] = True
            parts[f"chain {number}"] = of_chain
    return parts
