"""NMF beside its rivals: the R package NMF, scikit-learn, and growth in n and K.

    python benchmarks/nmf.py path [--draws galaxy_draws.npz]       # ours, time and memory
    python benchmarks/nmf.py r [--ranks 3 7 12] [--restarts 1]      # ratio to R's nmf()
    python benchmarks/nmf.py sklearn [--ranks 3 6 9 12]             # ratio to scikit-learn
    python benchmarks/nmf.py growth [--r-most 800]                  # n and K, beside R; a figure
    python benchmarks/nmf.py choices --draws galaxy_draws.npz       # K by three losses, five seeds

Everything runs on one core, and times are CPU seconds. The posteriors are 400 simulated items and,
where ``--draws`` names a file, that one. R runs ``nmf(psm, K, method, nrun)`` on the same matrix,
if Rscript and the package are there; with ``--restarts`` below ten its time is scaled to ten.
scikit-learn runs from the same starts, restart by restart, as many iterations as bring its
objective to the same restart's of ours (to 0.001%, and to 0.1%) or to the best of ours (to 0.1%);
where it settles higher, to its own after ``--most``. The time is that of one call with that many.
Limits: 100 times for R; 15 for ls and 8 for kl with scikit-learn.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import partita as pt
from partita.nmf import NAMES
from partita.nmf._starts import starts
from partita.nmf._target import as_target

METHODS = {"ls": "lee", "kl": "brunet", "ns": "nsNMF", "offset": "offset"}
RANKS = range(2, 13)
R_CODE = """
suppressMessages(library(NMF))
a <- commandArgs(TRUE)
V <- as.matrix(read.csv(a[1], header = FALSE)); dimnames(V) <- NULL
t0 <- proc.time()
fit <- nmf(V, as.integer(a[3]), a[2], nrun = as.integer(a[4]), seed = 1, .options = "-p-t")
cat(sum((proc.time() - t0)[c("user.self", "sys.self")]), deviance(fit))
"""


def posteriors(path):
    """Yield the posteriors to run on, by name."""
    draws = pt.datasets.simulate_draws(400, 1000, n_clusters=8, noise=0.3, rng=0)
    yield "simulated, n=400", pt.posterior_similarity(draws).to_dense().copy()
    if path:
        draws = pt.read_draws(path)
        yield (
            f"{Path(path).stem}, n={draws.n_items}",
            pt.posterior_similarity(draws).to_dense().copy(),
        )


def random_similarity(n):
    """No structure at all, as in the paper's section on scale: the slowest to converge."""
    x = np.random.default_rng(n).random((n, n))
    x = 0.5 * (x + x.T)
    np.fill_diagonal(x, 1.0)
    return x


def fit(psm, model, rank, n_init=10):
    return pt.factorize(psm, model=model, rank=rank, n_init=n_init, rng=0)


def timed(call, *given):
    start = time.process_time()
    found = call(*given)
    return time.process_time() - start, found


def warm_up():
    for model in NAMES:
        for n in (60, 160):
            fit(random_similarity(n), model, 3, n_init=2)


def peak(call, *given):
    tracemalloc.start()
    call(*given)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found / 2**20


def run_path(args):
    for name, psm in posteriors(args.draws):
        total = 0.0
        for model in NAMES:
            spent = sum(timed(fit, psm, model, k)[0] for k in RANKS)
            memory = peak(fit, psm, model, max(RANKS))
            total += spent if model in METHODS else 0.0
            print(f"{name}: {model:9} ranks 2..12, ten restarts: {spent:7.2f} s, {memory:.1f} MiB")
        print(f"{name}: the paper's four models {total:.2f} s")


def has_r():
    if shutil.which("Rscript") is None:
        print("not measured: Rscript is not installed")
        return False
    if subprocess.run(["Rscript", "-e", "library(NMF)"], capture_output=True).returncode:
        print("not measured: R has no package NMF (Debian: r-cran-nmf)")
        return False
    return True


