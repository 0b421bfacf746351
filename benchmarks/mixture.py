"""The mixture sampler: speed, mixing and scaling. ``python benchmarks/mixture.py [section ...]``.

Sections: speed, scaling, crabs, configurations, galaxy. Times are CPU seconds of one thread, after
compilation. The stated limit for speed is 4.5 s, what PReMiuM needs for 15,000 scans of 400 items
in the plane on one idle core; PReMiuM itself is not run here.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import partita as pt
from partita.mixture import Moves, predictive_density

PREMIUM_SECONDS = 4.5
STARTS = ["one", "singletons", "kmeans", "random"]
GIBBS = Moves("explicit", 0, 0)


def clusters(separate, balanced, spherical, rng):
    """A data set of the paper's Table 1."""
    at = (3.0 if separate else 1.5) * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    sizes = (100, 100, 100, 100) if balanced else (150, 50, 100, 30)
    shapes = [np.eye(2)] * 4
    if not spherical:
        shapes = [[[2, -0.8], [-0.8, 1]], [[1, 0.8], [0.8, 2]], [[1, 0.4], [0.4, 1]], 2 * np.eye(2)]
    parts = [rng.multivariate_normal(m, s, n) for m, s, n in zip(at, shapes, sizes, strict=True)]
    return np.concatenate(parts), np.repeat(np.arange(4), sizes)


def timed(X, **words):
    """CPU seconds and draws, compilation excluded."""
    pt.sample_mixture(X, **{**words, "n_draws": 5, "n_burn": 5})
    began = time.process_time()
    draws = pt.sample_mixture(X, **words)
    return time.process_time() - began, draws


def split_rhat(traces):
    """Gelman and Rubin's, of half chains."""
    halves = [h for t in traces for h in np.array_split(np.asarray(t, float), 2)]
    n = min(map(len, halves))
    within = np.mean([np.var(h, ddof=1) for h in halves])
    between = n * np.var([h.mean() for h in halves], ddof=1)
    return float(np.sqrt(1 + (between / n) / within - 1 / n)) if within > 0 else np.nan


def effective(trace):
    """Effective sample size by batch means, 50 batches."""
    batches = np.array([b.mean() for b in np.array_split(trace, 50)])
    return len(trace) * trace.var() / (len(trace) / 50 * batches.var(ddof=1))


def agreement(draws):
    """Largest difference between chains' similarity matrices, R-hats, clusters by chain."""
    parts = [draws.take(draws.chains == c) for c in range(draws.n_chains)]
    psms = [pt.posterior_similarity(part).to_dense() for part in parts]
    apart = max(np.abs(a - b).max() for a in psms for b in psms)
    rhat = {k: round(split_rhat([p.traces[k] for p in parts]), 3) for k in draws.traces}
    return apart, rhat, [round(float(p.n_clusters.mean()), 2) for p in parts]


def speed():
    for name in ("TTT", "FFF"):
        X, _ = clusters(*(c == "T" for c in name), np.random.default_rng(1))
        print(
            f"{name}: n = {len(X)}, p = 2, 15,000 scans (PReMiuM: {PREMIUM_SECONDS} s at n = 400)"
        )
        for label, moves in [
            ("Gibbs alone", GIBBS),
            ("one split-merge a scan", Moves("explicit", 1, 0)),
            ("default moves", Moves()),
        ]:
            seconds, draws = timed(X, moves=moves, rng=1)
            ess = effective(draws.traces["n_clusters"])
            print(
                f"  {label:24s}{seconds:7.2f} s, 1/{PREMIUM_SECONDS / seconds:.1f} of the limit; "
                f"{ess / seconds:7.0f} effective samples of K a second",
                flush=True,
            )


