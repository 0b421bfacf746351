"""What the report says: the headline, the tables, how to get it again; HTML, escaped."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita.comparison import (
    Comparison,
    adjusted_rand_index,
    rand_index,
    variation_of_information,
)
from partita.diagnostics import Diagnosis, diagnose
from partita.draws import Draws
from partita.estimation import Estimate
from partita.partitions import canonical
from partita.plots._canvas import with_unit
from partita.reporting._reproduce import fingerprint, versions
from partita.reporting._steps import Steps, own_loss
from partita.reporting._tables import table
from partita.similarity import Similarity
from partita.uncertainty import (
    CredibleBall,
    LossError,
    cluster_uncertainty,
    credible_ball,
    item_uncertainty,
    loss_error,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_DOUBTFUL = 0.8  # probability below which an item's place is called doubtful
_NAMED = 6
_BOUNDS = {
    "horizontal": "farthest (horizontal)",
    "upper_vertical": "fewest clusters (upper vertical)",
    "lower_vertical": "most clusters (lower vertical)",
}


@dataclass(frozen=True, eq=False)
class Findings:
    """What was found out about an estimate."""

    items: pd.DataFrame
    clusters: pd.DataFrame
    ball: CredibleBall | None
    error: LossError | None
    diagnosis: Diagnosis | None
    comparison: Comparison | None
    truth: NDArray[np.int64] | None

    @classmethod
    def of(
        cls, best: Estimate, draws: Draws | Similarity, truth: Any, comparison: Comparison | None,
        n_jobs: int, wording: str,
    ) -> Findings:  # fmt: skip
        """Find out everything that the report tells; of a similarity alone, what it allows."""
        tables: dict[str, Any] = {
            "items": item_uncertainty(best, draws, n_jobs=n_jobs),
            "clusters": cluster_uncertainty(best, draws, n_jobs=n_jobs),
            "comparison": comparison,
            "truth": None if truth is None else canonical(truth),
        }
        if not isinstance(draws, Draws):
            return cls(**tables, ball=None, error=None, diagnosis=None)
        loss = own_loss(best)
        far = loss if getattr(loss, "needs", "") != "similarity" else "vi"
        diagnosis = None
        if wording == "posterior":  # runs are no chain
            with np.errstate(invalid="ignore"):  # traces may hold infinities, whose moments are nan
                diagnosis = diagnose(draws, best, loss=far, n_jobs=n_jobs)
        return cls(
            **tables,
            ball=credible_ball(best, draws, loss=far, n_jobs=n_jobs),
            error=loss_error(best, draws, loss=far, n_jobs=n_jobs),
            diagnosis=diagnosis,
        )


def parts(
    best: Estimate,
    draws: Draws | Similarity,
    findings: Findings,
    steps: Steps,
    command: str | None,
    call: str,
) -> dict[str, str]:
    """Return the pieces of HTML that the page has places for."""
    return {
        "headline": _headline(best, draws, findings),
        "facts": _facts(best, draws, findings),
        "verdict": _verdict(findings.diagnosis, draws) if findings.diagnosis else "",
        "slider_source": escape(steps.source),
        "slider_loss": escape(steps.loss_name),
        "memberships_note": escape(steps.note),
        "clusters": table(findings.clusters, "The clusters of the estimate", "cluster"),
        "ball": _ball(findings.ball),
        "comparison": _comparison(best, findings),
        "diagnostics": _diagnostics(draws, findings),
        "reproduce": escape(call),
        "command": f"<pre><code>{escape(command)}</code></pre>" if command else "",
        "versions": escape(versions()),
        "fingerprint": fingerprint(draws),
        "hashed": _hashed(draws),
        "item_columns": ""
        if "probability" not in findings.items
        else "the probability of being in its cluster, the entropy of where it goes in bits, ",
    }


def _hashed(draws: Draws | Similarity) -> str:
    if not isinstance(draws, Draws) and draws.draws is None:
        return "the similarity matrix, as 64-bit floats"
    return "the draws, canonical labels as 32-bit integers"


def _ball(ball: CredibleBall | None) -> str:
    if ball is None:
        return ""
    edges = ball.to_frame().rename(_BOUNDS)
    return table(edges, f"The edges of the {ball.prob:.0%} credible ball", "bound")


def _diagnostics(draws: Draws | Similarity, findings: Findings) -> str:
    if findings.diagnosis is not None:
        return table(findings.diagnosis.frame, "R-hat and effective sample sizes", "quantity")
    if isinstance(draws, Draws):
        return f"<p>{draws.n_draws:,} runs, of equal standing: no order among them to diagnose.</p>"
    why = "There was a similarity matrix and no labels of single runs."
    if draws.draws is not None and draws.draws.observed is not None:
        share = 1 - draws.draws.observed.mean()
        why = f"{share:.1%} of the labels are missing: runs left items out."
    return (
        f"<p>{why} So there is no ball around the estimate, no standard error of its loss, no "
        "entropy of an item's place, no distribution of the number of clusters.</p>"
    )


def _headline(best: Estimate, draws: Draws | Similarity, findings: Findings) -> str:
    ball, error = findings.ball, findings.error
    lines = [
        f"<strong>{validate.count_text(best.n_clusters, 'cluster')}</strong> of "
        f"{validate.count_text(draws.n_items, 'item')}, of sizes {_sizes(best)}.",
        f"Expected {escape(with_unit(best.loss_name))} {best.expected_loss:.4g}"
        + (f" (Monte Carlo error {error.error:.2g})" if error and _is_of(error, best) else "")
        + f"{_in_words(best)}, found by {escape(best.search_name)}.",
    ]
    if ball is not None:
        lines += [
            f"{ball.prob:.0%} of the posterior lies within {escape(losses.name_of(ball.loss))} "
            f"{ball.radius:.3g} of it.",
            _doubts(draws, findings),
        ]
    if findings.truth is not None:
        lines.append(
            f"Against the truth: Rand {rand_index(findings.truth, best.labels):.3f}, adjusted Rand "
            f"{adjusted_rand_index(findings.truth, best.labels):.3f}, variation of information "
            f"{variation_of_information(findings.truth, best.labels):.3f}."
        )
    return "\n".join(f"<li>{line}</li>" for line in lines)


def _in_words(best: Estimate) -> str:
    """What the number means, for the two losses that have a scale of their own."""
    n = best.labels.size
    if best.loss_name == "vi" and n > 1:
        share = best.expected_loss / np.log2(n)
        return f": {share:.1%} of the largest possible, log2 n = {np.log2(n):.2f}"
    if best.loss_name == "binder" and n > 1:
        share = best.expected_loss * n / (n - 1)
        return f": a draw and the partition disagree on {share:.1%} of the pairs of items"
    return ""


def _is_of(error: LossError, best: Estimate) -> bool:
    """Whether there is an error, and of the loss that was minimised."""
    return bool(np.isfinite(error.error)) and losses.name_of(error.loss) == best.loss_name


def _sizes(best: Estimate) -> str:
    sizes = best.sizes.tolist()
    more = f" and {len(sizes) - 12} smaller or later" if len(sizes) > 12 else ""
    return ", ".join(f"{size:,}" for size in sizes[:12]) + more


def _doubts(draws: Draws | Similarity, findings: Findings) -> str:
    doubtful = findings.items["probability"].to_numpy() < _DOUBTFUL
    count = int(doubtful.sum())
    if count == 0:
        return f"Every item is in its cluster with probability {_DOUBTFUL:.0%} or more."
    worst = np.argsort(-findings.items["entropy"].to_numpy(), kind="stable")[:_NAMED]
    names = draws.item_names or tuple(map(str, range(draws.n_items)))
    listed = ", ".join(f"<bdi>{escape(_short(names[i]))}</bdi>" for i in worst if doubtful[i])
    share = f"{validate.count_text(count, 'item')} ({count / draws.n_items:.0%})"
    most = f"; the least sure: {listed}" if listed else ""
    return f"The place of {share} is held with less than {_DOUBTFUL:.0%} probability{most}."


def _short(name: str) -> str:
    return name if len(name) <= 40 else name[:39] + "…"


def _facts(best: Estimate, draws: Draws | Similarity, findings: Findings) -> str:
    runs = draws if isinstance(draws, Draws) else draws.draws
    facts = {}
    if runs is not None:
        facts["Draws"] = f"{runs.n_draws:,}" + (", weighted" if runs.weights is not None else "")
    if findings.diagnosis is not None and runs is not None:
        facts["Chains"] = f"{runs.n_chains}"
    facts |= {
        "Items": f"{draws.n_items:,}",
        "Loss": best.loss_name,
        "Search": best.search_name,
        "Seed": str(best.seed),
    }
    cells = [f"<div><dt>{k}</dt><dd>{escape(v)}</dd></div>" for k, v in facts.items()]
    return "\n".join(cells)


def _verdict(diagnosis: Diagnosis, draws: Any) -> str:
    """The verdict on the chains, which one chain alone cannot make good."""
    alone = diagnosis.trusted and getattr(draws, "n_chains", 0) == 1
    kind = "fair" if alone else "good" if diagnosis.trusted else "bad"
    reasons = (*diagnosis.disagreements, *diagnosis.shortages, *diagnosis.notes)
    listed = "".join(f"<li>{escape(r[0].upper() + r[1:])}</li>" for r in reasons)
    verdict = diagnosis.verdict + " But they are of one chain." * alone
    return f'<p class="verdict {kind}">{escape(verdict)}</p>' + (
        f"<ul>{listed}</ul>" if listed else ""
    )


def _comparison(best: Estimate, findings: Findings) -> str:
    if findings.comparison is None:
        return "<p>No other methods were run. Pass <code>comparison=pt.compare(draws)</code>.</p>"
    frame = findings.comparison.frame.copy()
    frame.insert(
        1,
        "to the estimate",
        [
            variation_of_information(best.labels, e.labels)
            for e in findings.comparison.estimates.values()
        ],
    )
    return table(
        frame,
        "Every method: K, variation of information to the estimate, expected losses, seconds",
        "method",
        best={c: min for c in frame.columns if c in losses.NAMES or c == "VI"}
        | {"Rand": max, "AR": max},
    )
