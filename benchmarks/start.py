"""CPU seconds and memory of whole processes: start, reading, search, output.

    python benchmarks/start.py FILE... [--beside PYTHON] [--salso SCRIPT.R] [--repeats 9]

For each file of draws `partita estimate FILE` is run in fresh processes, and beside it, in turn, the
partita of another interpreter (--beside) and `Rscript SCRIPT FILE` (--salso, for CSV files). Then
come `import partita` and a first estimate of 500 draws of 100 items in Python. Medians, with the
least and the most; memory is the highest resident size of the last process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

FIRST = """
import numpy as np
import partita as pt
labels = np.random.default_rng(0).integers(0, 4, size=(500, 100))
pt.estimate(labels, rng=0)
"""


def cost(command: list[str]) -> tuple[float, float]:
    """CPU seconds and MB of one process with all that it starts."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"failed: {' '.join(command)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def measure(commands: dict[str, list[str]], repeats: int) -> None:
    """Run the commands in turn and print a line for each."""
    for command in commands.values():
        cost(command)  # the first process of all fills caches
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            found[name].append(cost(command))
    for name, costs in found.items():
        seconds = [second for second, _ in costs]
        print(
            f"{name:40} {median(seconds):6.3f} s [{min(seconds):.3f}, {max(seconds):.3f}]"
            f" {median(size for _, size in costs):6.0f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--beside", help="another Python that has a partita")
    parser.add_argument("--salso", help="an R script that estimates from a CSV file")
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    pythons = {"partita": sys.executable}
    if given.beside:
        pythons["beside"] = given.beside
    for path in given.files:
        print(path.name)
        commands = {
            f"  {name}": [python, "-m", "partita", "estimate", str(path)]
            for name, python in pythons.items()
        }
        if given.salso and path.suffix == ".csv":
            commands["  salso"] = ["Rscript", given.salso, str(path)]
        measure(commands, given.repeats)
    print("in Python")
    measure(
        {f"  {n}: import": [p, "-c", "import partita"] for n, p in pythons.items()}, given.repeats
    )
    measure({f"  {n}: first": [p, "-c", FIRST] for n, p in pythons.items()}, given.repeats)


if __name__ == "__main__":
    main()
