"""Loss and seconds of the default search, with the R peers' beside it where R has them.

    python benchmarks/search.py [--losses vi nid ...] [--quick] [--galaxy draws.npz]

Rivals: salso (16 runs; default cap on K and none), GreedyEPL, mcclust.ext's greedy, each on one
core and on the same draws. A cell is won when our loss is no higher than the least of theirs.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import partita as pt

LOSSES = ("binder", "vi", "nvi", "id", "nid", "omari", "vi-lower-bound", "pear")
SALSO = dict(
    zip(LOSSES, ("binder", "VI", "NVI", "ID", "NID", "omARI", "VI.lb", "omARI.approx"), strict=True)
)

R_SCRIPT = r"""
args <- commandArgs(TRUE); D <- as.matrix(read.csv(args[1], header=FALSE)) + 1L
loss <- args[2]; out <- list(); have <- function(p) requireNamespace(p, quietly=TRUE)
run <- function(name, f) { t <- proc.time()[[3]]; z <- try(f(), silent=TRUE)
  if (!inherits(z, "try-error"))
    cat(name, proc.time()[[3]] - t, paste(as.integer(z), collapse=" "), "\n") }
if (have("salso")) {
  x <- if (loss %in% c("VI.lb", "omARI.approx")) salso::psm(D, nCores=1) else D
  run("salso", function() salso::salso(x, loss=loss, nRuns=16, nCores=1))
  run("salso-uncapped", function() salso::salso(x, loss=loss, nRuns=16, maxNClusters=ncol(D), nCores=1)) }
if (have("GreedyEPL") && loss %in% c("binder", "VI", "NVI", "NID"))
  run("GreedyEPL", function() GreedyEPL::MinimiseEPL(D, list(loss_type=c(binder="B", VI="VI", NVI="NVI", NID="NID")[[loss]]))$decision)
if (have("mcclust.ext") && loss == "VI.lb")
  run("mcclust.ext", function() mcclust.ext::minVI(mcclust::comp.psm(D), D, method="greedy")$cl[1,])
"""


def posterior(n, n_draws, k, separation, seed):
    """Draws of labels of overlapping Gaussian clusters whose centres and number vary by draw."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, separation, (k, 2))
    x = centres[rng.integers(0, k, n)] + rng.normal(size=(n, 2))
    out = np.empty((n_draws, n), dtype=np.int64)
    for draw in out:
        c = centres + rng.normal(0, 0.35, (k, 2))
        kept = rng.random(k) > 0.15
        c = c[kept] if kept.any() else c
        extra = rng.poisson(0.3)
        c = np.vstack([c, c[rng.integers(0, len(c), extra)] + rng.normal(0, 0.8, (extra, 2))])
        score = -0.5 * ((x[:, None] - c) ** 2).sum(-1) + np.log(rng.dirichlet(np.full(len(c), 5.0)))
        draw[:] = (score + rng.gumbel(size=score.shape)).argmax(1)
    return out


def cases(quick):
    sizes = (
        [(100, 500), (400, 500)]
        if quick
        else [(n, m) for n in (100, 400, 1000) for m in (500, 1000, 10_000)]
    )
    for n, m in sizes:
        for k, separation in ((4, 3.0), (4, 8.0), (15, 4.0), (15, 12.0)):
            yield (
                f"n={n} M={m} K={k} sep={separation:g}",
                posterior(n, m, k, separation, 1000 + n + m + k),
            )


def rivals(labels, loss):
    """Name to (labels, seconds) of every R peer that is installed."""
    if shutil.which("Rscript") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path, script = Path(folder, "draws.csv"), Path(folder, "run.R")
        np.savetxt(path, labels, fmt="%d", delimiter=",")
        script.write_text(R_SCRIPT)
        call = ["Rscript", str(script), str(path), SALSO[loss]]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    found = {}
    for line in done.stdout.splitlines():
        name, seconds, *values = line.split()
        found[name] = (np.array(values, dtype=int), float(seconds))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--losses", nargs="+", default=LOSSES, choices=LOSSES)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--galaxy", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    posteriors = list(cases(options.quick))
    if options.galaxy:
        posteriors.insert(0, ("galaxy", np.load(options.galaxy)["labels"]))
    for loss in options.losses:
        pt.estimate(posteriors[0][1][:50], loss=loss, rng=0)  # compile, or load what is compiled
        for name, labels in posteriors:
            values, seconds = [], []
            for seed in range(options.seeds):
                start = time.perf_counter()
                values.append(pt.estimate(labels, loss=loss, rng=seed).expected_loss)
                seconds.append(time.perf_counter() - start)
            text = f"{loss:15s} {name:28s} partita {max(values):.6f} {min(seconds):7.3f}s"
            row = {"loss": loss, "case": name, "partita": values, "seconds": seconds}
            for rival, (theirs, taken) in rivals(labels, loss).items():
                value = float(pt.expected_loss(theirs, labels, loss=loss))
                row[rival] = [value, taken]
                text += f" | {rival} {value:.6f} {taken:.2f}s ({taken / min(seconds):.1f}x)"
                text += " LOST" if max(values) > value + 1e-9 else ""
            rows.append(row)
            print(text, flush=True)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
