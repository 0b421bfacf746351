"""Loss and seconds of the default search, with the R peers' beside it where R has them.

    python benchmarks/search.py [--losses vi nid ...] [--simulators gaussian ...] [--quick]
        [--items 100 400] [--draws 500] [--galaxy draws.npz] [--results rows.jsonl]
        [--rival PROGRAM] [--peers answers.jsonl [--peers-only]] [--rivals salso GreedyEPL ...]
        [--clusters 4 15] [--strengths weak strong] [--base 7000] [--certify] [--named]
        [--time-limit 0.3]

Rivals, each on one core and from the same draws, as a user calls it: salso (16 runs; default cap on
K and none), GreedyEPL and mcclust.ext's greedy where R has them; Leiden on Binder's loss where
leidenalg is installed; and any PROGRAM that, given a CSV of draws and salso's name of a loss,
prints a line "name seconds labels..." for each of its answers. A cell is won when our loss is no
higher than the least of theirs. Where ours is lower, the share of our time is given at which we had
come below it. At the end comes, for each peer, the median ratio of its seconds to the median of
ours, with the range, by loss and by items x draws.
With --results every row is kept in a file, and a later run goes on where that one ended; with
--peers the peers' answers and seconds are, so that they need not run again beside another of ours
on the same machine. Seconds are of the processor; what a peer has not answered in --patience
seconds is left out. With --named the posteriors are 500 and 2,000 separated items and 400 in eight
clusters that overlap. With --time-limit every search has so many seconds, seconds are by the clock,
and those that took a tenth more are counted.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import resource
import shutil
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

import partita as pt
from posteriors import SIMULATORS, gaussian

LOSSES = ("binder", "vi", "nvi", "id", "nid", "omari", "vi-lower-bound", "pear")
SALSO = dict(
    zip(LOSSES, ("binder", "VI", "NVI", "ID", "NID", "omARI", "VI.lb", "omARI.approx"), strict=True)
)

R_SCRIPT = r"""
args <- commandArgs(TRUE); D <- as.matrix(read.csv(args[1], header=FALSE)) + 1L
loss <- args[2]; peer <- args[3]
salso <- function(...) suppressWarnings(salso::salso(D, loss=loss, nRuns=16, nCores=1, ...))
epl <- c(binder="B", VI="VI", NVI="NVI", NID="NID")
search <- switch(peer,
  salso = function() salso(),
  "salso-uncapped" = function() salso(maxNClusters=ncol(D)),
  GreedyEPL = if (loss %in% names(epl)) function()
    GreedyEPL::MinimiseEPL(D, list(loss_type=epl[[loss]]))$decision,
  mcclust.ext = if (loss == "VI.lb") function()
    mcclust.ext::minVI(mcclust::comp.psm(D), D, method="greedy")$cl)
if (requireNamespace(sub("-uncapped", "", peer), quietly=TRUE) && !is.null(search)) {
  spent <- function() sum(proc.time()[1:2])
  t <- spent(); z <- search(); cat(peer, spent() - t, paste(as.integer(z), collapse=" "), "\n") }
