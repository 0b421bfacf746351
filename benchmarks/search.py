"""How good the default search is and what it costs, on simulated posteriors.

    python benchmarks/search.py compare --other PYTHON [--share 0.2] [--results rows.jsonl]
    python benchmarks/search.py peers [--results rows.jsonl]
    python benchmarks/search.py ablate [--only patience sampled]
    python benchmarks/search.py effort

``compare`` runs another installed version (PYTHON is its interpreter) beside this one, in turns, and
prints in how many cells our loss is above, by kind of loss, and the ratios of processor seconds.
``peers`` does so beside R's salso, GreedyEPL and mcclust.ext where R has them. ``ablate`` runs the
search without each of its constants, ``effort`` with 0.1 to 10 times the work. A cell is one
posterior, loss and seed. All take --sizes, --simulators, --clusters, --strengths, --losses,
--seeds and --base (of the simulators' seeds); --share takes a fixed random part of the posteriors.
With --results each row is appended to a file, and a later run goes on where that one ended.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import numpy as np

import partita as pt
from posteriors import SIMULATORS
from rivals import PEERS, rivals

FIRM = ("vi", "binder", "omari", "pear", "vi-lower-bound")  # losses that are held to less
BENT = ("nvi", "nid", "id")
SIZES = ("100x500", "400x500", "400x1000", "1000x500", "100x10000")

# Each constant of src/core/settings.hpp at a value that takes its effect away or halves it.
WITHOUT = {
    "n_starts": {"n_starts": 1},
    "n_members": {"n_members": 2},
    "batch": {"batch": 1},
    "recombined": {"recombined": 0.0},
    "joined": {"joined": 0.0},
    "patience": {"patience": 8},
    "late": {"late": 0},
    "n_populations": {"n_populations": 2},
    "sampled": {"sampled": 100},
    "worth": {"worth": 0.0},
    "n_looked": {"n_looked": 1},
    "merges": {"merges": False},
}


def posteriors(options):
    """Name and a function that makes the draws, for each posterior that is asked for."""
    for size in options.sizes:
        n, m = map(int, size.split("x"))
        for name in options.simulators:
            for k in options.clusters:
                for strength in options.strengths:
                    case = f"{name} {size} K={k} {strength}"
                    if zlib.crc32(f"{case} {options.base}".encode()) / 2**32 >= options.share:
                        continue
                    seed = options.base + n + m + k
                    yield (
                        case,
                        lambda a=(n, m, k, strength == "strong", seed), f=SIMULATORS[name]: f(*a),
                    )


class Engine:
    """An installed version in a process of its own, on one thread."""

    def __init__(self, python, *, is_ours=False):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        if not is_ours:
            environment.pop("PYTHONPATH", None)
        command = [python, str(Path(__file__).with_name("engine.py"))]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def answer(self, file, loss, seed, **how):
        """Return the labels and the processor seconds of one search."""
        task = {"file": str(file), "loss": loss, "seed": seed, "how": how}
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        return np.array(found["labels"]), found["seconds"]


@contextmanager
def written(draws):
    """The path of the draws in a file that other processes read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "draws.npy")
        np.save(path, draws)
        yield path


def measure(options, answers):
    """Yield a row for each posterior and loss: (value, seconds) of each seed by who answered.

    ``answers(file, draws, loss, seed)`` gives name to (labels, seconds).
    """
    kept = options.results
    rows = [json.loads(line) for line in kept.open()] if kept and kept.exists() else []
    yield from rows
    done = {(row["case"], row["loss"]) for row in rows}
    for case, make in posteriors(options):
        wanted = [loss for loss in options.losses if (case, loss) not in done]
        if not wanted:
            continue
        draws = make()
        with written(draws) as file:
            for loss in wanted:
                found = {}
                for seed in range(options.seeds):
                    for who, (labels, seconds) in answers(file, draws, loss, seed).items():
                        value = float(pt.expected_loss(labels, draws, loss=loss))
                        found.setdefault(who, []).append((value, seconds))
                row = {"case": case, "loss": loss, "found": found}
                if kept:
                    with kept.open("a") as out:
                        out.write(json.dumps(row) + "\n")
                yield row


def excess(ours, theirs):
    """By which share a loss is above another; two that are 0 but for rounding are equal."""
    return 0.0 if ours <= theirs + 1e-12 else (ours - theirs) / max(theirs, 1e-12)


