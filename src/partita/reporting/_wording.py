"""Words for draws that are no posterior: runs of a clusterer, labels of several experts."""

from __future__ import annotations

from typing import Any

from partita import validate

WORDINGS = ("posterior", "consensus")

# In the order in which they are replaced; the longer ones first.
_CONSENSUS = (
    ("Posterior similarity matrix", "Consensus matrix"),
    ("The posterior similarity matrix: the probability that two items\nshare a cluster",
     "The consensus matrix: the share of runs in which two items\nare together"),
    ("Posterior of the number of clusters, with Monte Carlo errors",
     "How many runs have each number of clusters"),
    ("Posterior of the number of clusters", "Runs with each number of clusters"),
    ("of the posterior lies within", "of the runs lie within"),
    ("credible ball", "ball of runs"),
    ("the probability of being in its cluster", "the share of runs with it in its cluster"),
    ("is in its cluster with probability", "is in its cluster in a share of the runs of"),
    ("is held with less than", "is supported by less than"),
    ("% probability", "% of the runs"),
    ('"Probability"', '"Agreement"'),
    ("(Monte Carlo error ", "(standard error over runs "),
    ('axis("probability"', 'axis("share of the runs"'),
    ("<th scope=\"col\">probability</th>", "<th scope=\"col\">share of the runs</th>"),
    ("Can the draws be trusted", "The runs"),
    ("Diagnostics", "Runs"),
    ("SHA-256 of the draws", "SHA-256 of the runs"),
    ("<dt>Draws</dt>", "<dt>Runs</dt>"),
    ("a posterior similarity matrix", "a consensus matrix"),
    ("posterior draws of a partition", "partitions"),
    ("% of the posterior (", "% of the runs ("),
    ("the draws", "the runs"),
    ("best draw", "best run"),
)  # fmt: skip


def wording_of(asked: str | None, draws: Any) -> str:
    """Return the wording that was asked for, or what the draws are."""
    if asked is not None:
        return validate.choice("wording", asked, WORDINGS)
    about = getattr(draws, "about", None) or {}
    return "consensus" if about.get("method") == "consensus" else "posterior"


def reworded(text: str, wording: str) -> str:
    """Return a text of the page in these words."""
    if wording == "consensus":
        for ours, theirs in _CONSENSUS:
            text = text.replace(ours, theirs)
    return text
