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