"""
PEERS = ("salso", "salso-uncapped", "GreedyEPL", "mcclust.ext")
STRENGTHS = ("weak", "strong")


def cases(options):
    """Names and draws of the posteriors asked for: none of them was used to tune the search."""
    if options.named:
        for n in (500, 2000):
            make = partial(
                pt.datasets.simulate_draws, n, 1000, n_clusters=10, noise=0.02, rng=options.base
            )
            yield f"separated n={n} M=1000 K=10", lambda make=make: np.asarray(make().labels)
        yield "overlapping n=400 M=500 K=8", partial(gaussian, 400, 500, 8, False, options.base)
        return
    for m in options.draws:
        for n in options.items:
            for name in options.simulators:
                for k in options.clusters:
                    for strength in options.strengths:
                        make = partial(
                            SIMULATORS[name],
                            n,
                            m,
                            k,
                            strength == "strong",
                            options.base + n + m + k,
                        )
                        yield f"{name} n={n} M={m} K={k} {strength}", make


def lines(call, patience):
    """What a program prints, as far as it comes in so many seconds."""
    try:
        return subprocess.run(
            call, capture_output=True, text=True, check=False, timeout=patience
        ).stdout.splitlines()
    except subprocess.TimeoutExpired as late:
        whole = (late.stdout or b"").decode().rpartition("\n")[0]
        return whole.splitlines()


def kept_rivals(name, labels, loss, options):
    """What :func:`rivals` gives, read from the file of answers if it has them."""
    file = options.peers
    if file and file.exists():
        for line in file.open():
            one = json.loads(line)
            if (one["case"], one["loss"]) == (name, loss):
                return {peer: (np.array(z), taken) for peer, (z, taken) in one["peers"].items()}
    found = rivals(labels, loss, options)
    if file:
        peers = {peer: (z.tolist(), taken) for peer, (z, taken) in found.items()}
        with file.open("a") as out:
            out.write(json.dumps({"case": name, "loss": loss, "peers": peers}) + "\n")
    return found


def rivals(labels, loss, options):
    """Name to (labels, seconds) of every peer that is installed and has an answer in time."""
    found, program, peers = {}, options.rival, options.rivals
    with tempfile.TemporaryDirectory() as folder:
        path, script = Path(folder, "draws.csv"), Path(folder, "run.R")
        calls = [[program, str(path), SALSO[loss]]] if program else []
        np.savetxt(path, labels, fmt="%d", delimiter=",")
        script.write_text(R_SCRIPT)
        if shutil.which("Rscript") is not None:
            calls += [["Rscript", str(script), str(path), SALSO[loss], peer] for peer in peers]
        for call in calls:
            for line in lines(call, options.patience):
                name, seconds, *values = line.split()
                found[name] = (np.array(values, dtype=int), float(seconds))
    if loss == "binder" and importlib.util.find_spec("leidenalg"):
        pt.estimate(labels[:50], loss=loss, search="community", rng=0)  # import it
        start = time.process_time()
        leiden = pt.estimate(labels, loss=loss, search="community", rng=0).labels
        found["leiden"] = (leiden, time.process_time() - start)
    return found


def reached(best, value):
    """The share of the search's time after which it knew something no worse than ``value``."""
    times = [when for when, loss, share in best.history if share == 1 and loss <= value + 1e-12]
    return min(times) / max(when for when, _, _ in best.history) if times else None


def row(loss, name, labels, options):
    """Loss and seconds of ours, one a seed, and of every rival that is installed."""
    pt.estimate(labels[:50], loss=loss, rng=0)  # compile, or load what is compiled
    ours, seconds, limit = [], [], options.time_limit
    clock = time.perf_counter if limit else time.process_time
    search = pt.search.Greedy(time_limit=limit) if limit else "auto"
    for seed in range(options.seeds):
        start = clock()
        ours.append(pt.estimate(labels, loss=loss, search=search, rng=seed))
        seconds.append(clock() - start)
    theirs = {}
    for rival, (found, taken) in kept_rivals(name, labels, loss, options).items():
        value = float(pt.expected_loss(found, labels, loss=loss))
        theirs[rival] = [value, taken, reached(ours[0], value)]
    values = [best.expected_loss for best in ours]
    out = {"loss": loss, "case": name, "partita": values, "seconds": seconds, "rivals": theirs}
    if loss == "binder" and options.certify:
        proof = pt.certify(ours[0].labels, pt.posterior_similarity(labels))
        out["gap"] = float(proof.gap)
    return out


def show(row):
    """One line for a row: the worst loss and the median seconds of the seeds."""
    worst, usual = max(row["partita"]), median(row["seconds"])
    text = f"{row['loss']:15s} {row['case']:36s} partita {worst:.6f} {usual:7.3f}s"
    for rival, (value, taken, share) in row["rivals"].items():
        text += f" | {rival} {value:.6f} {taken:.2f}s ({taken / usual:.1f}x"
        text += f", {taken / usual / max(share, 1e-2):.0f}x to its loss)" if share else ")"
        text += " LOST" if worst > value + 1e-9 else ""
    if "gap" in row:
        text += f" | proved to {100 * row['gap'] / (row['partita'][0] or 1):.4f}%"
    print(text, flush=True)


