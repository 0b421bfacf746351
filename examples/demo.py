"""The main job, end to end: draws in a file, the estimates of every method out.

Run by ``make demo``. The draws are simulated: 150 items in five clusters, some of them ambiguous.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import partita as pt

out = Path("out") / "demo"
out.mkdir(parents=True, exist_ok=True)

planted = np.arange(150) * 5 // 150
simulated = pt.datasets.simulate_draws(150, 2000, n_clusters=5, noise=0.15, rng=1)
names = [f"item {i}" for i in range(150)]
pd.DataFrame(simulated.labels, columns=names).to_csv(out / "draws.csv", index=False)

draws = pt.read_draws(out / "draws.csv")
print(draws)
table = pt.compare(draws, truth=planted, rng=1, n_jobs=-1)
print(table)
table.frame.to_csv(out / "comparison.csv")

best = pt.estimate(draws, loss="vi", rng=1, n_jobs=-1)
best.to_frame().to_csv(out / "estimate.csv")
print(f"\n{best}")
print(f"The draws, the comparison and the estimate are in {out}/")
print(f"From the shell: partita compare {out / 'draws.csv'}")