def r_seconds(psm, model, rank, restarts):
    with tempfile.TemporaryDirectory() as folder:
        matrix, script = Path(folder, "psm.csv"), Path(folder, "run.R")
        np.savetxt(matrix, psm, delimiter=",", fmt="%.17g")
        script.write_text(R_CODE)
        found = subprocess.run(
            ["Rscript", str(script), str(matrix), METHODS[model], str(rank), str(restarts)],
            capture_output=True, text=True, check=True,
            env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
    spent, deviance = map(float, found.stdout.split())
    return spent * 10 / restarts, deviance


def run_r(args):
    if not has_r():
        return
    for name, psm in posteriors(args.draws):
        ours_all = theirs_all = 0.0
        for model in METHODS:
            for rank in args.ranks:
                ours, found = timed(fit, psm, model, rank)
                theirs, deviance = r_seconds(psm, model, rank, args.restarts)
                ours_all, theirs_all = ours_all + ours, theirs_all + theirs
                print(
                    f"{name}: {model:6} rank {rank:2}: R {theirs:8.2f} s, ours {ours:6.3f} s, "
                    f"ratio {theirs / ours:6.0f}; objectives {deviance:.4f}, {found.objective:.4f}"
                )
        print(f"{name}: R over ours {theirs_all / ours_all:.0f} (limit 100)")


def objective(model, psm, W, H):
    fitted = np.maximum(W @ H, 1e-300)
    if model == "ls":
        return 0.5 * ((psm - fitted) ** 2).sum()
    seen = psm > 0
    return (psm[seen] * np.log(psm[seen] / fitted[seen])).sum() + (fitted - psm).sum()


def sklearn_seconds(psm, model, rank, begin, goals, most):
    """One restart: the time of as many iterations as each goal takes, and how many."""
    from sklearn.decomposition import NMF

    solver, loss = {"ls": ("cd", "frobenius"), "kl": ("mu", "kullback-leibler")}[model]

    def run(W, H, n_iter):
        peer = NMF(rank, init="custom", solver=solver, beta_loss=loss, tol=0, max_iter=n_iter)
        return peer.fit_transform(psm, W=W.copy(), H=H.copy()), peer.components_

    W, H = begin
    trace, done = [], 0
    while done < most:
        more = max(5, done // 5)
        W, H = run(W, H, more)
        done += more
        trace.append((done, objective(model, psm, W, H)))
        if trace[-1][1] <= min(goal * (1 + slack) for goal, slack in goals):
            break
    found = []
    for goal, slack in goals:
        within = max(goal, trace[-1][1]) * (1 + slack)
        n_iter = next(count for count, value in trace if value <= within)
        found.append((timed(run, *begin, n_iter)[0], n_iter))
    return found


def run_sklearn(args):
    warnings.simplefilter("ignore")
    for name, psm in posteriors(args.draws):
        for model, limit in (("ls", 15), ("kl", 8)):
            total = np.zeros(4)
            for rank in args.ranks:
                ours, fitted = min((timed(fit, psm, model, rank) for _ in range(3)), key=first)
                target = as_target(psm, dense_only=True)
                begun = starts(target, NAMES[model], rank, 10, "random", 0)[: args.restarts]
                rows = []
                with threadpool_limits(1):
                    for b, own in zip(begun, fitted.restart_objectives, strict=False):
                        goals = ((own, 1e-5), (own, 1e-3), (fitted.objective, 1e-3))
                        rows.append(sklearn_seconds(psm, model, rank, (b.W, b.H), goals, args.most))
                seconds, counts = np.moveaxis(np.array(rows), -1, 0)
                theirs = 10 * seconds.mean(axis=0)
                total += [ours, *theirs]
                print(
                    f"{name}: {model} rank {rank:2}: ours {ours:.3f} s; scikit-learn",
                    *(
                        f"{s:.3f} s ({c:.0f} iterations, ratio {s / ours:.1f})"
                        for s, c in zip(theirs, counts.mean(axis=0), strict=True)
                    ),
                    flush=True,
                )
            ratios = total[1:] / total[0]
            print(
                f"{name}: {model}: scikit-learn over ours {ratios[0]:.1f} to the same objective "
                f"restart by restart ({ratios[1]:.1f} to 0.1% of it, {ratios[2]:.1f} to 0.1% of "
                f"the best); limit {limit}",
                flush=True,
            )


def first(pair):
    return pair[0]


def run_choices(args):
    """The rank that each loss chooses and the clusters at it: fast, balanced, by seed."""
    for name, psm in posteriors(args.draws):
        for model in METHODS:
            for seed in range(5):
                fits = [pt.factorize(psm, model=model, rank=k, rng=seed) for k in RANKS]
                told = []
                for loss in ("vi-lower-bound", "pear", "binder"):
                    values = [
                        pt.expected_loss(f.labels, pt.Similarity(psm), loss=loss) for f in fits
                    ]
                    best = fits[int(np.argmin(values))]
                    told.append(f"{loss} {best.rank} ({len(set(best.labels.tolist()))} clusters)")
                print(f"{name}: {model:6} seed {seed}: {', '.join(told)}", flush=True)


def run_growth(args):
    """One restart of ours and of R's, smallest sizes first."""
    rival = has_r()
    rows = []
    for n in args.sizes:
        psm = random_similarity(n)
        for model in METHODS:
            for rank in args.ranks:
                ours = timed(fit, psm, model, rank, 1)[0]
                theirs = None
                if rival and n <= args.r_most:
                    theirs = r_seconds(psm, model, rank, 1)[0] / 10
                rows.append((model, n, rank, ours, theirs))
                other = "R not run" if theirs is None else f"R {theirs:.1f} s"
                print(f"n={n:4} {model:6} K={rank:2}: ours {ours:.3f} s, {other}", flush=True)
        if args.plot:
            plot(rows, args.plot)


def plot(rows, path):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("not drawn: matplotlib is not installed")
        return
    figure, axes = plt.subplots(1, len(METHODS), figsize=(14, 3.5), sharey=True)
    for axis, model in zip(axes, METHODS, strict=True):
        for rank in sorted({row[2] for row in rows}):
            mine = [row for row in rows if row[0] == model and row[2] == rank]
            (line,) = axis.loglog(
                [r[1] for r in mine], [r[3] for r in mine], "o-", label=f"K = {rank}"
            )
            other = [(r[1], r[4]) for r in mine if r[4] is not None]
            if other:
                axis.loglog(*zip(*other, strict=True), "s--", color=line.get_color())
        axis.set_title(model)
        axis.set_xlabel("items")
    axes[0].set_ylabel("CPU seconds, one restart (dashed: R)")
    axes[0].legend()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["path", "r", "sklearn", "growth", "choices"])
    parser.add_argument("--draws", help="draws to run on beside the simulated ones")
    parser.add_argument("--ranks", type=int, nargs="+", default=[3, 6, 9, 12])
    parser.add_argument("--restarts", type=int, default=10, help="of the rival; scaled to ten")
    parser.add_argument("--most", type=int, default=2000, help="iterations of scikit-learn")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 400, 800, 1600, 3200])
    parser.add_argument("--r-most", type=int, default=400, help="largest n for R in growth")
    parser.add_argument("--plot", default="out/nmf-growth.png", help="figure of the growth")
    args = parser.parse_args()
    warm_up()
    parts = (run_path, run_r, run_sklearn, run_growth, run_choices)
    {part.__name__.removeprefix("run_"): part for part in parts}[args.what](args)


if __name__ == "__main__":
    main()
