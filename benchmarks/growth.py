"""Time and memory against items, draws and clusters; the million; implicit against dense.

    python benchmarks/growth.py million [--sizes equal|power] [--search nmf-ls|auto|...] [--stored]
    python benchmarks/growth.py million --items 200000 --draws 500 --clusters 1500 --search auto
    python benchmarks/growth.py curve items|draws|clusters [--search ...] [--json FILE]
    python benchmarks/growth.py agree [--items 20000] [--model ls] [--device cuda]
    python benchmarks/growth.py passes [--items 50000] [--draws 500]
    python benchmarks/growth.py rounds [--clusters 100] [--spread 0.04] [--loss vi]

Every measurement is a process of its own, so that its peak memory is its own; seconds are of the
processor, user and system, all threads together, since those do not depend on what else the machine
is doing, with wall time and the machine's load (mean of five minutes) beside them. The draws are simulated: a planted partition, one label in ten
replaced at random in every draw. ``ratio`` is of the processor's seconds to those of the row before.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def planted(n_items: int, n_clusters: int, sizes: str, seed: int = 0) -> np.ndarray:
    """Return the planted partition: clusters of equal size, or of sizes 1, 1/2, 1/3, ..."""
    share = np.ones(n_clusters) if sizes == "equal" else 1.0 / np.arange(1, n_clusters + 1)
    dtype = np.min_scalar_type(n_clusters)
    random = np.random.default_rng(seed)
    return random.choice(n_clusters, n_items, p=share / share.sum()).astype(dtype)


def simulate(path: Path, n_items: int, n_draws: int, n_clusters: int, sizes: str) -> None:
    """Write draws a row at a time: some three seconds for a thousand draws of a million items."""
    truth = planted(n_items, n_clusters, sizes)
    random = np.random.default_rng(1)
    out = np.lib.format.open_memmap(path, "w+", truth.dtype, (n_draws, n_items))
    for row in out:
        row[:] = truth
        count = random.binomial(n_items, 0.1)
        places = random.integers(0, n_items, count)
        row[places] = random.integers(0, n_clusters, count, dtype=truth.dtype)
    out.flush()


def searched(name: str) -> object:
    """Return a search by its name; ``nmf-ls+`` is polished."""
    from partita.search import NMF

    if name.endswith("+"):
        return NMF(name[4:-1], polish=True)
    return name


def one(arguments: argparse.Namespace) -> dict[str, object]:
    """Measure one estimate in this process."""
    import partita as pt

    began = time.perf_counter()
    draws = pt.read_draws(arguments.path, stored=True if arguments.stored else None)
    read = time.process_time()
    best = pt.estimate(
        draws, loss=arguments.loss, search=searched(arguments.search), rng=0,
        n_jobs=arguments.jobs,
    )  # fmt: skip
    cpu = time.process_time()
    truth = planted(draws.n_items, arguments.clusters, arguments.sizes)
    return {
        "items": draws.n_items,
        "draws": draws.n_draws,
        "clusters": arguments.clusters,
        "search": arguments.search,
        "loss": arguments.loss,
        "cpu_s": round(cpu, 1),
        "cpu_read_s": round(read, 1),
        "wall_s": round(time.perf_counter() - began, 1),
        "load": round(os.getloadavg()[1], 1),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "found": best.n_clusters,
        "expected_loss": best.expected_loss,
        "ari": pt.adjusted_rand_index(best.labels, truth),
        "info": {k: v for k, v in best.info.items() if isinstance(v, str | int | float)},
    }


def measured(folder: str, n_items: int, n_draws: int, n_clusters: int, **words: object) -> dict:
    """Simulate, and measure in a process of its own."""
    path = Path(folder) / f"{n_items}-{n_draws}-{n_clusters}-{words['sizes']}.npy"
    if not path.exists():
        simulate(path, n_items, n_draws, n_clusters, str(words["sizes"]))
    call = [sys.executable, __file__, "one", str(path), "--clusters", str(n_clusters)]
    for name, value in words.items():
        if isinstance(value, bool):
            call += [f"--{name}"] * value
        else:
            call += [f"--{name}", str(value)]
    done = subprocess.run(call, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(found), flush=True)
    return found


def exponent(xs: list[float], ys: list[float]) -> float:
    """Return the slope of log y on log x over the upper half of the sizes."""
    half = len(xs) // 2
    return float(np.polyfit(np.log(xs[half:]), np.log(np.maximum(ys[half:], 1e-3)), 1)[0])


SHAPES = {
    "million": (1_000_000, 1_000),
    "agree": (20_000, 200),
    "passes": (50_000, 500),
    "rounds": (3_000, 200),
}
CURVES = {
    "items": [(1_000 * 2**i, 200, 10) for i in range(11)],
    "draws": [(50_000, m, 10) for m in (250, 1_000, 4_000)],
    "clusters": [(50_000, 250, k) for k in (5, 20, 80, 200, 500, 1_000, 1_500)],
}


def curve(arguments: argparse.Namespace) -> None:
    """Measure along one axis, and fit exponents of time and memory."""
    sizes, place = (
        list(CURVES[arguments.axis]),
        ("items", "draws", "clusters").index(arguments.axis),
    )
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for n_items, n_draws, n_clusters in sizes:
            if not arguments.least <= (n_items, n_draws, n_clusters)[place] <= arguments.most:
                continue
            rows.append(measured(folder, n_items, n_draws, n_clusters, **words(arguments)))
            for file in Path(folder).iterdir():
                file.unlink()
    xs = [float(row[arguments.axis]) for row in rows]
    print(
        f"{arguments.axis:>12} {'cpu s':>8} {'wall s':>8} {'load':>6} {'MiB':>8} {'ARI':>8} {'ratio':>8}"
    )
    before = None
    for x, row in zip(xs, rows, strict=True):
        ratio = "" if before is None else f"{row['cpu_s'] / before['cpu_s']:8.2f}"
        print(
            f"{x:12,.0f} {row['cpu_s']:8.1f} {row['wall_s']:8.1f} {row['load']:6.1f} "
            f"{row['peak_mib']:8,} {row['ari']:8.5f} {ratio}"
        )
        before = row
    for what in ("cpu_s", "peak_mib") if len(rows) > 2 else ():
        print(f"exponent of {what}: {exponent(xs, [float(row[what]) for row in rows]):.2f}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1))


def words(arguments: argparse.Namespace) -> dict[str, object]:
    """The options that every measurement gets."""
    names = ("search", "loss", "sizes", "jobs", "stored")
    return {name: getattr(arguments, name) for name in names}


def million(arguments: argparse.Namespace) -> None:
    """Measure a million items and a thousand draws: 1 GB of labels."""
    n_clusters = arguments.clusters or (10 if arguments.sizes == "equal" else 50)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        shape = (arguments.items, arguments.draws, n_clusters)
        measured(folder, *shape, **words(arguments))


def agree(arguments: argparse.Namespace) -> None:
    """Compare what is fitted implicitly with what is fitted to the matrix."""
    import partita as pt

    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "draws.npy"
        simulate(path, arguments.items, arguments.draws, 10, arguments.sizes)
        draws = pt.read_draws(path)
    kinds = pt.posterior_similarity(draws, kind="implicit"), pt.posterior_similarity(draws)
    for rank in arguments.ranks:
        fits, seconds = [], []
        for similarity, device in zip(kinds, (None, arguments.device), strict=True):
            began = time.process_time()
            how = {"model": arguments.model, "rank": rank, "n_init": arguments.restarts, "rng": 0}
            fits.append(pt.factorize(similarity, **how, n_jobs=2, device=device))
            seconds.append(round(time.process_time() - began, 1))
        partitions = np.stack([fit.labels for fit in fits])
        few, all_of = pt.expected_loss(partitions, draws, loss="vi", n_jobs=2)
        row = {
            "model": arguments.model,
            "rank": rank,
            "objective": fits[0].objective,
            "objective_dense": fits[1].objective,
            "items_that_differ": int((partitions[0] != partitions[1]).sum()),
            "expected_vi": few,
            "expected_vi_dense": all_of,
            "cpu_s": seconds[0],
            "cpu_dense_s": seconds[1],
        }
        print(json.dumps(row), flush=True)


def overlapping(n_items: int, n_draws: int, n_clusters: int, spread: float) -> np.ndarray:
    """Draws of points in the plane, each in a cluster by its density; a fifth of them joined."""
    random = np.random.default_rng(1)
    centres, truth = random.random((n_clusters, 2)), random.integers(0, n_clusters, n_items)
    points = centres[truth] + spread * random.normal(size=(n_items, 2))
    far = ((points[:, None] - centres) ** 2).sum(2) / (2 * spread**2)
    share = np.exp(-(far - far.min(1, keepdims=True)))
    edges = (share / share.sum(1, keepdims=True)).cumsum(1)
    out = np.empty((n_draws, n_items), np.uint16)
    for row in out:
        labels = (random.random((n_items, 1)) > edges).sum(1).clip(0, n_clusters - 1)
        column, joined = np.arange(n_clusters), random.random(n_clusters) < 0.2
        column[joined] = random.integers(0, n_clusters, joined.sum())
        row[:] = column[labels]
    return out


def rounds(arguments: argparse.Namespace) -> None:
    """Compare greedy runs with the rounds that stand in for them where clusters are many."""
    import partita as pt
    from partita.search import _large

    shape = (arguments.items, arguments.draws, arguments.clusters)
    draws = pt.Draws(overlapping(*shape, arguments.spread))
    for how, work in (("runs", 10**15), ("rounds", 0)):
        _large._WORK = work
        began = time.process_time()
        best = pt.estimate(draws, loss=arguments.loss, rng=0)
        seconds = time.process_time() - began
        print(
            f"{how:8} {seconds:8.1f} s {best.n_clusters:6} clusters, "
            f"expected {arguments.loss} {best.expected_loss:.6f}",
            flush=True,
        )


def passes(arguments: argparse.Namespace) -> None:
    """Print what each kind of pass over the draws costs a label, in ns of one core."""
    import partita as pt
    from partita.draws import cluster_sums, contingency, spread

    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "draws.npy"
        simulate(path, arguments.items, arguments.draws, 10, arguments.sizes)
        draws = pt.read_draws(path)
    truth = planted(arguments.items, 10, arguments.sizes)
    x = np.random.default_rng(0).random((arguments.items, 44))
    table = cluster_sums(draws, x, 44)
    calls = {
        "counting a partition of ten clusters": lambda: list(contingency(draws, [truth])),
        "summing 12 columns over clusters": lambda: cluster_sums(draws, x[:, :12], 12),
        "summing 44 columns over clusters": lambda: cluster_sums(draws, x, 44),
        "spreading 12 columns over items": lambda: spread(draws, table[:, :12]),
        "spreading 44 columns over items": lambda: spread(draws, table),
    }
    for name, call in calls.items():
        call()
        began = time.process_time()
        call()
        spent = time.process_time() - began
        print(f"{name}: {1e9 * spent / arguments.items / arguments.draws:.2f} ns a label")


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("one", "million", "curve", "agree", "passes", "rounds"):
        command = commands.add_parser(name)
        command.add_argument("--search", default="nmf-ls+")
        command.add_argument("--loss", default="vi")
        command.add_argument("--sizes", default="equal", choices=("equal", "power"))
        command.add_argument("--jobs", type=int, default=2)
        command.add_argument("--stored", action="store_true")
        command.add_argument("--folder", default=None, help="where simulated draws go")
        if name == "one":
            command.add_argument("path")
            command.add_argument("--clusters", type=int)
        if name in SHAPES:
            command.add_argument("--items", type=int, default=SHAPES[name][0])
            command.add_argument("--draws", type=int, default=SHAPES[name][1])
        if name == "million":
            command.add_argument("--clusters", type=int, help="10, or 50 of sizes 1, 1/2, 1/3, ...")
        if name == "rounds":
            command.add_argument("--clusters", type=int, default=100)
            command.add_argument("--spread", type=float, default=0.04)
        if name == "restarts":
            kinds = ["gaussian", "perturbed", "modes"]
            command.add_argument("--kinds", nargs="+", default=kinds)
        if name == "agree":
            command.add_argument("--model", default="ls")
            command.add_argument("--ranks", type=int, nargs="+", default=[10])
            command.add_argument("--device", help="where the matrix is fitted")
            command.add_argument("--restarts", type=int, default=3)
        if name == "curve":
            command.add_argument("axis", choices=sorted(CURVES))
            command.add_argument("--least", type=int, default=0)
            command.add_argument("--most", type=int, default=2_000_000)
            command.add_argument("--json")
    return parser.parse_args()


def main() -> None:
    """Run what was asked for."""
    arguments = parsed()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if arguments.command == "one":
        print(json.dumps(one(arguments)))
        return
    commands = {
        "million": million,
        "curve": curve,
        "agree": agree,
        "passes": passes,
        "rounds": rounds,
    }
    commands[arguments.command](arguments)


if __name__ == "__main__":
    main()
