"""What importing costs, and what compiling costs the second time."""

from __future__ import annotations

import os
import subprocess
import sys

import partita as pt


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | environment,
    ).stdout


def test_import_loads_nothing_heavy():
    code = (
        "import sys, partita\n"
        "partita.losses, partita.search, partita.Draws, partita.estimate, partita.plots\n"
        "print(*({'numba', 'matplotlib', 'pandas', 'dask', 'scipy', 'sklearn', 'tqdm', 'psutil'}"
        " & set(sys.modules)))"
    )
    assert python(code).split() == []


def test_every_public_name_is_there():
    for name in pt.__all__:
        assert getattr(pt, name) is not None
    assert set(pt.__all__) == set(dir(pt))


def test_no_module_has_the_name_of_a_public_function():
    for name in pt.__all__:
        if callable(getattr(pt, name)):
            assert f"partita.{name}" not in sys.modules


def test_a_second_process_hits_the_kernel_cache(tmp_path):
    code = (
        "import partita as pt\n"
        "draws = pt.datasets.simulate_draws(30, 20, rng=0)\n"
        "pt.posterior_similarity(draws); pt.estimate(draws, method='minvi')\n"
        "from partita.kernels import _pairs, contingency, labels, tree\n"
        "from numba.core.dispatcher import Dispatcher\n"
        "hits = misses = 0\n"
        "for module in (_pairs, contingency, labels, tree):\n"
        "    for kernel in vars(module).values():\n"
        "        if isinstance(kernel, Dispatcher):\n"
        "            hits += sum(kernel.stats.cache_hits.values())\n"
        "            misses += sum(kernel.stats.cache_misses.values())\n"
        "print(hits, misses)"
    )
    first = python(code, NUMBA_CACHE_DIR=str(tmp_path)).split()
    second = python(code, NUMBA_CACHE_DIR=str(tmp_path)).split()
    assert int(first[1]) >= 8
    assert int(second[0]) >= 5
    assert int(second[1]) == 0
