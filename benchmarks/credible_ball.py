"""A 95% credible ball in the variation of information, beside mcclust.ext where it is installed.

    python benchmarks/credible_ball.py [--jobs 2] [--full]

Limit: 10,000 draws of 1,000 items in under a second after compilation. The rival runs if Rscript
finds the package mcclust.ext (R_LIBS is respected), on the same draws, and must find the same
radius; of 1,000 items only with --full, since it takes minutes. It keeps the first ⌈pM⌉ draws by
distance, which is the same ball unless draws are tied.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import partita as pt

R_SCRIPT = """
arguments <- commandArgs(trailingOnly = TRUE)
draws <- as.matrix(read.csv(arguments[1], header = FALSE))
center <- scan(arguments[2], quiet = TRUE)
suppressMessages(library(mcclust.ext))
seconds <- system.time(ball <- credibleball(center, draws, c.dist = "VI", alpha = 0.05))["elapsed"]
cat(seconds, format(ball$dist.horiz, digits = 15), "\\n")
"""


def ours(center, draws, n_jobs):
    """Median of five, after one call that is not counted."""
    pt.credible_ball(center, draws, n_jobs=n_jobs)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        ball = pt.credible_ball(center, draws, n_jobs=n_jobs)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), ball.radius


def theirs(center, draws):
    """Seconds and radius of the R package, or None where it is not."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        labels, middle = Path(folder) / "draws.csv", Path(folder) / "center.txt"
        np.savetxt(labels, draws.labels + 1, fmt="%d", delimiter=",")
        np.savetxt(middle, center + 1, fmt="%d")
        words = ["Rscript", "-e", R_SCRIPT, str(labels), str(middle)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    seconds, radius = map(float, done.stdout.split())
    return seconds, radius


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="the rival on 1,000 items too")
    arguments = parser.parse_args()
    for n_items in (82, 1_000):
        draws = pt.datasets.simulate_draws(n_items, 10_000, n_clusters=8, noise=0.2, rng=0)
        center = pt.estimate(draws, method="minvi").labels
        seconds, radius = ours(center, draws, arguments.jobs)
        line = f"{n_items:>5} items, 10,000 draws: {seconds:7.4f} s"
        if n_items == 1_000:
            line += f" (limit 1 s: {'kept' if seconds < 1 else 'MISSED'})"
        if n_items > 100 and not arguments.full:
            print(line, flush=True)
            continue
        rival = theirs(center, draws)
        if rival is None:
            line += "; mcclust.ext is not installed"
        else:
            line += f"; mcclust.ext {rival[0]:.2f} s, {rival[0] / seconds:.0f} times as long"
            line += f"; radii differ by {abs(radius - rival[1]):.1e}"
        print(line, flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    main()
