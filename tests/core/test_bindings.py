"""Bad arguments for every function of the core: an error or an answer, never a crash."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parents[2] / "fuzz" / "bindings.py"


def test_no_argument_crashes_the_core(tmp_path):
    log = tmp_path / "calls"
    found = subprocess.run(
        [sys.executable, str(FUZZ), "--rounds", "60", "--log", str(log)], capture_output=True,
        text=True, check=False, env=os.environ,
    )  # fmt: skip
    last = log.read_text().splitlines()[-1] if log.exists() else "nothing was called"
    assert found.returncode == 0, f"{last}\n{found.stderr[:4000]}"
    said = found.stdout.replace(",", "")
    calls, functions = map(int, re.findall(r"(\d+) (?:calls|functions)", said))
    assert calls == 60 * functions
    answered = [line for line in said.splitlines() if re.search(r"answers +[1-9]", line)]
    assert len(answered) > functions / 2  # it reaches what is behind the checks