def compare(options):
    """This version beside another: shares of cells above, ratios of processor seconds."""
    ours, other = Engine(sys.executable, is_ours=True), Engine(options.other)

    def answers(file, _draws, loss, seed):
        pair = [("ours", ours), ("other", other)][:: 1 if seed % 2 else -1]
        return {who: engine.answer(file, loss, seed) for who, engine in pair}

    cells = []
    for row in measure(options, answers):
        for (a, taken), (b, before) in zip(
            row["found"]["ours"], row["found"]["other"], strict=True
        ):
            cells.append((row["loss"], row["case"], excess(a, b), excess(b, a), taken, before))
    print(
        "| losses | cells | above 1e-4, % | above 1e-3, % | below 1e-4, % | seconds, ratio of sums |"
    )
    print("|---|---|---|---|---|---|")
    groups = [(", ".join(g), g) for g in (FIRM, BENT)] + [
        (loss, (loss,)) for loss in options.losses
    ]
    for name, group in groups:
        some = [cell for cell in cells if cell[0] in group]
        if not some:
            continue
        above, below = [cell[2] for cell in some], [cell[3] for cell in some]
        ratio = sum(cell[4] for cell in some) / sum(cell[5] for cell in some)
        shares = [
            100 * np.mean(np.array(x) > y) for x, y in ((above, 1e-4), (above, 1e-3), (below, 1e-4))
        ]
        print(f"| {name} | {len(some)} | {' | '.join(f'{x:.1f}' for x in shares)} | {ratio:.2f} |")
    total = sum(cell[4] for cell in cells), sum(cell[5] for cell in cells)
    print(
        f"\nSeconds in all: {total[0]:.1f} and {total[1]:.1f}, ratio {total[0] / total[1]:.2f}.\n"
    )
    sizes = [size for size in SIZES if any(f" {size} " in cell[1] for cell in cells)]
    print(f"| median ratio | {' | '.join(sizes)} |\n|{'---|' * (1 + len(sizes))}")
    for loss in options.losses:
        some = [
            [c[4] / c[5] for c in cells if c[0] == loss and f" {size} " in c[1]] for size in sizes
        ]
        print(f"| {loss} | {' | '.join(f'{median(x):.2f}' if x else '' for x in some)} |")
    print("\nThe worst cells:")
    for loss, case, above, *_ in sorted(cells, key=lambda cell: -cell[2])[:10]:
        print(f"- {loss}, {case}: {100 * above:.3f}% above")


def peers(options):
    """This version beside the peers in R."""
    ours = Engine(sys.executable, is_ours=True)

    def answers(file, draws, loss, seed):
        found = {"ours": ours.answer(file, loss, seed)}
        return found | (rivals(draws, loss, options) if seed == 0 else {})

    above, ratios = [], {}
    for row in measure(options, answers):
        mine = row["found"].pop("ours")
        best = min((v for values in row["found"].values() for v, _ in values), default=None)
        if best is None:
            continue
        above += [excess(value, best) for value, _ in mine]
        for who, ((_, seconds),) in row["found"].items():
            size = row["case"].split()[1]
            ratios.setdefault((who, row["loss"], size), []).append(
                seconds / median(t for _, t in mine)
            )
    above = np.array(above)
    print(f"{above.size} cells; above the best peer by 1e-4 in {100 * np.mean(above > 1e-4):.1f}%")
    print("| peer | loss | size | its seconds over ours: median, least, most |\n|---|---|---|---|")
    for (who, loss, size), x in ratios.items():
        print(f"| {who} | {loss} | {size} | {median(x):.1f} ({min(x):.1f} to {max(x):.1f}) |")


def trial(options, variants):
    """Print for each variant of the search its mean excess over the best of all, and its seconds."""
    ours = Engine(sys.executable, is_ours=True)

    def answers(file, _draws, loss, seed):
        return {name: ours.answer(file, loss, seed, **how) for name, how in variants.items()}

    above, seconds = {name: [] for name in variants}, dict.fromkeys(variants, 0.0)
    for row in measure(options, answers):
        least = min(value for values in row["found"].values() for value, _ in values)
        for name, values in row["found"].items():
            above[name] += [excess(value, least) for value, _ in values]
            seconds[name] += sum(taken for _, taken in values)
    usual = seconds[next(iter(variants))]
    print(
        "| | cells | mean excess, 1e-4 | above 1e-4, % | above 1e-3, % | seconds, ratio |\n|---|---|---|---|---|---|"
    )
    for name, some in above.items():
        x = np.array(some)
        shares = f"{100 * np.mean(x > 1e-4):.1f} | {100 * np.mean(x > 1e-3):.1f}"
        print(
            f"| {name} | {x.size} | {1e4 * x.mean():.2f} | {shares} | {seconds[name] / usual:.2f} |"
        )


def ablate(options):
    """The search without each of its constants."""
    chosen = {
        name: how for name, how in WITHOUT.items() if not options.only or name in options.only
    }
    trial(
        options,
        {"as it is": {"settings": {}}, **{x: {"settings": how} for x, how in chosen.items()}},
    )


def effort(options):
    """The search with less and with more work."""
    values = (1.0, 0.1, 0.3, 3.0, 10.0)
    trial(options, {f"effort {x:g}": {"effort": x} for x in values})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    verbs = {"compare": compare, "peers": peers, "ablate": ablate, "effort": effort}
    parser.add_argument("verb", choices=verbs)
    parser.add_argument("--other", help="the interpreter of the other version")
    parser.add_argument("--losses", nargs="+", default=FIRM + BENT, choices=FIRM + BENT)
    parser.add_argument("--simulators", nargs="+", default=list(SIMULATORS), choices=SIMULATORS)
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="items x draws")
    parser.add_argument("--clusters", nargs="+", type=int, default=[4, 8, 15], help="of the truth")
    parser.add_argument("--strengths", nargs="+", default=["weak", "strong"])
    parser.add_argument("--share", type=float, default=1.0, help="of the posteriors")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--base", type=int, default=7000)
    parser.add_argument("--rivals", nargs="+", default=PEERS, choices=PEERS)
    parser.add_argument("--patience", type=float, default=600, help="seconds that a peer has")
    parser.add_argument("--only", nargs="+", choices=WITHOUT, help="constants to take away")
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    verbs[options.verb](options)


if __name__ == "__main__":
    main()
