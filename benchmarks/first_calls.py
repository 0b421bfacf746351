"""How much longer the first call of every public verb takes than its later ones.

    python benchmarks/first_calls.py

Each verb has a process of its own, in which everything but the verb's own room is imported before.
The import of other libraries (pandas, SciPy, highspy, xarray, matplotlib) is apart: it comes before the clock
starts. Milliseconds of the processor; the last column is to stay under 50.
"""

from __future__ import annotations

import subprocess
import sys

SETUP = """
import importlib.util, time
import numpy as np
import pandas, scipy.linalg, scipy.sparse.csgraph, scipy.cluster.hierarchy, scipy.optimize, scipy.special
import scipy.spatial.distance, scipy.stats, scipy.sparse.linalg
for name in ("highspy", "xarray", "matplotlib.pyplot"):
    if importlib.util.find_spec(name.partition(".")[0]):
        importlib.import_module(name)
import partita as pt
rng = np.random.default_rng(0)
truth = np.repeat([0, 1, 2], 20)
labels = np.where(rng.random((400, 60)) < 0.9, truth, rng.integers(0, 4, (400, 60)))
draws, data = pt.Draws(labels), rng.normal(size=(60, 2)) + 5 * truth[:, None]
psm = np.eye(60) + (labels.T[:, None] == labels.T).mean(axis=2) * (1 - np.eye(60))
"""
CALLS = {
    "Draws": "pt.Draws(labels)",
    "posterior_similarity": "pt.posterior_similarity(draws)",
    "estimate": "pt.estimate(draws, rng=0)",
    "expected_loss": "pt.expected_loss(truth, draws)",
    "compare": "pt.compare(draws, rng=0)",
    "certify": "pt.certify(truth, psm)",
    "diagnose": "pt.diagnose(draws)",
    "credible_ball": "pt.credible_ball(truth, draws)",
    "item_uncertainty": "pt.item_uncertainty(truth, draws)",
    "cluster_uncertainty": "pt.cluster_uncertainty(truth, draws)",
    "posterior_n_clusters": "pt.posterior_n_clusters(draws)",
    "align_memberships": "pt.align_memberships(truth, draws)",
    "chips": "pt.chips(draws, prob=0.5, rng=0)",
    "stability": "pt.stability(truth, draws)",
    "summarize_modes": "pt.summarize_modes(draws, rng=0)",
    "loss_error": "pt.loss_error(truth, draws)",
    "factorize": "pt.factorize(psm, rank=3, rng=0)",
    "sample_mixture": "pt.sample_mixture(data, n_draws=50, n_burn=50, rng=0)",
    "rand_index": "pt.rand_index(truth, labels[0])",
}
CLOCK = """
taken = []
for _ in range(4):
    began = time.process_time()
    {call}
    taken.append(1e3 * (time.process_time() - began))
print(taken[0], sorted(taken[1:])[1])
"""


def main() -> None:
    print("| verb | first, ms | later, ms | more |\n|---|---|---|---|")
    for name, call in CALLS.items():
        command = [sys.executable, "-c", SETUP + CLOCK.format(call=call)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"| {name} | {done.stderr.strip().splitlines()[-1]} | | |")
            continue
        first, later = map(float, done.stdout.split()[-2:])
        print(f"| {name} | {first:.1f} | {later:.1f} | {first - later:.1f} |", flush=True)


if __name__ == "__main__":
    main()
