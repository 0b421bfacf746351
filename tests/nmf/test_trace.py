"""``solver="mu"`` against the iterates of the R package NMF."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from partita.nmf import NAMES, Factors, updates
from partita.partitions import canonical


@pytest.fixture(scope="module")
def begin(reference_folder):
    with np.load(reference_folder / "nmf_starts.npz") as file:
        return Factors(file["W"], file["H"], file["offset"])


def entries(reference_folder, stop):
    found = json.loads((reference_folder / "nmf_trace.json").read_text())
    return [e for e in found if isinstance(e["iterations"], str) == stop]


def started(begin, model):
    return begin if model == "offset" else begin._replace(offset=None)


def test_iterates(reference_folder, begin, psm):
    found = entries(reference_folder, stop=False)
    assert len(found) == 12
    for e in found:
        after = updates.iterate(NAMES[e["model"]], psm, started(begin, e["model"]), e["iterations"])
        assert_allclose(after.W, e["W"], rtol=1e-10)
        assert_allclose(after.H, e["H"], rtol=1e-10)
        if "offset" in e:
            assert_allclose(after.offset, e["offset"], rtol=1e-10)


def test_the_stop(reference_folder, begin, psm):
    found = entries(reference_folder, stop=True)
    assert len(found) == 4
    for e in found:
        model = NAMES[e["model"]]
        (after,), n_iter, converged = updates.solve(model, psm, [started(begin, e["model"])])
        assert n_iter[0] == e["niter"]
        assert converged[0]
        assert_allclose(after.H, e["H"], rtol=1e-8)
        assert np.array_equal(canonical(after.H.argmax(axis=0)), canonical(np.array(e["labels"])))


def test_the_deviance(reference_folder, begin, psm):
    """R's own objective of those iterates."""
    for e in entries(reference_folder, stop=False):
        offset = np.array(e["offset"]) if "offset" in e else None
        factors = Factors(np.array(e["W"]), np.array(e["H"]), offset)
        value = NAMES[e["model"]].objective(psm, factors)
        assert_allclose(float(value), e["deviance"], rtol=1e-9)
