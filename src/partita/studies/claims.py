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


#: A score that is behind by no more is comparable.
COMPARABLE = 0.02

#: What a claim comes to in numbers, and whether they bear it out.
Verdict = tuple[str, bool]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper in our words, and how it is checked."""

    text: str
    check: Callable[[Results], Verdict]
    needs_clusters: bool = False
    of_nmf: bool = True


def _nmf_when_mixed(results: Results) -> Verdict:
    cells = [(name, measure) for name in OVERLAPPING for measure in methods.MEASURES]
    wins = sum(
        results.best(*cell, methods.MODELS) > results.best(*cell, methods.CONVENTIONAL)
        for cell in cells
    )
    told = f"the best NMF beats the best conventional method in {wins} of {len(cells)} cells"
    return told, wins == len(cells)


def _comparable_at_e(results: Results) -> Verdict:
    """The paper names e-FTF: e is FTT and f is FTF, so both are looked at."""
    found, good = [], []
    for name in ("FTT", "FTF"):
        rest = results.best(name, "AR", methods.CONVENTIONAL)
        mine = {m: results.means.loc[(name, m), "AR"] for m in ("nmf-ns", "nmf-offset")}
        told = ", ".join(f"{m} {ar:.3f}" for m, ar in mine.items())
        found.append(f"{name} {told}, best conventional {rest:.3f}")
        good += [ar >= rest - COMPARABLE for ar in mine.values()]
    return "AR: " + "; ".join(found), all(good)


def _all_well_at_ttt(results: Results) -> Verdict:
    ar = results.means.loc["TTT", "AR"].reindex(methods.MODELS + methods.CONVENTIONAL)
    return f"AR from {ar.min():.3f} ({ar.idxmin()}) to {ar.max():.3f}", bool(ar.min() > 0.85)


def _offset_under_vi(results: Results) -> Verdict:
    found, places = [], []
    for name in ("TTT", "TTF"):
        vi = results.means.loc[name, "VI"].reindex(methods.MODELS + methods.CONVENTIONAL)
        place = int((vi < vi["nmf-offset"]).sum()) + 1
        places.append(place)
        found.append(f"{name} place {place} of {len(vi)} ({vi['nmf-offset']:.3f})")
    return "NMF-offset by VI: " + ", ".join(found), places == [1, 1]


def _same_best(results: Results) -> Verdict:
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
    told = f"a method is best (to 0.0005) in both panels of a pair in {sum(same)} of {len(same)}"
    return told, all(same)


def _kl_when_separate(results: Results) -> Verdict:
    found, good = [], []
    for name in ("TFT", "TFF"):
        ar = results.means.loc[name, "AR"]
        top = ar.reindex(methods.MODELS).max()
        level = ar["nmf-kl"] >= top - 5e-4
        best = "nmf-kl (to 0.0005)" if level else ar.reindex(methods.MODELS).idxmax()
        good.append(level and ar["nmf-kl"] >= ar["minvi"] - 5e-3)
        found.append(f"{name} best NMF {best}, NMF-kl {ar['nmf-kl']:.3f}, MinVI {ar['minvi']:.3f}")
    return "; ".join(found), all(good)


PASSES: dict[str, Callable[[int], bool]] = {
    "K > 4": lambda k: k > 4,
    "K < 4": lambda k: k < 4,
    "K = 4": lambda k: k == 4,
}


def _shares(
    results: Results, names: tuple[str, ...], who: tuple[str, ...], which: str, least: float = 0.5
) -> Verdict:
    """How often some methods chose such a K, and whether all did so in ``least`` of data sets."""
    parts, all_of = [], []
    for name in names:
        shares = {m: results.share(name, m, PASSES[which]) for m in who}
        parts.append(f"{name} " + ", ".join(f"{m} {100 * x:.0f}%" for m, x in shares.items()))
        all_of += [x > least for x in shares.values()]
    return f"{which}: " + "; ".join(parts), all(all_of)


def _too_few(results: Results) -> Verdict:
    told, _ = _shares(results, OVERLAPPING, ("minvi", "medv"), "K < 4")
    return told, _shares(results, ("FTT", "FFT"), ("minvi", "medv"), "K < 4")[1]


def _consistent(results: Results) -> Verdict:
    told, _ = _shares(results, OVERLAPPING, methods.MODELS, "K = 4")
    mean = {
        m: sum(results.share(name, m, PASSES["K = 4"]) for name in OVERLAPPING)
        for m in methods.MODELS
    }
    first = sorted(mean, key=lambda m: -mean[m])[:2]
    return told, set(first) == {"nmf-ls", "nmf-kl"}


def _offset_inconsistent(results: Results) -> Verdict:
    """Inconsistent: over the eight panels it finds four clusters less often than other models."""
    panels = SEPARATE + OVERLAPPING
    told, _ = _shares(results, panels, ("nmf-offset",), "K = 4")
    mean = {
        m: sum(results.share(name, m, PASSES["K = 4"]) for name in panels) / len(panels)
        for m in methods.MODELS
    }
    overall = ", ".join(f"{m} {100 * x:.0f}%" for m, x in mean.items())
    rest = min(x for m, x in mean.items() if m != "nmf-offset")
    return f"{told}; over all panels {overall}", mean["nmf-offset"] < rest


def _smooth(results: Results) -> Verdict:
    one, well = _shares(results, SEPARATE, ("nmf-ns",), "K = 4", 0.9)
    two, many = _shares(results, OVERLAPPING, ("nmf-ns",), "K > 4")
    return f"{one}; {two}", well and many


def _four_more_often(results: Results) -> Verdict:
    """Where both find four in every data set, neither can be ahead: that is counted apart."""
    more = level = 0
    for name in SEPARATE + OVERLAPPING:
        nmf = max(results.share(name, m, PASSES["K = 4"]) for m in methods.MODELS)
        rest = max(results.share(name, m, PASSES["K = 4"]) for m in methods.CONVENTIONAL)
        more += nmf > rest
        level += nmf == rest
    told = f"an NMF model finds four more often than every conventional method in {more} of 8"
    return f"{told}, as often in {level}", more > 0 and more + level == 8


CLAIMS = (
    Claim(
        "NMF is consistently better than the conventional methods when clusters overlap (e to h)",
        _nmf_when_mixed,
    ),
    Claim(
        'even at the exceptions, "e-FTF", NMF-ns and NMF-offset are comparable (to '
        f"{COMPARABLE} in AR)",
        _comparable_at_e,
    ),
    Claim("every method does well at a-TTT", _all_well_at_ttt),
    Claim("NMF-offset is the best under VI at a-TTT and b-TTF", _offset_under_vi),
    Claim("changing sphericity alone (a to b, g to h) leaves the best method the best", _same_best),
    Claim("at c and d NMF-kl is the best NMF and keeps up with MinVI", _kl_when_separate),
    Claim(
        "MinBinder chooses too many clusters at e to h",
        lambda r: _shares(r, OVERLAPPING, ("minbinder",), "K > 4"),
        True,
        False,
    ),
    Claim(
        "MaxPear chooses too many clusters at e to h",
        lambda r: _shares(r, OVERLAPPING, ("maxpear",), "K > 4"),
        True,
        False,
    ),
    Claim("MinVI and Medv choose too few, above all at e and g", _too_few, True, False),
    Claim("NMF-ls and NMF-kl are the more consistent in K", _consistent, True),
    Claim(
        "NMF-ns chooses well when separated and too many clusters when overlapping", _smooth, True
    ),
    Claim("NMF-offset is not consistent in K", _offset_inconsistent, True),
    Claim(
        "whatever the loss, an NMF method finds four clusters more often", _four_more_often, True
    ),
)


def page(runs: dict[str, tuple[Frame, Frame]], chooser: str) -> str:
    """Return the claims with what the paper's table and ours make of each, in Markdown.

    Parameters
    ----------
    runs : dict
        Cells and chosen clusters, by what made the NMF; the first is the run that is reported.
    chooser : str
        The loss that chose the rank in the numbers shown; verdicts are given for each.
    """
    ours, *_ = runs
    read = {(who, loss): _read(*runs[who], loss) for who in runs for loss in methods.CHOOSERS}
    if _lacks(read[ours, chooser]):
        return ""
    read = {key: results for key, results in read.items() if not _lacks(results)}
    printed = paper_table("simulation").pivot_table(
        index=["configuration", "method"], columns="measure", values="mean"
    )
    paper = Results(printed, None)
    lines = ["## What the paper says of it, one by one\n"]
    for claim in CLAIMS:
        lines.append(f"- {claim.text[0].upper()}{claim.text[1:]}.")
        if not claim.needs_clusters:
            lines.append(_told("Its own table", *claim.check(paper)))
        lines.append(_told("Our run", *claim.check(read[ours, chooser])))
        if claim.of_nmf:
            lines.append(_otherwise({key: claim.check(one)[1] for key, one in read.items()}))
    return "\n".join(lines)


def _lacks(results: Results) -> bool:
    return bool(set(SEPARATE + OVERLAPPING) - set(results.means.index.get_level_values(0)))


def _otherwise(verdicts: dict[tuple[str, str], bool]) -> str:
    """Return whether it would have been so with another solver and another loss."""
    if len(set(verdicts.values())) == 1:
        return "  - The same whichever loss chose the rank" + (
            ", by R's updates too." if len({who for who, _ in verdicts}) > 1 else "."
        )
    parts = []
    for who in dict.fromkeys(who for who, _ in verdicts):
        held = [loss for (one, loss), so in verdicts.items() if one == who and so]
        parts.append(f"{who}: " + (f"borne out under {', '.join(held)}" if held else "never"))
    return f"  - It hangs on the loss that chose the rank, or on the solver. {'; '.join(parts)}."


def _told(who: str, numbers: str, holds: bool) -> str:
    return f"  - {who} {'agrees' if holds else 'does not bear that out'}: {numbers}."


def _read(table: Frame, clusters: Frame, chooser: str) -> Results:
    """The means and counts of the paper's methods, NMF with its rank chosen by one loss."""

    def plain(frame: Frame) -> Frame:
        return frame.rename(index=lambda name: name.removesuffix(f"/{chooser}"), level="method")

    return Results(plain(table["mean"].unstack("measure")), plain(clusters))
