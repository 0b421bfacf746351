"""NMF beside its rivals: the R package NMF, scikit-learn, and growth in n and K.

    python benchmarks/nmf.py path [--draws galaxy_draws.npz]       # ours, time and memory
    python benchmarks/nmf.py r [--ranks 3 7 12] [--restarts 1]      # ratio to R's nmf()
    python benchmarks/nmf.py sklearn [--ranks 3 6 9 12]             # ratio to scikit-learn
    python benchmarks/nmf.py growth [--r-most 800]                  # n and K, beside R; a figure
    python benchmarks/nmf.py choices --draws galaxy_draws.npz       # K by three losses, five seeds
    python benchmarks/nmf.py against-mu [--ranks 2 3] [--seeds 0]   # fast beside R's updates
    python benchmarks/nmf.py calibration                            # memberships beside the truth
    python benchmarks/nmf.py size [--sizes 3000 10000]              # kl and ns of many items

Everything runs on one core, and times are CPU seconds. The posteriors are 400 simulated items and,
where ``--draws`` names a file, that one. R runs ``nmf(psm, K, method, nrun)`` on the same matrix,
if Rscript and the package are there; with ``--restarts`` below ten its time is scaled to ten.
scikit-learn runs from the same starts, restart by restart, as many iterations as bring its
objective to the same restart's of ours (to 0.001%, and to 0.1%) or to the best of ours (to 0.1%);
where it settles higher, to its own after ``--most``. The time is that of one call with that many.
Limits: 100 times for R; 15 for ls and 10 for kl with scikit-learn.

``against-mu`` runs both solvers from the same starts on posteriors of 60 to 1,000 items, with few
and many clusters; those marked * were kept out while the solver was written. ``--draws`` names others. Limits: no cell of ls
and offset more than 0.1% above, at most 1% of the cells of kl and ns, none by more than 2%; 15 times
quicker in sum. ``calibration`` samples a mixture of three known components and sets memberships
beside the true responsibilities (Brier's score).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
import tracemalloc
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import partita as pt
from partita.nmf import NAMES, READINGS
from partita.nmf.readings import normalized
from partita.nmf.starts import starts

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
        for model, limit in (("ls", 15), ("kl", 10)):
            total = np.zeros(4)
            for rank in args.ranks:
                ours, fitted = min((timed(fit, psm, model, rank) for _ in range(3)), key=first)
                begun = starts(NAMES[model], rank, 10, "random", 0, len(psm), lambda: None)
                begun = begun[: args.restarts]
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


def uneven(n, clusters, ratio):
    share = ratio ** np.arange(clusters)
    sizes = np.maximum(1, np.round(share / share.sum() * n)).astype(int)
    sizes[0] += n - sizes.sum()
    return np.repeat(np.arange(clusters), sizes)


def noisy(truth, noise, seed, merges=0.0, n_draws=300):
    """Draws in which items stray, some more than others, and clusters now and then are one."""
    rng, k = np.random.default_rng(seed), truth.max() + 1
    rate = np.minimum(4 * noise * rng.beta(0.5, 1.5, truth.size), 0.9)
    draws = np.empty((n_draws, truth.size), dtype=int)
    for row in draws:
        row[:] = np.where(rng.random(truth.size) < rate, rng.integers(0, k, truth.size), truth)
        for _ in range(rng.poisson(merges)):
            one = rng.integers(k)
            row[row == (one + 1) % k] = one
    return draws


GRID = {  # those with * were kept out while the solver was written
    "even, 200 in 12": lambda: noisy(np.arange(200) % 12, 0.1, 1),
    "uneven, 160 in 15": lambda: noisy(uneven(160, 15, 0.85), 0.12, 2),
    "merging, 120 in 20": lambda: noisy(np.arange(120) % 20, 0.08, 4, merges=3),
    "few, 180 in 4": lambda: noisy(np.arange(180) % 4, 0.25, 5),
    "large, 1,000 in 12": lambda: noisy(uneven(1_000, 12, 0.85), 0.15, 6),
    "*small, 60 in 5": lambda: noisy(uneven(60, 5, 0.7), 0.3, 11),
    "*many, 150 in 25": lambda: noisy(np.arange(150) % 25, 0.1, 12, merges=1),
    "*two, 220 in 2": lambda: noisy(uneven(220, 2, 0.5), 0.2, 13),
    "*noisy, 260 in 10": lambda: noisy(uneven(260, 10, 0.9), 0.45, 14, merges=2),
    "*uneven, 400 in 18": lambda: noisy(uneven(400, 18, 0.8), 0.15, 15),
}


def run_against_mu(args):
    """Both solvers from the same starts, every posterior at each seed and rank: Ctrl-C keeps all."""
    grid = [name for name in GRID if not args.only or any(one in name for one in args.only)]
    psms = {name: pt.posterior_similarity(GRID[name](), n_jobs=1) for name in grid}
    if args.draws:
        grid = [Path(args.draws).stem]
        psms = {grid[0]: pt.posterior_similarity(pt.read_draws(args.draws), n_jobs=1)}
    rows = []
    try:
        for seed, rank, name, model in product(args.seeds, args.ranks, grid, args.models):
            how = {"model": model, "rank": rank, "rng": seed, "n_jobs": 1}
            fast, ours = timed(lambda: pt.factorize(psms[name], **how))  # noqa: B023
            mu, theirs = timed(lambda: pt.factorize(psms[name], solver="mu", **how))  # noqa: B023
            gap = ours.objective / theirs.objective - 1
            rows.append((model, gap, fast, mu))
            print(
                f"{name}: {model:6} rank {rank:2} seed {seed}: {100 * gap:+.3f}%, "
                f"{fast:.3f} s, mu {mu:.3f} s",
                flush=True,
            )
    except KeyboardInterrupt:
        print("stopped early")
    for model in sorted({row[0] for row in rows}):
        gaps, fast, mu = np.array([row[1:] for row in rows if row[0] == model]).T
        print(
            f"{model}: {(gaps > 1e-3).sum()} of {gaps.size} cells more than 0.1% above, worst "
            f"{100 * gaps.max():+.2f}%; median {100 * np.median(gaps):+.2f}%; "
            f"{mu.sum() / fast.sum():.0f} times quicker in sum"
        )


def run_calibration(args):
    """Posterior draws of data from three normals, beside their responsibilities there."""
    rng = np.random.default_rng(0)
    means, n = np.array([-4.0, 0.0, 4.0]), 200
    x = np.sort(means[rng.integers(0, 3, n)] + rng.normal(size=n))
    density = np.exp(-0.5 * (x[:, None] - means) ** 2)
    truth = density / density.sum(axis=1, keepdims=True)
    labels = pt.sample_mixture(x, n_draws=1_000, n_burn=1_000, rng=0).labels
    psm = pt.posterior_similarity(labels)

    def score(soft):
        from scipy.optimize import linear_sum_assignment

        _, order = linear_sum_assignment(-truth.T @ soft)
        return float(((soft[:, order] - truth) ** 2).mean())

    best = truth.argmax(axis=1)
    print(f"align_memberships: {score(pt.align_memberships(best, labels).memberships):.4f}")
    for model in NAMES:
        found = pt.factorize(psm, model=model, rank=3, rng=0)
        told = []
        for how in READINGS:
            H = normalized(found.W, found.H, how)
            told.append(f"{how} {score((H / H.sum(axis=0)).T):.4f}")
        print(f"{model:9}: {', '.join(told)}")


def run_size(args):
    """All ranks from 2 to 12, ten restarts, on one core."""
    for n in args.sizes:
        psm = pt.posterior_similarity(noisy(uneven(n, 12, 0.85), 0.12, 2), n_jobs=1)
        for model in ("kl", "ns"):
            how = {"model": model, "n_init": 10, "solver": "fast", "seed": 0, "n_jobs": 1}
            work = lambda how=how: list(pt.nmf.factorize_ranks(psm, ranks=RANKS, **how))  # noqa: E731, B023
            print(f"{model}, {n:,} items: {timed(work)[0]:.1f} CPU s", flush=True)


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


PARTS = {
    "path": run_path, "r": run_r, "sklearn": run_sklearn, "growth": run_growth,
    "choices": run_choices, "against-mu": run_against_mu, "calibration": run_calibration,
    "size": run_size,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=[*PARTS])
    parser.add_argument("--draws", help="draws to run on beside the simulated ones")
    parser.add_argument("--ranks", type=int, nargs="+")
    parser.add_argument("--restarts", type=int, default=10, help="of the rival; scaled to ten")
    parser.add_argument("--most", type=int, default=2000, help="iterations of scikit-learn")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 400, 800, 1600, 3200])
    parser.add_argument("--r-most", type=int, default=400, help="largest n for R in growth")
    parser.add_argument("--plot", default="out/nmf-growth.png", help="figure of the growth")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of against-mu")
    parser.add_argument("--models", nargs="+", default=list(METHODS), help="of against-mu")
    parser.add_argument("--only", nargs="*", help="posteriors of against-mu, by part of a name")
    args = parser.parse_args()
    if args.ranks is None:
        args.ranks = list(RANKS) if args.what == "against-mu" else [3, 6, 9, 12]
    PARTS[args.what](args)


if __name__ == "__main__":
    main()
