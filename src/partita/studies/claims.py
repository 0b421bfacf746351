"""What the paper says of its simulation, each sentence held against its table and against ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from partita.studies import methods
from partita.studies._common import Frame, paper_table

SEPARATE = ("TTT", "TTF", "TFT", "TFF")
OVERLAPPING = ("FTT", "FTF", "FFT", "FFF")


@dataclass(frozen=True, eq=False)
class Results:
    """Means of one table in the paper's layout, and the clusters chosen where they are known.

    Parameters
    ----------
    means : DataFrame
        Index configuration and method, a column a measure.
    clusters : DataFrame or None
        Counts of K by configuration and method; the paper shows these in a figure only.
    """

    means: Frame
    clusters: Frame | None

    def best(self, name: str, measure: str, among: tuple[str, ...]) -> float:
        """Return the best score of some methods, larger being better (VI with its sign turned)."""
        column = self.means.loc[name, measure]
        scores = column.reindex(among)
        return float(-scores.min() if measure == "VI" else scores.max())

    def share(self, name: str, method: str, keep: Callable[[int], bool]) -> float:
        """Return the share of data sets in which a method chose a K that passes ``keep``."""
        assert self.clusters is not None
        counts = self.clusters.loc[(name, method)]
        return float(counts[[k for k in counts.index if keep(int(k))]].sum() / counts.sum())


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper in our words, and what it comes to in numbers."""

    text: str
    check: Callable[[Results], str]
    needs_clusters: bool = False


def _nmf_when_mixed(results: Results) -> str:
    cells = [(name, measure) for name in OVERLAPPING for measure in methods.MEASURES]
    wins = sum(
        results.best(*cell, methods.MODELS) > results.best(*cell, methods.CONVENTIONAL)
        for cell in cells
    )
    return f"the best NMF beats the best conventional method in {wins} of {len(cells)} cells"


def _all_well_at_ttt(results: Results) -> str:
    ar = results.means.loc["TTT", "AR"].reindex(methods.MODELS + methods.CONVENTIONAL)
    return f"AR from {ar.min():.3f} ({ar.idxmin()}) to {ar.max():.3f}"


def _offset_under_vi(results: Results) -> str:
    found = []
    for name in ("TTT", "TTF"):
        vi = results.means.loc[name, "VI"].reindex(methods.MODELS + methods.CONVENTIONAL)
        place = int((vi < vi["nmf-offset"]).sum()) + 1
        found.append(f"{name} place {place} of {len(vi)} ({vi['nmf-offset']:.3f})")
    return "NMF-offset by VI: " + ", ".join(found)


def _same_best(results: Results) -> str:
    everyone = methods.MODELS + methods.CONVENTIONAL
    same = []
    for one, other in (("TTT", "TTF"), ("FFT", "FFF")):
        for measure in methods.MEASURES:
            sign = -1 if measure == "VI" else 1
            tops = []
            for name in (one, other):
                column = sign * results.means.loc[name, measure].reindex(everyone)
                tops.append(set(column.index[column >= column.max() - 5e-4]))
            same.append(bool(tops[0] & tops[1]))
    return f"a method is best (to 0.0005) in both panels of a pair in {sum(same)} of {len(same)}"


def _kl_when_separate(results: Results) -> str:
    found = []
    for name in ("TFT", "TFF"):
        ar = results.means.loc[name, "AR"]
        best = ar.reindex(methods.MODELS).idxmax()
        found.append(f"{name} best NMF {best}, NMF-kl {ar['nmf-kl']:.3f}, MinVI {ar['minvi']:.3f}")
    return "; ".join(found)


def _shares(results: Results, names: tuple[str, ...], who: tuple[str, ...], keep: str) -> str:
    passes: Callable[[int], bool] = {
        "above": lambda k: k > 4,
        "below": lambda k: k < 4,
        "four": lambda k: k == 4,
    }[keep]
    parts = []
    for name in names:
        told = ", ".join(f"{m} {100 * results.share(name, m, passes):.0f}%" for m in who)
        parts.append(f"{name} {told}")
    return "; ".join(parts)


def _four_more_often(results: Results) -> str:
    more = 0
    for name in SEPARATE + OVERLAPPING:
        nmf = max(results.share(name, m, lambda k: k == 4) for m in methods.MODELS)
        rest = max(results.share(name, m, lambda k: k == 4) for m in methods.CONVENTIONAL)
        more += nmf > rest
    return f"an NMF model finds four more often than every conventional method in {more} of 8"


CLAIMS = (
    Claim(
        "NMF is consistently better than the conventional methods when clusters overlap (e to h)",
        _nmf_when_mixed,
    ),
    Claim("every method does well at a-TTT", _all_well_at_ttt),
    Claim("NMF-offset is the best under VI at a-TTT and b-TTF", _offset_under_vi),
    Claim("changing sphericity alone (a to b, g to h) leaves the best method the best", _same_best),
    Claim("at c and d NMF-kl is the best NMF and keeps up with MinVI", _kl_when_separate),
    Claim(
        "MinBinder and MaxPear choose too many clusters at e to h",
        lambda r: "K > 4: " + _shares(r, OVERLAPPING, ("minbinder", "maxpear"), "above"),
        needs_clusters=True,
    ),
    Claim(
        "MinVI and Medv choose too few, above all at e and g",
        lambda r: "K < 4: " + _shares(r, OVERLAPPING, ("minvi", "medv"), "below"),
        needs_clusters=True,
    ),
    Claim(
        "NMF-ls and NMF-kl are the more consistent in K",
        lambda r: "K = 4: " + _shares(r, OVERLAPPING, methods.MODELS, "four"),
        needs_clusters=True,
    ),
    Claim(
        "NMF-ns chooses well when separated and too many clusters when overlapping",
        lambda r: "; ".join(
            (
                "K = 4: " + _shares(r, SEPARATE, ("nmf-ns",), "four"),
                "K > 4: " + _shares(r, OVERLAPPING, ("nmf-ns",), "above"),
            )
        ),
        needs_clusters=True,
    ),
    Claim(
        "whatever the loss, an NMF method finds four clusters more often", _four_more_often, True
    ),
)


def page(table: Frame, clusters: Frame, chooser: str) -> str:
    """Return the claims with what the paper's table and ours make of each, in Markdown."""
    ours = Results(_means(table, chooser), _clusters(clusters, chooser))
    if set(SEPARATE + OVERLAPPING) - set(ours.means.index.get_level_values(0)):
        return ""
    printed = paper_table("simulation").pivot_table(
        index=["configuration", "method"], columns="measure", values="mean"
    )
    paper = Results(printed, None)
    lines = ["## What the paper says of it, one by one\n"]
    for claim in CLAIMS:
        lines.append(f"- {claim.text[0].upper()}{claim.text[1:]}.")
        if not claim.needs_clusters:
            lines.append(f"  - Its table: {claim.check(paper)}.")
        lines.append(f"  - Ours: {claim.check(ours)}.")
    return "\n".join(lines)


def _means(table: Frame, chooser: str) -> Frame:
    means = table["mean"].unstack("measure")
    return means.rename(index=lambda name: name.removesuffix(f"/{chooser}"), level="method")


def _clusters(clusters: Frame, chooser: str) -> Frame:
    return clusters.rename(index=lambda name: name.removesuffix(f"/{chooser}"), level="method")
