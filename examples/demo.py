"""The main job, end to end: data in, draws sampled, every method's estimate and a report out.

Run by ``make demo``. The data are the velocities of 82 galaxies that come with the package, and the
model is the paper's. The galaxies at the edges belong to no group for sure, so the loss decides.
"""

from __future__ import annotations

from pathlib import Path

import partita as pt

out = Path("out") / "demo"
out.mkdir(parents=True, exist_ok=True)

galaxies = pt.datasets.load_galaxies()
galaxies.to_frame().to_csv(out / "galaxies.csv", index=False)
print("Sampling partitions of 82 galaxies by velocity ...")
draws = pt.sample_mixture(
    galaxies.data, prior="paper", n_draws=2_500, n_burn=2_500, n_chains=4, rng=1
)
draws.save(out / "draws.npz")
print(draws)

table = pt.compare(draws, rng=1)
table.frame.to_csv(out / "comparison.csv")
print("\nWhat each method reports, and what that costs under three losses:")
print(table.frame[["K", "binder", "vi", "omari"]].round(3).to_string())

best = pt.estimate(draws, loss="vi", rng=1)
best.to_frame().to_csv(out / "estimate.csv")
print(f"\nThe partition of least expected VI: {best}")
print(f"Its clusters hold {', '.join(map(str, best.sizes))} galaxies.")
print(pt.credible_ball(best, draws))
doubt = pt.item_uncertainty(best, draws).nlargest(3, "entropy")
print(f"Most in doubt: galaxies {', '.join(map(str, doubt.index))}.")

report = pt.report(
    best, draws, out / "report.html", galaxies.to_frame(), comparison=table, title="82 galaxies"
)
print(f"\nThe data, the draws, the comparison and the estimate are in {out}/")
print(f"The same from the shell: partita run {out / 'galaxies.csv'} --prior paper")
print(f"The report, to open in a browser: {report}")
