"""The mixture sampler: speed, scaling, mixing, effective samples, galaxy.

    python benchmarks/mixture.py [speed scaling crabs configurations ess galaxy]
        [--sets 10] [--n-jobs 16] [--output folder] [--galaxy draws.npz]

``--sets`` is the number of data sets of each configuration, and of seeds elsewhere; ``--n-jobs``
the processes that sets are spread over. Times are CPU seconds of one thread, after compilation.
R-hat and effective sample size are ArviZ's (rank-normalised, split) where it is installed, else
our own, which equal them. PReMiuM is run beside ours when Rscript finds it; where it is not, its
4.5 s for 15,000 scans of 400 items in the plane on an idle core stand in.
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
from joblib import Parallel, delayed

import partita as pt
from partita import diagnostics
from partita.mixture import Moves, predictive_density

try:
    from arviz_stats.base import array_stats
except ImportError:
    array_stats = None

PREMIUM_SECONDS = 4.5
STARTS = ["one", "singletons", "kmeans", "random"]
CONFIGURATIONS = ["".join("FT"[(i >> (2 - j)) & 1] for j in range(3)) for i in range(8)]
MOVES = {
    "Gibbs alone": Moves(0, 0),
    "one split-merge a scan": Moves(1, 0),
    "default moves": Moves(),
}
CRABS = {
    "paper": ({"prior": "paper"}, 0.1),
    "independent, df 7": ({"df": 7}, 0.1),
    "conjugate, df 7": ({"prior": "conjugate", "df": 7}, 0.1),
    "independent": ({}, 0.2),
}
PREMIUM = r"""
args <- commandArgs(TRUE); library(PReMiuM)
d <- read.csv(args[1]); hyper <- setHyperparams(kappa0=ncol(d)); began <- proc.time()
profRegr(covNames=names(d), data=d, output=args[2], xModel="Normal", excludeY=TRUE, hyper=hyper,
         useHyperpriorR1=FALSE, nSweeps=10000, nBurn=5000, nProgress=100000, seed=as.integer(args[3]))
cat("\nSECONDS", sum((proc.time() - began)[1:2]), "\n")
"""


def clusters(name, seed):
    """A data set of the paper's Table 1: separate, balanced, spherical or not."""
    separate, balanced, spherical = (c == "T" for c in name)
    rng = np.random.default_rng(seed)
    at = (3.0 if separate else 1.5) * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    sizes = (100, 100, 100, 100) if balanced else (150, 50, 100, 30)
    shapes = [np.eye(2)] * 4
    if not spherical:
        shapes = [[[2, -0.8], [-0.8, 1]], [[1, 0.8], [0.8, 2]], [[1, 0.4], [0.4, 1]], 2 * np.eye(2)]
    return np.concatenate(
        [rng.multivariate_normal(m, s, n) for m, s, n in zip(at, shapes, sizes, strict=True)]
    )


def timed(X, **words):
    """CPU seconds and draws, compilation excluded."""
    pt.sample_mixture(X, **{**words, "n_draws": 5, "n_burn": 5})
    began = time.process_time()
    draws = pt.sample_mixture(X, **words)
    return time.process_time() - began, draws


def rhat(chains):
    """Rank-normalised split R-hat of an array (chains, draws)."""
    return float(array_stats.rhat(chains) if array_stats else diagnostics.rhat(chains))


def effective(chains):
    """Bulk effective sample size of an array (chains, draws)."""
    return float(
        array_stats.ess(chains, method="bulk") if array_stats else diagnostics.ess_bulk(chains)
    )


def agreement(draws, n_items):
    """How far chains that began in different places are from each other."""
    parts = [draws.take(draws.chains == c) for c in range(draws.n_chains)]
    psms = [pt.posterior_similarity(part).to_dense() for part in parts]
    large = [
        float(np.median([(np.bincount(r) >= 0.05 * n_items).sum() for r in part.labels[::20]]))
        for part in parts
    ]
    return {
        "apart": float(max(np.abs(a - b).max() for a in psms for b in psms)),
        "rhat": {k: rhat(np.stack([p.traces[k] for p in parts])) for k in draws.traces},
        "mean_k": [float(p.n_clusters.mean()) for p in parts],
        "large": large,
    }


def over_sets(task, keys, options):
    """Rows of ``task(key, set)`` for every key and set, spread over processes."""
    todo = [(key, s) for key in keys for s in range(options.sets)]
    rows = Parallel(n_jobs=options.n_jobs)(delayed(task)(key, s) for key, s in todo)
    return [{"name": key, "set": s, **row} for (key, s), row in zip(todo, rows, strict=True)]


