"""The paper's numbers, which anyone can check by eye, and what is computed from them."""

import numpy as np
import pandas as pd
import pytest

from studies import paper
from studies.ledger import Ledger
from studies.methods import CONVENTIONAL, MEASURES, MODELS
from studies.pages.galaxy import labels
from studies.pages.mixing import share


def test_every_cell_of_the_paper_is_there_once():
    table = paper.table("simulation")
    assert len(table) == 192
    keyed = table.set_index(["configuration", "method", "measure"])
    assert keyed.index.is_unique
    # Read off the paper: the first cell, the last, and one that it underlines.
    assert keyed.loc[("TTT", "nmf-ls", "Rand")].tolist() == [0.967, 0.006]
    assert keyed.loc[("FFF", "medv", "VI")].tolist() == [1.025, 0.018]
    assert keyed.loc[("FTT", "minbinder", "AR")].tolist() == [0.486, 0.007]


def test_the_papers_partitions_of_the_galaxies_have_its_k():
    table = paper.table("galaxy")
    found = [labels(text, 82).max() + 1 for text in table.partition_items]
    assert found == table.K.tolist()


def ledger(rows):
    return Ledger("nowhere", "asked", rows=rows)


def test_differences_are_in_combined_standard_errors():
    values = np.random.default_rng(0).random(9)
    rows = {("TTT", i): {"minvi:VI": x, "oracle:VI": 0.0} for i, x in enumerate(values)}
    cell = paper.cells(paper.scores(ledger(rows))).loc[("TTT", "minvi", "VI")]
    se = values.std(ddof=1) / 3
    # VI is a distance: below the paper's 0.168 would be better, above is worse.
    wanted = -(values.mean() - 0.168) / np.sqrt(se**2 + 0.023**2 + 0.0005**2 / 3)
    assert (cell["mean"], cell.se) == pytest.approx((values.mean(), se))
    assert cell.z == pytest.approx(wanted)


def test_cells_that_move_together_are_worth_one():
    rng = np.random.default_rng(0)
    names = [f"{m}:{x}" for m in (*MODELS, *CONVENTIONAL) for x in MEASURES]
    one = {("TTT", i): dict.fromkeys(names, x) for i, x in enumerate(rng.random(50))}
    apart = {("TTT", i): dict(zip(names, rng.random(24), strict=True)) for i in range(5000)}
    assert paper.participation(paper.scores(ledger(one)), "TTT") == pytest.approx(1.0)
    assert paper.participation(paper.scores(ledger(apart)), "TTT") == pytest.approx(24, rel=0.02)


def test_what_the_papers_own_table_says():
    own = paper.claims_of_paper()
    assert own["wins"] == 3  # of 12
    assert own["places"] == "8 and 8"  # of NMF-offset by VI: 0.288 and 0.329
    assert own["same"] == 6
    assert own["least"] == 0.894
    assert own["behind"] == pytest.approx(0.486 - 0.470)
    assert own["kl"] == pytest.approx(0.968 - 0.967)


def test_the_number_of_clusters_is_counted_by_panel():
    names = [*MODELS, *CONVENTIONAL]
    rows = {}
    for name in paper.NAMES:
        for i in range(4):
            row = dict.fromkeys((f"{m}:K" for m in names), 4.0)
            row["medv:K"] = 3.0 if i else 4.0
            row["nmf-ns:K"] = 9.0 if name == "FFF" else 4.0
            rows[name, i] = row
    told = paper.clusters_chosen(paper.scores(ledger(rows)))
    assert told["few"]["medv"] == "75%, 75%, 75%, 75%"
    assert told["many"]["nmf-ns"] == "0%, 0%, 0%, 100%"
    assert told["four apart"]["medv"] == "25%, 25%, 25%, 25%"
    assert told["ahead"] == {"more": "0", "level": "8"}


def test_the_share_of_chains_that_missed_predicts_the_other_scores():
    """With a quarter missed, the paper's own Rand index, VI and errors must come out."""
    rand, ar, vi = 0.96625, 0.9235, 0.17075  # the conventional methods at a-TTT
    missed = {"Rand": 0.8, "AR": 0.7, "VI": 0.6}
    full = {m: (x - 0.25 * missed[m]) / 0.75 for m, x in (("Rand", rand), ("AR", ar), ("VI", vi))}
    chains = pd.DataFrame(2 * [{"missed": True, **missed}] + 6 * [{"missed": False, **full}])
    row = share(chains, "TTT")
    assert row["share"] == pytest.approx(0.25)
    assert row["Rand"] == "0.966 for 0.966"
    assert row["VI"] == "0.171 for 0.171"
    # Nothing varies within either kind, so all spread is that of a coin with these two sides.
    error = abs(full["AR"] - 0.7) * np.sqrt(0.25 * 0.75 / 100)
    assert row["error of AR"] == f"{error:.4f} for 0.0130"
    assert share(chains[chains.missed], "TTT") == {}
