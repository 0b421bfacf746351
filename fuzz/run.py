"""Fuzz every reader in turn (``reads``), and say how many inputs were tried and what was found.

``python fuzz/run.py --seconds 3600 --output out/fuzz``; readers share the time equally. Exits with
1 if anything was found: a file that made a reader raise what is no PartitaError, take more than
20 s of the processor, or outgrow 2 GiB where 256 MiB were said to be free.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import seeds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600, help="in all")
    parser.add_argument("--output", type=Path, default=Path("out/fuzz"))
    parser.add_argument("--readers", nargs="+", default=list(seeds.ALL), choices=seeds.ALL)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    share = arguments.seconds / len(arguments.readers)
    total: dict[str, int] = {}
    for reader in arguments.readers:
        counts = one(reader, share, arguments.output)
        print(f"{reader:10}", *(f"{k} {v:,}" for k, v in counts.items()), sep="  ", flush=True)
        for name, count in counts.items():
            total[name] = total.get(name, 0) + count
    total.pop("peak MiB", None)
    print(f"{'in all':10}", *(f"{k} {v:,}" for k, v in total.items()), sep="  ")
    return int(total["findings"] > 0)


def one(reader: str, seconds: float, folder: Path) -> dict[str, int]:
    """Fuzz one reader; if its process dies, which is a finding, start it again for the rest."""
    end, counts = time.monotonic() + seconds, {"inputs": 0, "findings": 0}
    while end - time.monotonic() > 5:
        left = end - time.monotonic()
        state = folder / f"{reader}.json"
        state.unlink(missing_ok=True)
        command = [
            sys.executable,
            str(Path(__file__).with_name("target.py")),
            reader,
            str(left),
            str(folder),
        ]
        with open(folder / f"{reader}.log", "ab") as log:
            code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
        seen = json.loads(state.read_text()) if state.exists() else {}
        peak = max(counts.get("peak MiB", 0), seen.pop("peak MiB", 0))
        counts = {name: counts.get(name, 0) + seen.get(name, 0) for name in {**seen, **counts}}
        counts["peak MiB"] = peak
        counts["findings"] += code != 0
    return counts


if __name__ == "__main__":
    sys.exit(main())