def speed(options):
    """CPU seconds of 15,000 scans."""
    rows = []
    for name in ("TTT", "FFF"):
        X = clusters(name, 1)
        for label, moves in MOVES.items():
            seconds, _ = timed(X, moves=moves, rng=1)
            rows.append({"name": name, "n": len(X), "moves": label, "seconds": seconds})
            print(
                f"  {name} n {len(X)} {label:24s}{seconds:7.2f} s, "
                f"1/{PREMIUM_SECONDS / seconds:.1f} of PReMiuM's {PREMIUM_SECONDS} s",
                flush=True,
            )
    return rows


def scaling(options):
    """Nanoseconds an item and scan, Gibbs alone, from a start at the truth."""
    rows = []
    for n, k in [(1000, 4), (10_000, 4), (100_000, 4), (10_000, 16), (10_000, 64)]:
        rng = np.random.default_rng(0)
        truth = rng.integers(0, k, n)
        side = int(np.ceil(np.sqrt(k)))
        X = 10.0 * np.column_stack([truth % side, truth // side]) + rng.normal(size=(n, 2))
        scans = max(3, 200_000 // n)
        words = {"moves": MOVES["Gibbs alone"], "start": truth, "n_burn": 0, "rng": 0}
        # Two lengths, so that the marginals of single items, computed once, drop out.
        short, _ = timed(X, n_draws=scans, **words)
        long, draws = timed(X, n_draws=4 * scans, **words)
        per = 1e9 * (long - short) / (3 * scans) / n
        rows.append({"n": n, "k": float(draws.n_clusters.mean()), "ns": per})
        print(f"  n {n:7d}, K {rows[-1]['k']:5.1f}: {per:7.1f} ns an item", flush=True)
    return rows


def crabs(options):
    """Four chains from four starts, 5,000 + 15,000 scans."""
    rows = over_sets(_crabs, CRABS, options)
    for row in rows:
        print(
            f"  {row['name']:18s} seed {row['set']}: apart {row['apart']:.3f} "
            f"(limit {CRABS[row['name']][1]}), {_worst_rhat([row])}, P(K = 1..5) "
            f"{np.round(row['p_k'], 3)}, {row['seconds']:.1f} s a chain",
            flush=True,
        )
        for way, best in row["estimates"].items():
            print("    ", way, " ".join(f"{k} {v:.3g}" for k, v in best.items()))
    return rows


def _crabs(name, seed):
    table = pt.datasets.load_crabs()
    words = {"n_draws": 15_000, "n_burn": 5_000, "n_chains": 4, "start": STARTS, "rng": seed}
    seconds, draws = timed(table.data, **words, **CRABS[name][0])
    few = draws.thin(20)
    estimates = {
        "least E[VI]": pt.estimate(few, loss="vi", rng=0),
        "MinVI": pt.estimate(few, method="minvi"),
    }
    return {
        **agreement(draws, len(table.data)),
        "p_k": (np.bincount(draws.n_clusters, minlength=6)[1:6] / draws.n_draws).tolist(),
        "estimates": {way: _against(best, few, table.truth) for way, best in estimates.items()},
        "seconds": seconds / 4,
    }


def _against(best, draws, truth):
    return {
        "K": best.n_clusters,
        "AR": float(pt.adjusted_rand_index(best.labels, truth)),
        "VI": float(pt.variation_of_information(best.labels, truth)),
        "E[VI]": float(pt.expected_loss(best.labels, draws, loss="vi")),
    }


def configurations(options):
    """The paper's eight, four chains from four starts, 5,000 + 10,000 scans."""
    rows = over_sets(_configuration, CONFIGURATIONS, options)
    for name in CONFIGURATIONS:
        mine = [row for row in rows if row["name"] == name]
        apart = [row["apart"] for row in mine]
        large = [k for row in mine for k in row["large"]]
        print(
            f"  {name}: {len(mine)} sets, apart median {np.median(apart):.3f} most "
            f"{max(apart):.3f} (limit 0.15), {_worst_rhat(mine)}, large clusters "
            f"{min(large):.0f} to {max(large):.0f}, "
            f"{np.mean([row['seconds'] for row in mine]):.1f} s a chain",
            flush=True,
        )
    return rows


def _configuration(name, s):
    X = clusters(name, [CONFIGURATIONS.index(name), s])
    seconds, draws = timed(X, n_chains=4, start=STARTS, rng=s)
    return {**agreement(draws, len(X)), "seconds": seconds / 4}


def _worst_rhat(rows):
    worst = {k: max(row["rhat"][k] for row in rows) for k in rows[0]["rhat"]}
    return "R-hat " + " ".join(f"{k} {v:.3f}" for k, v in worst.items())


def ess(options):
    """Effective samples of K a second: 5,000 + 10,000 scans, whose seconds all count."""
    rows = []
    for name in ("TTT", "FFF"):
        X = clusters(name, 1)
        ways = {label: partial(_ours, X, moves) for label, moves in MOVES.items()}
        if _has_premium():
            ways["PReMiuM"] = partial(_premium, X)
        for label, way in ways.items():
            runs = [way(s) for s in range(1, options.sets + 1)]
            row = {k: float(np.mean([run[k] for run in runs])) for k in runs[0]}
            row["per_second"] = row["ess"] / row["seconds"]
            rows.append({"name": name, "way": label, **row})
            print(
                f"  {name} {label:24s}{row['seconds']:7.2f} s, K {row['k']:.2f}, effective "
                f"{row['ess']:6.0f}, a second {row['per_second']:7.1f}",
                flush=True,
            )
    return rows


def _ours(X, moves, seed):
    seconds, draws = timed(X, moves=moves, rng=seed)
    k = draws.traces["n_clusters"]
    return {"seconds": seconds, "k": k.mean(), "ess": effective(k[None])}


def _has_premium():
    if shutil.which("Rscript") is None:
        return False
    look = ["Rscript", "-e", "quit(status = !requireNamespace('PReMiuM', quietly = TRUE))"]
    return subprocess.run(look, capture_output=True).returncode == 0


def _premium(X, seed):
    """The same model by PReMiuM, its R process timed within."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.csv"
        np.savetxt(data, X, delimiter=",", header="a,b", comments="")
        call = ["Rscript", "-e", PREMIUM, str(data), str(Path(folder) / "out"), str(seed)]
        said = subprocess.run(call, capture_output=True, text=True, check=True, cwd=folder).stdout
        z = np.loadtxt(Path(folder) / "out_z.txt", dtype=int)
    k = np.array([np.unique(row[: len(X)]).size for row in z], float)[-10_000:]
    return {
        "seconds": float(said.split("SECONDS")[-1]),
        "k": k.mean(),
        "ess": effective(k[None]),
    }


def galaxy(options):
    """Ours beside the draws behind the paper's galaxy figure, which had another prior."""
    velocities = pt.datasets.load_galaxies().data.ravel()
    draws = pt.sample_mixture(velocities, n_chains=4, start=STARTS, rng=1)
    found = agreement(draws, velocities.size)
    print(f"  apart {found['apart']:.3f}, {_worst_rhat([found])}")
    both = {"ours": draws}
    if options.galaxy.exists():
        both["theirs"] = pt.read_draws(options.galaxy)
    grid = np.linspace(8, 36, 15)
    rows = []
    for name, each in both.items():
        p_k = np.bincount(each.n_clusters, minlength=13)[1:13] / each.n_draws
        # Theirs came without parameters and concentration: our prior fills in for both.
        words = {} if name == "ours" else {"concentration": 1.0}
        density = predictive_density(each, velocities, grid, rng=0, **words)
        with np.printoptions(precision=3, suppress=True, linewidth=100):
            print(
                f"  {name}: P(K = 1..12) {p_k}\n    density at 8, 10, .. 36: {density}", flush=True
            )
        rows.append({"name": name, "p_k": p_k.tolist(), "density": density.tolist()})
    if len(both) == 2:
        ours, theirs = (pt.posterior_similarity(each).to_dense() for each in both.values())
        apart = np.abs(ours - theirs)
        print(f"  similarity differs by {apart.mean():.3f} on average, at most {apart.max():.3f}")
        rows.append({"name": "similarity", "mean": apart.mean(), "most": apart.max()})
    return rows


SECTIONS = {f.__name__: f for f in (speed, scaling, crabs, configurations, ess, galaxy)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sections", nargs="*", default=list(SECTIONS))
    parser.add_argument("--sets", type=int, default=1)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--galaxy", type=Path, default=Path("../shared/data/galaxy_draws.npz"))
    options = parser.parse_args()
    for section in set(options.sections) - SECTIONS.keys():
        parser.error(f"no section {section!r}; there are {', '.join(SECTIONS)}")
    for section in options.sections:
        print(section, flush=True)
        rows = SECTIONS[section](options)
        used = (
            resource.getrusage(resource.RUSAGE_SELF),
            resource.getrusage(resource.RUSAGE_CHILDREN),
        )
        print(f"  {sum(u.ru_utime + u.ru_stime for u in used):.0f} CPU seconds so far", flush=True)
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            (options.output / f"mixture-{section}.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
