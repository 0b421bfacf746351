"""Fixtures: the committed reference posterior, and the galaxy draws where they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import partita as pt
from partita import validate

HERE = Path(__file__).parent

settings.register_profile(
    "partita",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("partita")
validate.FEW_BYTES = 0  # tests that let memory be scarce are about a few bytes


@pytest.fixture(scope="session")
def reference_arrays():
    with np.load(HERE / "reference" / "draws_60x400.npz") as file:
        return {name: file[name] for name in file.files}


@pytest.fixture(scope="session")
def draws(reference_arrays):
    """400 draws of 60 items."""
    return pt.Draws(reference_arrays["labels"])


@pytest.fixture(scope="session")
def truth(reference_arrays):
    return reference_arrays["truth"]


@pytest.fixture(scope="session")
def reference():
    """What the R peers answer on ``draws``."""
    return json.loads((HERE / "reference" / "partition_reference.json").read_text())


@pytest.fixture(scope="session")
def galaxy_draws():
    """The 10,000 draws behind the paper's galaxy figure; not ours to ship."""
    path = HERE.parent.parent / "shared" / "data" / "galaxy_draws.npz"
    if not path.exists():
        pytest.skip("galaxy_draws.npz is not here")
    return pt.read_draws(path)


@pytest.fixture(scope="session")
def reference_folder():
    return HERE / "reference"


@pytest.fixture(scope="session")
def psm(draws):
    """The similarity matrix of ``draws``."""
    return pt.posterior_similarity(draws).to_dense().copy()
