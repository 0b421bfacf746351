"""What holds for every test, the examples in docstrings and pages included."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _figures_are_closed():
    """Close what a test drew: matplotlib warns when many figures are open."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
