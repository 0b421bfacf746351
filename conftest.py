"""What holds for every test, the examples in docstrings and pages included."""

import sys
from importlib.util import find_spec

import pytest

# The kernel for a GPU imports Triton, which is only where PyTorch for CUDA is.
collect_ignore = [] if find_spec("triton") else ["src/partita/nmf/gpu.py"]


@pytest.fixture(autouse=True)
def _figures_are_closed():
    """Close what a test drew: matplotlib warns when many figures are open."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
