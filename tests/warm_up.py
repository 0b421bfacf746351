"""Compile what most tests need, once, before the workers of pytest start.

    python tests/warm_up.py

Two workers that begin with an empty kernel cache compile the same kernels side by side, each for
itself. Here two processes compile half of them each; the workers then read them from the disk.
With a warm cache this takes as long as importing.
"""

from __future__ import annotations

import subprocess
import sys

LABELS = """
import partita as pt
draws = pt.datasets.simulate_draws(60, 80, n_clusters=3, rng=0)
for loss in ("vi", "nid", "binder"):
    best = pt.estimate(draws, loss=loss, rng=0)
pt.estimate(draws, method="minvi")
pt.credible_ball(best.labels, draws)
pt.item_uncertainty(best, draws)
pt.diagnose(draws)
"""
FACTORS = """
import numpy as np
import partita as pt
psm = pt.posterior_similarity(pt.datasets.simulate_draws(60, 80, n_clusters=3, rng=0))
for model in pt.nmf.NAMES:
    pt.factorize(psm, model=model, rank=3, n_init=2, rng=0)
data = np.random.default_rng(0).normal(size=(40, 2))
for prior in ("independent", "conjugate"):
    draws = pt.sample_mixture(data, n_draws=5, n_burn=5, prior=prior, rng=0)
pt.mixture.predictive_density(draws, data, data[:2])
"""


def main() -> int:
    """Run both halves side by side and return 1 if one fails."""
    halves = [subprocess.Popen([sys.executable, "-c", code]) for code in (LABELS, FACTORS)]
    return max(half.wait() != 0 for half in halves)


if __name__ == "__main__":
    sys.exit(main())
