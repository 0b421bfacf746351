"""When numbers become words: the limits beyond which draws are not to be trusted."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from partita import validate
from partita.diagnostics._chains import Chains
from partita.diagnostics._pairs import MOST_ITEMS, together
from partita.diagnostics._rhat import LEAST_DRAWS

if TYPE_CHECKING:
    import pandas as pd

    from partita.diagnostics._pairs import Gap

RHAT = 1.05
ESS_PER_CHAIN = 100
GAP = 0.1


def judge(
    frame: pd.DataFrame, gap: Gap, chains: Chains
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Hold the numbers against the limits: sentences on disagreements, shortages and the rest."""
    disagreements = [*_rhat_too_large(frame, chains), *_gap_too_large(gap, chains)]
    return tuple(disagreements), tuple(_too_few(frame, chains)), tuple(_notes(chains))


def rhat_limit(n_chains: int, n_draws: int) -> float:
    """R-hat beyond which chains disagree: 1.05, or what independent draws reach once in 10,000.

    Split into halves, m chains of n independent draws each have R-hat² = 1 + (F - 1)/n with F
    from the F distribution; of few draws that exceeds 1.05 by chance.
    """
    from scipy.special import fdtri

    m, n = 2 * n_chains, n_draws // 2
    by_chance = float(fdtri(m - 1, m * (n - 1), 1 - 1e-4))
    return max(RHAT, sqrt(1 + (by_chance - 1) / n))


def _rhat_too_large(frame: pd.DataFrame, chains: Chains) -> list[str]:
    if chains.shortest < LEAST_DRAWS:
        return []
    limit = rhat_limit(chains.n_chains, chains.shortest)
    values = frame["rhat"].to_numpy()
    bad = np.flatnonzero(values > limit)
    if bad.size == 0:
        return []
    worst = int(bad[values[bad].argmax()])
    who = "the chains disagree" if chains.n_chains > 1 else "the halves of the chain disagree"
    more = f" and on {bad.size - 1} more of what was looked at" if bad.size > 1 else ""
    return [
        f"{who} on {_quoted(str(frame.index[worst]))} (R-hat {values[worst]:.3g}; "
        f"up to {limit:.3g} is fine){more}. Run them longer, or from other starts."
    ]


def _quoted(quantity: str) -> str:
    return "the number of clusters" if quantity in ("K", "trace K") else f"'{quantity}'"


def _gap_too_large(gap: Gap, chains: Chains) -> list[str]:
    """Call out a gap that matters and that Monte Carlo error does not explain."""
    if gap.difference < GAP or _surprise(gap, chains) < 1:
        return []
    names = chains.draws.item_names or range(chains.draws.n_items)
    i, j = (names[k] for k in gap.items)
    (a, b), (p, q) = gap.between, gap.similarities
    return [
        f"{a} and {b} differ by {gap.difference:.3g} on whether items {i} and {j} are together "
        f"({p:.3g} and {q:.3g}), more than chance explains."
    ]


def _surprise(gap: Gap, chains: Chains) -> float:
    """The gap in standard errors, over what the largest of so many pairs reaches by chance."""
    parts = dict(chains.parts())
    effective = []
    for part in (parts[name] for name in gap.between):
        found = float(Chains.of(part).ess_mean(together(gap.items, part)))
        effective.append(found if np.isfinite(found) else part.n_draws)
    pooled = sum(gap.similarities) / 2
    error = sqrt(max(pooled * (1 - pooled), 1e-12) * sum(1 / max(e, 1.0) for e in effective))
    n = chains.draws.n_items
    tried = max(n * (n - 1) / 2, 1) * max(len(parts) * (len(parts) - 1) / 2, 1)
    return gap.difference / error / (sqrt(2 * log(tried + 1)) + 2)


def _too_few(frame: pd.DataFrame, chains: Chains) -> list[str]:
    needed = ESS_PER_CHAIN * chains.n_chains
    if chains.shortest < LEAST_DRAWS and not chains.is_weighted:
        return [
            f"a chain of {validate.count_text(chains.shortest, 'draw')} is too short to judge by; "
            f"{LEAST_DRAWS} are the least, and {ESS_PER_CHAIN} effective ones are advised."
        ]
    least = str(frame["ess"].idxmin())
    value = float(frame["ess"].min())
    if value >= needed:
        return []
    return [
        f"the effective sample size of {_quoted(least)} is {value:.0f}; at least {needed} "
        f"({ESS_PER_CHAIN} a chain) are advised. Run longer."
    ]


def _notes(chains: Chains) -> list[str]:
    notes = []
    if chains.n_chains == 1:
        notes.append(
            "there is one chain, compared half with half; what it never visited cannot show. "
            "Run several from different starts."
        )
    longest = max(m.size for m in chains.members)
    if longest > chains.shortest and not chains.is_weighted:
        notes.append(
            f"the chains have {chains.shortest} to {longest} draws; R-hat and effective sizes use "
            f"the last {chains.shortest} of each."
        )
    n = chains.draws.n_items
    if n > MOST_ITEMS:
        notes.append(f"of {n:,} items, the pairs of {MOST_ITEMS:,} were compared.")
    if chains.is_weighted:
        notes.append(
            "the draws are weighted: no R-hat, and effective sizes are Kish's, (Σw)²/Σw², which "
            "takes them for independent."
        )
    return notes
