"""Our side of the tables of the page for those who come from R: every call there can be made."""

from __future__ import annotations

import re

import numpy as np
import pytest

import partita as pt
from documentation.pages import ROOT, prose

CALL = re.compile(r"`((?:1 - )?pt\.[^`]+\([^`]*\)|search=[^`]+|loss=[^`]+)`")


def calls():
    for line in prose(ROOT / "docs" / "from_r.md"):
        if line.startswith("| `"):
            ours = line.strip("| ").rpartition(" | ")[2]
            yield from (
                found
                for found in CALL.findall(ours)
                if not re.search("sample_mixture|read_draws", found)
            )


@pytest.fixture(scope="module")
def space(draws):
    few = draws.take(slice(0, 60))
    best = pt.estimate(few, loss="vi", search=pt.search.NMF("ls", ranks=(2, 3), n_init=3), rng=0)
    return {
        "pt": pt,
        "draws": few,
        "psm": pt.posterior_similarity(few),
        "labels": best.labels,
        "truth": few.labels[0],
        "start": best.labels,
        "a": few.labels[0],
        "b": few.labels[1],
        "z": few.labels[0],
        "w": np.ones(3),
        "best": best,
        "ball": pt.credible_ball(best.labels, few),
        "X": np.random.default_rng(0).normal(size=(60, 2)),
        "n": 5,
    }


def test_there_are_calls():
    assert len(set(calls())) > 45


@pytest.mark.parametrize("call", sorted(set(calls())))
def test_calls_can_be_made(call, space):
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    if "NMF(" in call:
        call = call.replace("range(2, 13)", "(2, 3)").replace('"kl",', '"ls", n_init=2,')
    if call.startswith(("search=", "loss=")):
        call = f"pt.estimate(draws, {call}, rng=0)"
    if "Draws(labels" in call:
        call = call.replace("labels", "draws.labels[:3]", 1)
    if 'method="stephens"' in call:
        call = call.replace("draws,", "draws.take(draws.n_clusters <= labels.max() + 1),")
    assert eval(call, dict(space)) is not None
    plt.close("all")
