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
        "print(*({'matplotlib', 'pandas', 'dask', 'scipy', 'sklearn', 'tqdm', 'psutil'}"
        " & set(sys.modules)))"
    )
    assert python(code).split() == []


def test_an_estimate_loads_only_what_it_needs(tmp_path):
    pt.datasets.simulate_draws(40, 60, rng=0).save(tmp_path / "draws.npz")
    code = (
        "import sys\n"
        "from partita.cli import main\n"
        "for form in ('table', 'csv', 'json'):\n"
        f"    assert main(['estimate', {str(tmp_path / 'draws.npz')!r}, '--format', form]) == 0\n"
        "heavy = 'pandas scipy tqdm joblib psutil threadpoolctl array_api_compat multiprocessing'\n"
        "heavy += ' dask matplotlib sklearn xarray pyarrow zarr h5py rdata'\n"
        "assert not set(heavy.split()) & set(sys.modules), set(heavy.split()) & set(sys.modules)"
    )
    python(code)


def test_every_public_name_is_there():
    for name in pt.__all__:
        assert getattr(pt, name) is not None
    assert set(pt.__all__) == set(dir(pt))


def test_no_module_has_the_name_of_a_public_function():
    for name in pt.__all__:
        if callable(getattr(pt, name)):
            assert f"partita.{name}" not in sys.modules
