"""Can the draws be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita.diagnostics._chains import Chains
from partita.diagnostics._pairs import Gap, scan_pairs, spread, together
from partita.diagnostics._verdict import judge
from partita.draws import Draws, complete_draws
from partita.io import Shown, to_dataset
from partita.partitions import canonical

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from numpy.typing import NDArray

    from partita.losses import Loss

_CANDIDATES = 64  # draws tried as a stand-in for the estimate
_SCORED_ON = 1_000  # draws that each is scored on


@dataclass(frozen=True, eq=False)
class Diagnosis(Shown):
    """What the chains say about themselves.

    Parameters
    ----------
    frame : DataFrame
        One row a quantity (the number of clusters, the loss to the estimate, the pairs of items
        most in doubt, the traces): mean, sd, rhat, ess, and mcse, the Monte Carlo error of the
        mean.
    gap : Gap
        Where the chains' similarity matrices differ most.
    n_clusters : dict of str to ndarray
        The trace of K, a chain at a time.
    disagreements, shortages, notes : tuple of str
        What speaks against the draws: chains that contradict each other; too few effective
        draws; and what to know besides.
    """

    frame: pd.DataFrame
    gap: Gap
    n_clusters: dict[str, NDArray[np.int64]]
    disagreements: tuple[str, ...]
    shortages: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def trusted(self) -> bool:
        """Whether nothing was found that speaks against the draws."""
        return not self.disagreements and not self.shortages

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        if self.disagreements:
            # Each begins with who disagrees: the chains, or the halves of the only one.
            who = "halves of the chain" if "halves" in self.disagreements[0] else "chains"
            return f"Do not trust these draws: the {who} disagree."
        if self.shortages:
            return "Do not trust these draws yet: there are too few."
        return "Nothing speaks against these draws."

    def __str__(self) -> str:
        reasons = [f"  - {text}" for text in (*self.disagreements, *self.shortages, *self.notes)]
        table = self.frame.to_string(float_format=lambda x: f"{x:.4g}", na_rep="-")
        return "\n".join([self.verdict, *reasons, "", table])

    __repr__ = __str__

    def to_frame(self) -> pd.DataFrame:
        """Return the table: one row a quantity."""
        return self.frame

    def to_xarray(self) -> xr.Dataset:
        """Return the columns of the table along ``quantity``, with the verdict."""
        variables = {str(name): (["quantity"], one.to_numpy()) for name, one in self.frame.items()}
        about = {"verdict": self.verdict, "trusted": str(self.trusted)}
        names = np.array([str(name) for name in self.frame.index])
        return to_dataset(variables, about).assign_coords(quantity=names)

    def trace_frame(self) -> pd.DataFrame:
        """Return the trace of K: one row a draw, its chain, its position there and K."""
        import pandas as pd

        parts = [
            pd.DataFrame({"chain": name, "draw": np.arange(k.size), "K": k})
            for name, k in self.n_clusters.items()
        ]
        return pd.concat(parts, ignore_index=True)


def diagnose(
    draws: Any,
    labels: Any = None,
    *,
    loss: Any = "vi",
    n_pairs: int = 10,
    n_jobs: int | None = -1,
) -> Diagnosis:
    """Say whether draws can be trusted: whether their chains agree and are long enough.

    R-hat and effective sample size (ArviZ's definitions) of the number of clusters, of the loss
    to the estimate, of the traces and of the co-clustering of the pairs most in doubt; and the
    largest difference between the chains' similarity matrices. One chain is compared with itself,
    half with half, which cannot show what it never visited.

    Parameters
    ----------
    draws : Draws or anything that can become one
        With ``chains``, if there are several.
    labels : array-like of shape (n,) or Estimate, optional
        What the loss is taken to; if None, a central draw, the best of some.
    loss : str or Loss
        Any that compares two partitions draw by draw.
    n_pairs : int
        How many pairs of items to follow, at most; no item is in two.
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    Diagnosis
        Prints as a verdict, the reasons and a table.

    Examples
    --------
    >>> stuck = Draws([[0, 0, 1, 1]] * 200 + [[0, 1, 1, 1]] * 200, chains=[0] * 200 + [1] * 200)
    >>> found = diagnose(stuck)
    >>> found.trusted, found.gap.difference, found.gap.items
    (False, 1.0, (0, 1))
    >>> print(found.verdict)
    Do not trust these draws: the chains disagree.
    """
    chains = Chains.of(complete_draws(draws, "diagnose"))
    chosen = losses.resolve_distance(loss)
    n_jobs = validate.n_jobs(n_jobs)
    center = _center(labels, chains.draws, chosen, n_jobs)
    n_pairs = validate.integer("n_pairs", n_pairs, least=0)
    gap, doubtful = scan_pairs(chains, n_pairs=n_pairs, n_jobs=n_jobs)
    far = losses.distances(chosen, center[None, :], chains.draws, n_jobs=n_jobs)[0]
    center_name = "a central draw" if labels is None else "the estimate"
    rows: dict[str, Any] = {
        "K": chains.draws.n_clusters,
        f"{losses.name_of(chosen)} to {center_name}": far,
    }
    rows |= {f"trace {name}": trace for name, trace in chains.draws.traces.items()}
    for pair in doubtful:
        rows[_pair_name(pair, chains.draws)] = together(pair, chains.draws)
    frame = _frame(rows, chains)
    traces = {
        f"chain {c}": chains.draws.n_clusters[m]
        for c, m in zip(chains.numbers.tolist(), chains.members, strict=True)
    }
    return Diagnosis(frame, gap, traces, *judge(frame, gap, chains))


def _center(labels: Any, draws: Draws, loss: Loss, n_jobs: int) -> NDArray[np.int64]:
    """The partition given, or the best of some draws spread over all, scored on some draws."""
    if labels is not None:
        found = getattr(labels, "labels", labels)
        return canonical(validate.labels("labels", found, n_items=draws.n_items))
    offered = draws.labels[spread(draws.n_draws, _CANDIDATES)]
    scored = draws.take(spread(draws.n_draws, _SCORED_ON))
    far = losses.distances(loss, offered, scored, n_jobs=n_jobs)
    return canonical(offered[int((far @ scored.probabilities).argmin())])


def _pair_name(pair: NDArray[np.int64], draws: Draws) -> str:
    names = draws.item_names or range(draws.n_items)
    return f"{names[int(pair[0])]} with {names[int(pair[1])]}"


def _frame(rows: dict[str, Any], chains: Chains) -> pd.DataFrame:
    import pandas as pd

    values = np.stack([np.asarray(v, dtype=np.float64) for v in rows.values()])
    mean, sd = chains.moments(values)
    of_mean = chains.ess_mean(values)
    columns = {
        "mean": mean,
        "sd": sd,
        "rhat": chains.rhat(values),
        "ess": chains.ess_bulk(values),
        "mcse": sd / np.sqrt(of_mean),
    }
    return pd.DataFrame(columns, index=pd.Index(list(rows), name="quantity"))


def disagreement(draws: Draws) -> str | None:
    """Say in a sentence that chains contradict each other, or return None; quick, not thorough.

    At most a thousand draws a chain and three hundred items are looked at, so it can be asked of
    any draws before an estimate. One chain, or chains of fewer than ten draws, say nothing.
    """
    if draws.n_chains < 2:
        return None
    chains = Chains.of(draws)
    if chains.n_chains < 2 or chains.shortest < 10:
        return None
    kept = np.concatenate([m[spread(m.size, _SCORED_ON)] for m in chains.members])
    items = spread(draws.n_items, 300)
    few = chains.draws.take(np.sort(kept))
    part = Draws(
        few.labels[:, items],
        weights=few.weights,
        chains=few.chains,
        traces={"K": few.n_clusters.astype(np.float64)},
        item_names=None if few.item_names is None else tuple(few.item_names[i] for i in items),
    )
    found = diagnose(part).disagreements
    return found[0] if found else None
