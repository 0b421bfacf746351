"""The paper's sentences against the paper's own table, which anyone can check by eye."""

import pandas as pd
import pytest

from partita.studies import claims, paper_table


@pytest.fixture(scope="module")
def printed():
    means = paper_table("simulation").pivot_table(
        index=["configuration", "method"], columns="measure", values="mean"
    )
    return claims.Results(means, None)


def verdict(start, results):
    claim = next(claim for claim in claims.CLAIMS if claim.text.startswith(start))
    return claim.check(results)


def test_what_the_papers_own_table_says(printed):
    assert verdict("NMF is consistently", printed) == (
        "the best NMF beats the best conventional method in 3 of 12 cells",
        False,
    )
    told, holds = verdict("NMF-offset is the best", printed)
    assert "TTT place 8 of 8 (0.288)" in told
    assert not holds
    assert verdict("every method does well", printed)[1]
    assert verdict("changing sphericity", printed)[1]
    told, holds = verdict("even at the exceptions", printed)
    assert "FTT nmf-ns 0.470, nmf-offset 0.470, best conventional 0.486" in told
    assert "FTF nmf-ns 0.646, nmf-offset 0.662, best conventional 0.649" in told
    assert holds


def test_what_is_said_of_the_clusters_chosen(printed):
    names = [*claims.methods.MODELS, *claims.methods.CONVENTIONAL]
    panels = claims.SEPARATE + claims.OVERLAPPING
    index = pd.MultiIndex.from_product([panels, names], names=["configuration", "method"])
    counts = pd.DataFrame({3: 1, 4: 1, 5: 8}, index=index)
    results = claims.Results(printed.means, counts)
    told, holds = verdict("MinBinder chooses", results)
    assert told.startswith("K > 4: FTT minbinder 80%; FTF minbinder 80%")
    assert holds
    assert verdict("MaxPear chooses", results)[1]
    assert not verdict("MinVI and Medv", results)[1]
    assert not verdict("NMF-offset is not", results)[1]
    counts.loc[(slice(None), ["nmf-ls", "nmf-kl"]), 4] = 30
    assert verdict("NMF-ls and NMF-kl", results)[1]
    counts.loc[(slice(None), "nmf-ns"), 4] = 20
    told, holds = verdict("NMF-offset is not", results)
    assert told.endswith("over all panels nmf-ls 77%, nmf-kl 77%, nmf-ns 69%, nmf-offset 10%")
    assert holds
    assert verdict("whatever the loss", results)[1]
    assert not verdict("NMF-ns chooses", results)[1]


def test_verdicts_under_every_loss_and_solver(printed):
    """Cells as the paper prints them under each loss, four clusters as often everywhere."""
    names = [f"{m}/{c}" for m in claims.methods.MODELS for c in claims.methods.CHOOSERS]
    names += claims.methods.CONVENTIONAL
    panels = claims.SEPARATE + claims.OVERLAPPING
    index = pd.MultiIndex.from_product([panels, names], names=["configuration", "method"])
    cells = pd.concat({n: printed.means.xs(n.split("/")[0], level="method") for n in names})
    cells = cells.swaplevel().rename_axis(index=["configuration", "method"]).stack()
    table = cells.rename("mean").to_frame()
    counts = pd.DataFrame({3: 0, 4: 8, 5: 2}, index=index)
    told = claims.page({"Our solver": (table, counts)}, "pear")
    assert told.count("The same whichever loss chose the rank.") == 10
    assert "more often than every conventional method in 0 of 8, as often in 8" in told
    fewer = counts.copy()
    fewer.loc[(slice(None), ["nmf-offset/vi"]), [4, 5]] = 2, 8
    told = claims.page({"Our solver": (table, counts), "R's updates": (table, fewer)}, "pear")
    assert "Our solver: never; R's updates: borne out under vi." in told
