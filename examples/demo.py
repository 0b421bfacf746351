"""The main job, end to end: data in, draws sampled, every method's estimate and a report out.

Run by ``make demo``. The data are the velocities of 82 galaxies that come with the package.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import partita as pt

out = Path("out") / "demo"
out.mkdir(parents=True, exist_ok=True)

galaxies = pt.datasets.load_galaxies()
galaxies.to_frame().to_csv(out / "galaxies.csv", index=False)
print("Sampling a Dirichlet-process mixture ...")
draws = pt.sample_mixture(galaxies.data, n_draws=2_500, n_burn=2_500, n_chains=4, rng=1, n_jobs=-1)
draws.save(out / "draws.npz")
print(draws)
shares = np.bincount(draws.n_clusters) / draws.n_draws
print("Clusters:", ", ".join(f"{k}: {p:.0%}" for k, p in enumerate(shares) if p >= 0.01))

table = pt.compare(draws, rng=1, n_jobs=-1)
print(table)
table.frame.to_csv(out / "comparison.csv")

best = pt.estimate(draws, loss="vi", rng=1, n_jobs=-1)
best.to_frame().to_csv(out / "estimate.csv")
print(f"\n{best}")
report = pt.report(
    best, draws, out / "report.html", galaxies.to_frame(), comparison=table, title="82 galaxies"
)
print(f"The data, the draws, the comparison and the estimate are in {out}/")
print(f"From the shell: partita run {out / 'galaxies.csv'}")
print(f"The report, to open in a browser: {report}")
