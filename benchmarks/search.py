"""Loss and seconds of the default search, with the R peers' beside it where R has them.

    python benchmarks/search.py [--losses vi nid ...] [--simulators gaussian ...] [--quick]
        [--galaxy draws.npz] [--results rows.jsonl]

Rivals: salso (16 runs; default cap on K and none), GreedyEPL, mcclust.ext's greedy, each on one
core and on the same draws. A cell is won when our loss is no higher than the least of theirs.
With --results every row is kept in a file, and a later run goes on where that one ended.
Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

import partita as pt
from posteriors import SIMULATORS

LOSSES = ("binder", "vi", "nvi", "id", "nid", "omari", "vi-lower-bound", "pear")
SALSO = dict(
    zip(LOSSES, ("binder", "VI", "NVI", "ID", "NID", "omARI", "VI.lb", "omARI.approx"), strict=True)
)

R_SCRIPT = r"""
args <- commandArgs(TRUE); D <- as.matrix(read.csv(args[1], header=FALSE)) + 1L
loss <- args[2]; out <- list(); have <- function(p) requireNamespace(p, quietly=TRUE)
run <- function(name, f) { t <- proc.time()[[1]]; z <- try(f(), silent=TRUE)
  if (!inherits(z, "try-error"))
    cat(name, proc.time()[[1]] - t, paste(as.integer(z), collapse=" "), "\n") }
if (have("salso")) {
  x <- if (loss %in% c("VI.lb", "omARI.approx")) salso::psm(D, nCores=1) else D
  run("salso", function() salso::salso(x, loss=loss, nRuns=16, nCores=1))
  run("salso-uncapped", function()
    salso::salso(x, loss=loss, nRuns=16, maxNClusters=ncol(D), nCores=1)) }
epl <- c(binder="B", VI="VI", NVI="NVI", NID="NID")
if (have("GreedyEPL") && loss %in% names(epl))
  run("GreedyEPL", function()
    GreedyEPL::MinimiseEPL(D, list(loss_type=epl[[loss]]))$decision)
if (have("mcclust.ext") && loss == "VI.lb")
  run("mcclust.ext", function() mcclust.ext::minVI(mcclust::comp.psm(D), D, method="greedy")$cl[1,])
"""


def cases(options):
    """Names and draws of the posteriors asked for: none of them was used to tune the search."""
    sizes = [(n, m) for m in (500, 1000, 10_000) for n in (100, 400, 1000)]
    for n, m in sizes[:2] if options.quick else sizes:
        for name in options.simulators:
            for k in (4, 15):
                for strength in ("weak", "strong"):
                    yield (
                        f"{name} n={n} M={m} K={k} {strength}",
                        partial(SIMULATORS[name], n, m, k, strength == "strong", 7000 + n + m + k),
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


def row(loss, name, labels, seeds):
    """Loss and seconds of ours, one a seed, and of every rival that is installed."""
    pt.estimate(labels[:50], loss=loss, rng=0)  # compile, or load what is compiled
    values, seconds = [], []
    for seed in range(seeds):
        start = time.process_time()
        values.append(pt.estimate(labels, loss=loss, rng=seed).expected_loss)
        seconds.append(time.process_time() - start)
    theirs = {
        rival: [float(pt.expected_loss(found, labels, loss=loss)), taken]
        for rival, (found, taken) in rivals(labels, loss).items()
    }
    return {"loss": loss, "case": name, "partita": values, "seconds": seconds, "rivals": theirs}


def show(row):
    """One line for a row."""
    worst, quickest = max(row["partita"]), min(row["seconds"])
    text = f"{row['loss']:15s} {row['case']:36s} partita {worst:.6f} {quickest:7.3f}s"
    for rival, (value, taken) in row["rivals"].items():
        text += f" | {rival} {value:.6f} {taken:.2f}s ({taken / quickest:.1f}x)"
        text += " LOST" if worst > value + 1e-9 else ""
    print(text, flush=True)


def summary(rows):
    """Of the cells with a rival, how many were lost, and by how much at most."""
    margins = []
    for one in rows:
        best = min((value for value, _ in one["rivals"].values()), default=None)
        margins += [value / best - 1 for value in one["partita"] if best]
    lost = [margin for margin in margins if margin > 1e-9]
    print(f"{len(lost)} of {len(margins)} cells lost, by {100 * max(lost, default=0):.3f}% at most")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--losses", nargs="+", default=LOSSES, choices=LOSSES)
    parser.add_argument("--simulators", nargs="+", default=list(SIMULATORS), choices=SIMULATORS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--galaxy", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    kept = options.results
    rows = [json.loads(line) for line in kept.open()] if kept and kept.exists() else []
    done = {(one["case"], one["loss"]) for one in rows}
    posteriors = list(cases(options))
    if options.galaxy:
        posteriors.insert(0, ("galaxy", lambda: np.load(options.galaxy)["labels"]))
    for name, make in posteriors:
        wanted = [loss for loss in options.losses if (name, loss) not in done]
        labels = make() if wanted else None
        for loss in wanted:
            rows.append(row(loss, name, labels, options.seeds))
            show(rows[-1])
            if kept:
                with kept.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    summary(rows)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
