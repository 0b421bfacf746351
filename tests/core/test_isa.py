"""Which instruction set is used, and that it can be chosen."""

import os
import subprocess
import sys

import pytest


def run(isa):
    code = "from partita import _core; print(_core.isa)"
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PARTITA_ISA": isa}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def test_baseline_is_to_be_had_everywhere():
    assert run("baseline").stdout == "baseline\n"


@pytest.mark.parametrize("name", ["sse9", "AVX2"])
def test_another_name_is_refused(name):
    found = run(name)
    assert found.returncode != 0
    assert "PARTITA_ISA must be baseline, avx2 or avx512" in found.stderr
