"""The sections on how sure: what can be stated as it is, modes, and what hangs on the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.draws import Draws
from partita.plots import average_similarity
from partita.reporting._content import bytes_of, pack
from partita.reporting._tables import table
from partita.uncertainty import Chips, Modes, Sensitivity, chips, sensitivity, summarize_modes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PROB = 0.9
_MODES = 4  # modes with a matrix of their own
_CELLS = 150  # a side of it
_POINTS = 400  # of the path of CHIPS


@dataclass(frozen=True, eq=False)
class Sure:
    """What three verbs found."""

    chips: Chips
    modes: Modes
    sensitivity: Sensitivity

    @classmethod
    def of(cls, draws: Draws, seed: int, n_jobs: int) -> Sure:
        """Ask all three."""
        return cls(
            chips(draws, prob=_PROB, rng=seed),
            summarize_modes(draws, rng=seed, n_jobs=n_jobs),
            sensitivity(draws, rng=seed, n_jobs=n_jobs),
        )

    def content(self, order: NDArray[np.int64]) -> dict[str, Any]:
        """The numbers that the page draws."""
        path = self.chips.path
        shown = np.unique(np.linspace(0, path.size - 1, min(path.size, _POINTS)).astype(np.int64))
        matrices = []
        for mode in range(min(self.modes.n_modes, _MODES)):
            own = (self.modes.nearest == mode) & (self.modes.draws.probabilities > 0)
            mean = average_similarity(self.modes.draws.take(own), order, max_cells=_CELLS)
            matrices.append(
                {"cells": int(mean.edges.size - 1), "values": pack(bytes_of(mean.values))}
            )
        frame = self.sensitivity.frame.dropna(subset=["low"])
        lines = []
        for name in dict.fromkeys(frame["loss"]):
            rows = frame[frame["loss"] == name]
            lines.append(
                {
                    "loss": name,
                    "a": [*rows["low"], rows["high"].iloc[-1]],
                    "value": [*rows["loss_at_low"], rows["loss_at_high"].iloc[-1]],
                    "k": rows["n_clusters"].tolist(),
                }
            )
        return {
            "chips": {
                "kept": (shown + 1).tolist(),
                "probability": path[shown].round(5).tolist(),
                "chosen": [self.chips.n_kept, round(self.chips.probability, 5)],
            },
            "modes": {"weights": self.modes.weights.round(5).tolist(), "matrices": matrices},
            "weights": lines,
        }

    def html(self) -> str:
        """The three sections."""
        return "\n".join([self._stated(), self._modes(), self._weights()])

    def _stated(self) -> str:
        found = self.chips
        n = found.labels.size
        words = (
            f"Of {found.n_kept:,} of the {n:,} items it can be said exactly who is with whom, with "
            f"probability {found.probability:.2f} (CHIPS, at least {_PROB:g}). The area under the "
            f"path is {found.area:.2f}: 1 would mean that all draws are one partition."
        )
        figure = _figure("chart-chips", "The probability of the best sub-partition of each size; "
                         "the point is the one described here.")  # fmt: skip
        clusters = table(found.clusters(), "Clusters of what can be stated", "cluster")
        return _section("stated", "What can be stated as it is", words, figure + clusters)

    def _modes(self) -> str:
        found = self.modes
        if found.n_modes == 1:
            words = "One partition represents the draws: further ones bring them little nearer."
        else:
            words = (
                f"The draws gather around {found.n_modes} partitions; one alone does not represent "
                "them. The weight of a mode is the share of the draws that are nearest to it."
            )
        matrices = "".join(
            f'<div><div id="chart-mode-{m}" class="chart small" role="img"></div></div>'
            for m in range(min(found.n_modes, _MODES))
        )
        figure = (
            f'<figure><div class="pair">{matrices}</div><figcaption>The similarity of the draws '
            "nearest to each mode, items in the order of the matrix above.</figcaption></figure>"
        )
        between = "" if found.n_modes == 1 else table(
            found.between(), "Variation of information between modes, in bits", "mode"
        )  # fmt: skip
        tables = table(found.to_frame(), "Modes: weight, draws, clusters, expected VI", "mode")
        return _section("modes", "Is one partition enough", words, figure + tables + between)

    def _weights(self) -> str:
        found = self.sensitivity
        k = found.frame["n_clusters"]
        words = (
            f"With the weight of splitting against joining between 0.5 and 1.5, the partition of "
            f"least expected loss has from {k.min()} to {k.max()} clusters. One that holds over a "
            "long stretch is one that little hangs on. The reference is the best at weight 1."
        )
        names = dict.fromkeys(found.frame.dropna(subset=["low"])["loss"])
        charts = "".join(
            _figure(f"chart-weights-{x}", f"The least expected {name} against the weight a; edges "
                    "are where one partition gives way to the next, numbers are K.")
            for x, name in enumerate(names)
        )  # fmt: skip
        rows = table(found.frame.set_index("loss"), "Partitions along the weight", "loss")
        return _section(
            "hangs", "What hangs on the loss", words, f'<div class="pair">{charts}</div>' + rows
        )


LINKS = (
    '<a href="#stated">What can be stated</a>\n<a href="#modes">Modes</a>\n'
    '<a href="#hangs">Weight of the loss</a>'
)


def _figure(name: str, caption: str) -> str:
    return (
        f'<figure><div id="{name}" class="chart" role="img"></div>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _section(name: str, title: str, words: str, rest: str) -> str:
    return (
        f'<section id="{name}" aria-labelledby="h-{name}">\n<h2 id="h-{name}">{title}</h2>\n'
        f"<p>{words}</p>\n{rest}\n</section>"
    )
