"""How far Binder's loss is proved, and how soon: the certificate of the default search's answer.

    python benchmarks/certify.py [--items 1000] [--draws 500] [--base 41000] [--limit 30]
        [--galaxy draws.npz] [--exact 60]

Limits: galaxy and the reference of 60 items proved in under a second, separated posteriors of 2,000
items in under 5 s; hard ones of 1,000 items (`benchmarks/posteriors.py`, weak, two numbers of
clusters each) to under 0.1% in under 30 s; posteriors of real data of 82 to 400 items (those of
scikit-learn where it is installed) without a gap in under 3 s. Seconds are of the processor, for
`certify` alone, π̂ in hand, after a call that loads what is compiled. With --exact, what is left
open goes to `search.Exact` for so many seconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import time
from functools import partial
from pathlib import Path

import numpy as np

import partita as pt
from posteriors import SIMULATORS

REFERENCE = Path(__file__).resolve().parent.parent / "tests" / "reference" / "draws_60x400.npz"


def tables():
    """Names and real data, columns on one scale."""
    yield "galaxies", pt.datasets.load_galaxies().data.reshape(82, -1)
    yield "crabs", pt.datasets.load_crabs().data
    if importlib.util.find_spec("sklearn"):
        from sklearn import datasets

        yield "iris", datasets.load_iris().data
        yield "wine", datasets.load_wine().data[:, :6]
        yield "breast cancer", datasets.load_breast_cancer().data[:400, :5]
        yield "diabetes", datasets.load_diabetes().data[:400, 2:6]


def sampled(data, seed):
    """Draws of the paper's mixture, given a table."""
    scaled = (data - data.mean(axis=0)) / data.std(axis=0)
    return np.asarray(pt.sample_mixture(scaled, n_draws=1000, n_burn=1000, rng=seed).labels)


def cases(options):
    """Names and how to make the draws."""
    if options.galaxy:
        yield "galaxy, the paper's draws", lambda: np.load(options.galaxy)["labels"]
    yield "reference", lambda: np.load(REFERENCE)["labels"]
    separated = partial(pt.datasets.simulate_draws, 2000, 1000, n_clusters=10, rng=options.base)
    yield "separated", lambda: np.asarray(separated().labels)
    for name, data in tables():
        yield f"{name}, mixture", partial(sampled, data, options.base)
    for n in options.items:
        for name, make in SIMULATORS.items():
            for k in (4, 15):
                seed = options.base + n + options.draws + k
                yield f"{name} K={k} weak", partial(make, n, options.draws, k, False, seed)


def row(name, labels, options):
    """Certify the default search's answer, and show it."""
    psm = pt.Similarity(pt.posterior_similarity(labels).to_dense())
    best = pt.estimate(labels, loss="binder", rng=0)
    start = time.process_time()
    proof = pt.certify(best, psm, time_limit=options.limit)
    seconds = time.process_time() - start
    status = f"optimal ({proof.method})" if proof.is_optimal else proof.method
    if options.exact and not proof.is_optimal:
        start = time.process_time()
        exact = pt.search.Exact(time_limit=options.exact)
        least = pt.estimate(psm, loss="binder", search=exact, rng=0)
        word = "proved" if least.info["is_optimal"] else "open still"
        lower = 100 * (1 - least.expected_loss / best.expected_loss)
        status += f"; Exact {lower:.5f}% lower, {word}, {time.process_time() - start:.1f}s"
    n, gap = labels.shape[1], 100 * proof.relative_gap
    print(f"| {name} | {n:,} | {gap:.5f} | {seconds:.2f} | {status} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", nargs="*", type=int, default=[1000])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--base", type=int, default=41_000, help="of the simulators' seeds")
    parser.add_argument("--limit", type=float, help="seconds that a certificate has")
    parser.add_argument("--exact", type=float, help="seconds for Exact, where a gap is left")
    parser.add_argument("--galaxy", type=Path)
    options = parser.parse_args()
    few = pt.Draws(np.random.default_rng(3).integers(0, 3, (9, 30)))
    pt.certify(pt.estimate(few, loss="binder", rng=0), few)  # loads what is compiled
    print("| posterior | items | gap, % | seconds | status |\n|---|---|---|---|---|")
    for name, make in cases(options):
        row(name, make(), options)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
