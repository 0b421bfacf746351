"""Checks that every room shares: free memory and weights."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import partita as pt
from partita import validate
from partita.errors import InvalidTypeError, InvalidValueError


def group(folder, limit, used, names):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip(names, (limit, used), strict=True):
        (folder / name).write_text(f"{value}\n")


V1, V2 = ("memory.limit_in_bytes", "memory.usage_in_bytes"), ("memory.max", "memory.current")


@pytest.mark.parametrize(
    ("line", "top", "names"),
    [
        ("0::/outer/inner", "sys/fs/cgroup", V2),
        ("4:memory:/outer/inner", "sys/fs/cgroup/memory", V1),
    ],
)
@pytest.mark.parametrize(("outer", "inner"), [(5_000, 9_000), (9_000, 5_000), (5_000, "max")])
def test_free_memory_heeds_every_group_around_the_process(tmp_path, line, top, names, outer, inner):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"1:cpu:/other\n{line}\n")
    group(tmp_path / top / "outer", outer, 1_000, names)
    group(tmp_path / top / "outer" / "inner", inner, 1_000, names)
    assert validate.free_memory(str(tmp_path)) == 4_000


def test_free_memory_without_groups(tmp_path):
    assert validate.free_memory(str(tmp_path)) > 1_000_000


@pytest.mark.skipif(os.name != "posix", reason="needs a limit of the address space")
def test_free_memory_heeds_the_limit_of_the_process():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        "from partita import validate; print(validate.free_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 <= int(done.stdout) < 8 << 30


@pytest.mark.parametrize("weights", [[1j, 1], ["1", "2"], [None, 1.0]])
def test_weights_are_real_numbers(weights):
    with pytest.raises(InvalidTypeError, match="`weights` must be real numbers; got"):
        pt.Draws([[0, 0], [0, 1]], weights=weights)


@pytest.mark.parametrize("weights", [[1e308, 1e308], [0, 0], [np.nan, 1], [-1, 2]])
def test_weights_have_a_sum(weights):
    with pytest.raises(InvalidValueError, match="`weights` must"):
        pt.Draws([[0, 0], [0, 1]], weights=weights)