def summary(rows, limit):
    """How many of the cells with a rival were lost, and by how much; who took too long; ratios."""
    margins = []
    for one in rows:
        best = min((value for value, *_ in one["rivals"].values()), default=None)
        margins += [value / best - 1 for value in one["partita"] if best]
    lost = [margin for margin in margins if margin > 1e-9]
    print(f"{len(lost)} of {len(margins)} cells lost, by {100 * max(lost, default=0):.3f}% at most")
    if limit:
        seconds = [second for one in rows for second in one["seconds"]]
        late = sum(second > 1.1 * limit for second in seconds)
        print(
            f"{late} of {len(seconds)} runs took over {1.1 * limit:.3g} s, {max(seconds):.3f} s at most"
        )
    ratios(rows)


def ratios(rows):
    """For each peer a table of its seconds over the median of ours: losses by items x draws."""
    found = {}
    for one in rows:
        size = re.search(r"n=(\d+) M=(\d+)", one["case"])
        size = f"{int(size[1]):,} x {int(size[2]):,}" if size else one["case"]
        for peer, (_, taken, _) in one["rivals"].items():
            cells = found.setdefault(peer, {}).setdefault(one["loss"], {})
            cells.setdefault(size, []).append(taken / median(one["seconds"]))
    for peer, losses in found.items():
        sizes = list(dict.fromkeys(size for cells in losses.values() for size in cells))
        print(f"\n| ratio, {peer} | {' | '.join(sizes)} |\n|{'---|' * (1 + len(sizes))}")
        for loss, cells in losses.items():
            print(f"| {loss} | {' | '.join(spread(cells.get(size)) for size in sizes)} |")


def spread(values):
    """The median of some ratios and their range, in two digits."""
    if not values:
        return ""
    middle, low, high = (
        f"{x:.1f}" if x < 10 else f"{float(f'{x:.2g}'):,.0f}"
        for x in (median(values), min(values), max(values))
    )
    return f"{middle} ({low} to {high})" if len(values) > 1 else middle


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--losses", nargs="+", default=LOSSES, choices=LOSSES)
    parser.add_argument("--simulators", nargs="+", default=list(SIMULATORS), choices=SIMULATORS)
    parser.add_argument("--items", nargs="+", type=int, default=[100, 400, 1000])
    parser.add_argument("--draws", nargs="+", type=int, default=[500, 1000, 10_000])
    parser.add_argument("--quick", action="store_true", help="100 and 400 items, 500 draws")
    parser.add_argument("--clusters", nargs="+", type=int, default=[4, 15], help="of the truth")
    parser.add_argument("--strengths", nargs="+", default=STRENGTHS, choices=STRENGTHS)
    parser.add_argument("--rivals", nargs="+", default=PEERS, choices=PEERS, help="those in R")
    parser.add_argument("--rival", help="a program to run beside, see above")
    parser.add_argument("--peers", type=Path, help="keep the peers' answers in this file")
    parser.add_argument("--patience", type=float, default=600, help="seconds that a peer has")
    parser.add_argument("--peers-only", action="store_true", help="run the peers, not ours")
    parser.add_argument("--certify", action="store_true", help="prove Binder's, as far as it goes")
    parser.add_argument("--galaxy", type=Path)
    parser.add_argument("--named", action="store_true", help="posteriors of other sizes, see above")
    parser.add_argument("--time-limit", type=float, help="seconds that each of our searches has")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--base", type=int, default=7000, help="of the simulators' seeds")
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    if options.quick:
        options.items, options.draws = [100, 400], [500]
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
            if options.peers_only:
                kept_rivals(name, labels, loss, options)
                continue
            rows.append(row(loss, name, labels, options))
            show(rows[-1])
            if kept:
                with kept.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    summary(rows, options.time_limit)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
