"""The simulation with NMF on a device."""

from __future__ import annotations

from dataclasses import replace

import pytest

from partita.studies import Simulation

SMALL = Simulation(
    replicates=2, names=("TTT",), n_draws=60, n_burn=40, ranks=(2, 4), n_init=1, solver="mu"
)


@pytest.mark.slow
def test_a_device_gives_the_rows_of_the_host(tmp_path):
    """R's updates on 400 items, both ranks in one stack, in float64."""
    pytest.importorskip("torch")
    SMALL.run(tmp_path / "host")
    replace(SMALL, device="torch:cpu").run(tmp_path / "device")
    host, device = ((tmp_path / name / "replicates.csv").read_text() for name in ("host", "device"))
    assert host == device
