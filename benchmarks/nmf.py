"""NMF beside its rivals: the R package NMF, scikit-learn, and growth in n and K.

    python benchmarks/nmf.py path [--draws galaxy_draws.npz]       # ours, time and memory
    python benchmarks/nmf.py r [--ranks 3 7 12] [--restarts 1]      # ratio to R's nmf()
    python benchmarks/nmf.py sklearn [--ranks 3 6 9 12]             # ratio to scikit-learn
    python benchmarks/nmf.py growth [--plot growth.png]             # n and K, beside R

Everything runs on one core. The posteriors are 400 simulated items and, where ``--draws`` names a
file, that one. R runs ``nmf(psm, K, method, nrun)`` on the same matrix, if Rscript and the package
are there; with ``--restarts`` below ten its time is scaled to ten. scikit-learn runs from the same
starts, restart by restart, as many iterations as bring its objective within 0.1% of the one that
we report, or of its own after ``--most`` iterations where it settles higher; the time is that of
one call with that many. Limits: 100 times for R; 15 for ls and 8 for kl with scikit-learn.
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
cat((proc.time() - t0)[["elapsed"]], deviance(fit))
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
    start = time.perf_counter()
    found = call(*given)
    return time.perf_counter() - start, found


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


def sklearn_seconds(psm, model, rank, begin, goal, most):
    """One restart: the time of as many iterations as it takes, and how many."""
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
        if trace[-1][1] <= goal * 1.001:
            break
    goal = max(goal, trace[-1][1]) * 1.001
    n_iter = next(count for count, value in trace if value <= goal)
    return timed(run, *begin, n_iter)[0], n_iter


def run_sklearn(args):
    warnings.simplefilter("ignore")
    for name, psm in posteriors(args.draws):
        for model, limit in (("ls", 15), ("kl", 8)):
            ours_all = theirs_all = 0.0
            for rank in args.ranks:
                ours, found = timed(fit, psm, model, rank)
                target = as_target(psm, dense_only=True)
                begun = starts(target, NAMES[model], rank, 10, "random", 0)[: args.restarts]
                with threadpool_limits(1):
                    rows = [
                        sklearn_seconds(psm, model, rank, (b.W, b.H), found.objective, args.most)
                        for b in begun
                    ]
                theirs = sum(row[0] for row in rows) * 10 / len(rows)
                ours_all, theirs_all = ours_all + ours, theirs_all + theirs
                print(
                    f"{name}: {model} rank {rank:2}: scikit-learn {theirs:7.3f} s "
                    f"({np.mean([row[1] for row in rows]):.0f} iterations a restart), "
                    f"ours {ours:6.3f} s, ratio {theirs / ours:5.1f}"
                )
            print(f"{name}: {model}: scikit-learn over ours {theirs_all / ours_all:.1f} ({limit})")


def run_growth(args):
    rival = has_r()
    rows = []
    for model in METHODS:
        for n in args.sizes:
            psm = random_similarity(n)
            for rank in args.ranks:
                ours = timed(fit, psm, model, rank)[0]
                memory = peak(fit, psm, model, rank, 1) if n <= 800 else None
                theirs = None
                if rival and n <= args.r_most:
                    theirs = r_seconds(psm, model, rank, 1)[0]
                rows.append((model, n, rank, ours, theirs))
                print(
                    f"{model:6} n={n:5} K={rank:2}: ours {ours:8.3f} s"
                    + ("" if memory is None else f", {memory:6.1f} MiB")
                    + (
                        "" if theirs is None else f", R {theirs:8.1f} s, ratio {theirs / ours:6.0f}"
                    ),
                    flush=True,
                )
    if args.plot:
        plot(rows, args.plot)


def plot(rows, path):
    try:
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
    axes[0].set_ylabel("seconds, ten restarts (dashed: R)")
    axes[0].legend()
    figure.savefig(path, bbox_inches="tight")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["path", "r", "sklearn", "growth"])
    parser.add_argument("--draws", help="draws to run on beside the simulated ones")
    parser.add_argument("--ranks", type=int, nargs="+", default=[3, 6, 9, 12])
    parser.add_argument("--restarts", type=int, default=10, help="of the rival; scaled to ten")
    parser.add_argument("--most", type=int, default=2000, help="iterations of scikit-learn")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 400, 800, 1600, 3200])
    parser.add_argument("--r-most", type=int, default=400, help="largest n for R in growth")
    parser.add_argument("--plot", help="file for a figure of the growth")
    args = parser.parse_args()
    warm_up()
    {"path": run_path, "r": run_r, "sklearn": run_sklearn, "growth": run_growth}[args.what](args)


if __name__ == "__main__":
    main()