def scaling():
    """Microseconds a scan, Gibbs alone, from a start at the truth."""
    for n, k in [(1000, 4), (10_000, 4), (100_000, 4), (10_000, 16), (10_000, 64)]:
        rng = np.random.default_rng(0)
        truth = rng.integers(0, k, n)
        side = int(np.ceil(np.sqrt(k)))
        X = 10.0 * np.column_stack([truth % side, truth // side]) + rng.normal(size=(n, 2))
        scans = max(3, 200_000 // n)
        words = {"moves": GIBBS, "start": truth, "n_burn": 0, "rng": 0}
        # Two lengths, so that the marginals of single items, computed once, drop out.
        short, _ = timed(X, n_draws=scans, **words)
        long, draws = timed(X, n_draws=4 * scans, **words)
        per = 1e9 * (long - short) / (3 * scans) / n
        print(f"  n {n:7d}, K {draws.n_clusters.mean():5.1f}: {per:7.1f} ns an item", flush=True)


def crabs():
    table = pt.datasets.load_crabs()
    X, truth = table.data, table.truth
    for label, words in [
        ("paper", {"prior": "paper"}),
        ("independent, df 7", {"df": 7}),
        ("conjugate, df 7", {"prior": "conjugate", "df": 7}),
        ("independent", {}),
    ]:
        began = time.process_time()
        draws = pt.sample_mixture(
            X, n_draws=15_000, n_burn=5_000, n_chains=4, start=STARTS, rng=1, **words
        )
        seconds = time.process_time() - began
        apart, rhat, means = agreement(draws)
        best = pt.estimate(draws.thin(20), loss="vi", rng=0)
        print(
            f"  {label:18s} apart {apart:.3f}, R-hat {rhat}, K {means}, "
            f"{np.round(np.bincount(draws.n_clusters)[1:6] / draws.n_draws, 3)}, estimate "
            f"K {best.n_clusters}, AR {pt.adjusted_rand_index(best.labels, truth):.3f}, "
            f"VI {pt.variation_of_information(best.labels, truth):.3f}, "
            f"{seconds / 4:.1f} s a chain",
            flush=True,
        )


def configurations(n_sets=1):
    for i in range(8):
        name = "".join("FT"[(i >> (2 - j)) & 1] for j in range(3))
        worst, rhats = 0.0, []
        for s in range(n_sets):
            X, _ = clusters(*(c == "T" for c in name), np.random.default_rng([i, s]))
            draws = pt.sample_mixture(X, n_chains=4, start=STARTS, rng=s)
            apart, rhat, _ = agreement(draws.thin(5))
            large = [
                np.median([(np.bincount(r) >= 0.05 * len(X)).sum() for r in part.labels[::20]])
                for part in (draws.take(draws.chains == c) for c in range(4))
            ]
            worst = max(worst, apart)
            rhats.append(max(rhat.values()))
        print(
            f"  {name}: apart at most {worst:.3f}, R-hat at most {max(rhats):.3f}, "
            f"large clusters by chain in the last set {large}",
            flush=True,
        )


def galaxy():
    velocities = pt.datasets.load_galaxies().data.ravel()
    draws = pt.sample_mixture(velocities, n_chains=4, start=STARTS, rng=1)
    apart, rhat, _ = agreement(draws)
    print(f"  K {np.round(np.bincount(draws.n_clusters)[1:12] / draws.n_draws, 3)}")
    print(f"  apart {apart:.3f}, R-hat {rhat}")
    grid = np.linspace(8, 36, 15)
    print("  density", np.round(predictive_density(draws, velocities, grid, rng=0), 4))
    if len(sys.argv) > 2:
        others = pt.read_draws(sys.argv[2])
        theirs = pt.posterior_similarity(others).to_dense()
        ours = pt.posterior_similarity(draws).to_dense()
        print(f"  theirs K {np.round(np.bincount(others.n_clusters)[1:12] / others.n_draws, 3)}")
        print(f"  similarity differs by {np.abs(ours - theirs).mean():.3f} on average")


SECTIONS = {f.__name__: f for f in (speed, scaling, crabs, configurations, galaxy)}

if __name__ == "__main__":
    for section in [a for a in sys.argv[1:] if a in SECTIONS] or list(SECTIONS):
        print(section)
        SECTIONS[section]()
