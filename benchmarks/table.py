"""One table: every task beside every rival on this machine, time, memory and quality in one run.

    python benchmarks/table.py [--tasks similarity ...] [--repeats 5] [--budget 60]
        [--limit 300] [--salso PROGRAM] [--markdown docs/benchmarks.md]

Each contender runs in a process of its own on one thread and the same input. Seconds are of the
processor: the median of the repeats, with the least and the most; repeats end early when BUDGET
seconds are spent, and a contender that has not answered after LIMIT seconds is ended. Compilation, imports and reading are not counted. Memory is the highest resident
size above that before the first counted call, at least 1 MiB. A ratio is the rival's over ours: above 1 ours is the
quicker or the leaner. R's packages are found through Rscript (R_LIBS is respected); what is not
installed is said. ``--salso`` names a program around salso's own library, for machines where
its R package is not: PROGRAM FILE CODE CAP RUNS SEED prints seconds, loss, runs and labels, where
FILE holds 32-bit integers: draws, items, then the labels item by item. ``--markdown`` puts the
table between the markers of that page, with what was run, where, and what gave no answer.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

import partita as pt
from mixture import clusters
from posteriors import gaussian

HERE = Path(__file__).parent
R_PACKAGES = ("mcclust", "mcclust.ext", "salso", "GreedyEPL", "NMF", "PReMiuM")
SALSO_CODES = {"binder": 0, "pear": 3, "vi": 4, "vi-lower-bound": 5, "nid": 8}
BEGIN, END = "<!-- table begins -->", "<!-- table ends -->"
HEADS = (
    "task", "rival", "ours, s", "theirs, s", "time", "ours, MiB", "theirs, MiB", "memory",
    "quality", "ours", "theirs",
)  # fmt: skip


@dataclass(frozen=True)
class Task:
    """What to run, on what, against whom, and what a good answer is.

    ``given`` makes the input; ``quality`` takes the task, its input and an answer and returns a
    number; ``measure`` says what that number is.
    """

    name: str
    about: str
    given: object
    rivals: tuple[str, ...]
    measure: str
    quality: object


@dataclass(frozen=True)
class Measured:
    """Seconds of each repeat, memory in MiB, and the last answer as it was written."""

    seconds: tuple[float, ...]
    memory: float
    answer: bytes


def draws_1000():
    labels = pt.datasets.simulate_draws(1_000, 1_000, n_clusters=10, noise=0.2, rng=0).labels
    return {"labels": labels.astype(np.int32)}


def draws_and_center(n_items, n_draws):
    draws = pt.datasets.simulate_draws(n_items, n_draws, n_clusters=8, noise=0.2, rng=0)
    center = pt.estimate(draws, method="minvi").labels
    return {"labels": draws.labels.astype(np.int32), "center": center}


@cache
def posterior():
    return {"labels": gaussian(200, 500, 15, False, 1).astype(np.int32)}


@cache
def matrix():
    draws = pt.datasets.simulate_draws(120, 1_000, n_clusters=8, noise=0.3, rng=0)
    return {"psm": pt.posterior_similarity(draws).to_dense(), "rank": 6, "n_items": 120}


def points():
    return {"data": clusters("TTT", 1), "truth": np.repeat(np.arange(4), 100)}


def largest_error(given, answer):
    labels = given["labels"]
    counts = np.zeros((labels.shape[1],) * 2)
    for draw in labels:
        counts += draw[:, None] == draw
    found = np.frombuffer(answer).reshape(counts.shape)
    return float(np.abs(found - counts / len(labels)).max())


def number(given, answer):
    return float(np.frombuffer(answer)[0])


def expected(loss):
    def quality(given, answer):
        labels = np.frombuffer(answer, np.int32)
        return float(pt.expected_loss(labels, given["labels"], loss=loss))

    return quality


def effective_samples(given, answer):
    labels = np.frombuffer(answer, np.int32).reshape((-1, len(given["data"])), order="F")
    if len(labels) == 1:
        return None
    return float(pt.diagnostics.ess_bulk(pt.Draws(labels).n_clusters[None].astype(float)))


def agreement(given, answer):
    labels = np.frombuffer(answer, np.int32).reshape((-1, len(given["data"])), order="F")
    found = labels[0] if len(labels) == 1 else pt.estimate(labels[::10], rng=0).labels
    return float(pt.adjusted_rand_index(found, given["truth"]))


def tasks():
    """Every task of the table, in the order of the pipeline."""
    yield Task(
        "similarity", "1,000 draws of 1,000 items", draws_1000,
        ("mcclust", "salso", "scikit-learn"), "largest error", largest_error,
    )  # fmt: skip
    yield Task(
        "loss", "E[VI] of a partition, 2,000 draws of 500 items", lambda: draws_and_center(500, 2_000),
        ("mcclust", "mcclust.ext", "salso", "scikit-learn"), "value", number,
    )  # fmt: skip
    rivals = {
        "vi": ("salso", "GreedyEPL", "scikit-learn"),
        "binder": ("salso", "GreedyEPL", "mcclust", "scikit-learn"),
        "nid": ("salso", "GreedyEPL"),
        "vi-lower-bound": ("salso", "mcclust.ext"),
        "pear": ("salso", "mcclust"),
    }
    for loss, names in rivals.items():
        about = f"least {loss}, 500 draws of 200 items"
        yield Task(f"search-{loss}", about, posterior, names, f"E[{loss}]", expected(loss))
    for model in ("ls", "kl", "ns", "offset"):
        names = ("NMF", "scikit-learn") if model in ("ls", "kl") else ("NMF",)
        about = f"{model}, 120 items, rank 6, ten restarts"
        yield Task(f"nmf-{model}", about, matrix, names, "objective", number)
    about = "15,000 scans of 400 points in the plane"
    yield Task("sampler", about, points, ("PReMiuM",), "effective K", effective_samples)
    yield Task("sampler", about, points, ("scikit-learn",), "ARI to truth", agreement)
    yield Task(
        "ball", "95%, VI, 5,000 draws of 82 items", lambda: draws_and_center(82, 5_000),
        ("mcclust.ext", "scikit-learn"), "radius", number,
    )  # fmt: skip


def write_inputs(given, folder):
    """Write the arrays as both languages read them: column by column, labels from 1."""
    labels, data = given.get("labels"), given.get("data")
    n_draws, n_items = (0, 0) if labels is None else labels.shape
    n_items = given.get("n_items", n_items if data is None else len(data))
    n_columns = 0 if data is None else data.shape[1]
    sizes = (n_draws, n_items, given.get("rank", 0), n_columns)
    (folder / "size.txt").write_text(" ".join(map(str, sizes)))
    kinds = {"labels": ("draws", np.int32), "center": ("labels", np.int32)}
    for key in ("labels", "center", "psm", "data"):
        if key in given:
            name, dtype = kinds.get(key, ({"psm": "matrix"}.get(key, key), np.float64))
            array = np.asarray(given[key], dtype) + (dtype is np.int32)
            array.astype(dtype).ravel(order="F").tofile(folder / f"{name}.bin")


def run(task, rival, folder, options):
    """Run one contender; a word why not where it gave no answer."""
    if rival == "salso" and options.salso:
        return run_salso(task, folder, options)
    script = "contenders.py" if rival in ("partita", "scikit-learn") else "contenders.R"
    program = [sys.executable] if script.endswith("py") else ["Rscript", "--vanilla"]
    given = [task.name, rival, str(folder), str(options.repeats), str(options.budget)]
    single = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    try:
        done = subprocess.run(
            [*program, str(HERE / script), *given], capture_output=True, text=True, check=False,
            env=os.environ | single, timeout=options.limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no answer in {options.limit:g} s"
    if done.returncode:
        print(f"{rival} failed at {task.name}: {done.stderr.strip()[-500:]}", file=sys.stderr)
        return "failed"
    memory, *seconds = map(float, done.stdout.split("MEASURED")[1].split())
    return Measured(tuple(seconds), max(memory, 1.0), (folder / "answer.bin").read_bytes())


def run_salso(task, folder, options):
    """Run the program around salso's library, 16 runs as R's default call has them."""
    if not task.name.startswith("search-"):
        return "not in the program"
    labels = np.fromfile(folder / "draws.bin", np.int32)
    shape = np.array((folder / "size.txt").read_text().split()[:2], np.int32)
    np.concatenate([shape, labels]).tofile(folder / "salso.bin")
    code = SALSO_CODES[task.name.removeprefix("search-")]
    seconds = []
    while len(seconds) < options.repeats and sum(seconds) < options.budget:
        call = [options.salso, folder / "salso.bin", code, 0, 16, len(seconds) + 1]
        try:
            done = subprocess.run(
                list(map(str, call)),
                capture_output=True,
                text=True,
                check=True,
                timeout=options.limit,
            )
        except subprocess.TimeoutExpired:
            return f"no answer in {options.limit:g} s"
        said = done.stdout.split()
        seconds.append(float(said[0]))
    return Measured(tuple(seconds), np.nan, np.array(said[3:], np.int32).tobytes())


def spread(seconds):
    low, middle, high = np.quantile(seconds, [0, 0.5, 1])
    return f"{middle:.3g} ({low:.3g}-{high:.3g})" if len(seconds) > 1 else f"{middle:.3g} (once)"


def times(theirs, ours):
    if not (ours > 0 and np.isfinite(theirs)):
        return "-"
    return f"{theirs / ours:,.0f}" if theirs > 100 * ours else f"{theirs / ours:.2g}"


def mebibytes(memory):
    return f"{memory:.1f}" if np.isfinite(memory) else "-"


def show(value):
    return "-" if value is None else f"{value:.6g}"


def rows(options, installed, silent):
    """Yield a row of the table for every task and rival that is here; note who gave no answer."""
    kept = {}
    for task in tasks():
        if options.tasks and task.name.split("-")[0] not in options.tasks:
            continue
        there = [r for r in task.rivals if r in installed or (r == "salso" and options.salso)]
        if not there:
            continue
        given = task.given()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_inputs(given, folder)
            if task.name not in kept:
                kept[task.name] = run(task, "partita", folder, options)
            own = kept[task.name]
            for rival in there:
                other = run(task, rival, folder, options)
                bad = next((one for one in (own, other) if isinstance(one, str)), None)
                if bad is None:
                    yield row(task, given, rival, own, other)
                else:
                    silent.append(f"{rival} at {task.name} ({bad})")


def row(task, given, rival, own, other):
    """Return the cells of one line."""
    seconds = [float(np.median(one.seconds)) for one in (own, other)]
    values = [task.quality(given, one.answer) for one in (own, other)]
    return (
        f"{task.name.split('-')[0]}: {task.about}", rival, spread(own.seconds),
        spread(other.seconds), times(seconds[1], seconds[0]), mebibytes(own.memory),
        mebibytes(other.memory), times(other.memory, own.memory), task.measure, *map(show, values),
    )  # fmt: skip


def r_versions():
    """Name to version of R and of the rivals among its packages; empty where R is not."""
    if shutil.which("Rscript") is None:
        return {}
    code = "cat('R', paste(R.version$major, R.version$minor, sep='.'), '\\n'); for (p in c(" + (
        ", ".join(f"'{name}'" for name in R_PACKAGES)
    )
    code += ")) if (nzchar(system.file(package=p))) cat(p, as.character(packageVersion(p)), '\\n')"
    said = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=False)
    return dict(line.split() for line in said.stdout.splitlines() if len(line.split()) == 2)


def machine():
    """Return the processor, as the system names it, and how many cores it has."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [x for x in info.read_text().splitlines() if x.startswith("model name")]
        name = names[0].split(":")[1].strip() if names else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


def preamble(options, found):
    """Return what was run where, and what was not there to run."""
    python = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    here = {"partita": pt.__version__, "Python": platform.python_version(), **python, **found}
    absent = [name for name in R_PACKAGES if name not in found]
    lines = [machine(), ", ".join(f"{name} {number}" for name, number in here.items())]
    if options.salso:
        absent = [name for name in absent if name != "salso"]
        lines.append(
            "salso: its library, by a program of one thread, 16 runs and its default cap on the "
            "number of clusters; its memory is not measured"
        )
    if absent:
        lines.append(f"not installed here: {', '.join(absent)}")
    lines.append(
        f"medians of up to {options.repeats} repeats (least-most) or {options.budget:g} s, one "
        f"thread, CPU seconds; {os.getloadavg()[0]:.1f} processes at work when it began"
    )
    return lines


def afterwards(table, silent):
    """Return what is to be said when all is done: who gave no answer, and where ours is behind."""
    slower = [
        f"{line[0].split(', ')[0]} beside {line[1]} ({line[4]})"
        for line in table[1:]
        if line[4] != "-" and float(line[4].replace(",", "")) < 1
    ]
    said = [f"ours is the slower in {len(slower)} of {len(table) - 1} rows"]
    if slower:
        said[0] += f": {'; '.join(slower)}"
    if silent:
        said.append(f"not measured: {'; '.join(silent)}")
    return said


def as_text(table):
    widths = [max(len(line[i]) for line in table) for i in range(len(HEADS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    )


def into_page(path, lines, table):
    """Put the table between the markers of a page."""
    page = path.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    cells = [f"| {' | '.join(line)} |" for line in table]
    cells.insert(1, "|" + "---|" * len(HEADS))
    said = "\n".join(f"- {line}" for line in lines)
    path.write_text(f"{before}{BEGIN}\n{said}\n\n" + "\n".join(cells) + f"\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = list(dict.fromkeys(task.name.split("-")[0] for task in tasks()))
    parser.add_argument("--tasks", nargs="+", choices=known)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=float, default=60, help="seconds of one contender")
    parser.add_argument("--limit", type=float, default=300, help="seconds to wait for a contender")
    parser.add_argument("--salso", help="a program around salso's library")
    parser.add_argument("--markdown", type=Path, help="a page to put the table into")
    options = parser.parse_args()
    found = r_versions()
    lines = preamble(options, found)
    print("\n".join(lines), flush=True)
    table, silent = [HEADS], []
    for line in rows(options, {*found, "scikit-learn"}, silent):
        table.append(line)
        print(f"{line[0]}, {line[1]}: done", file=sys.stderr, flush=True)
        if options.markdown:  # as it goes, so that a run cut short leaves what it has
            into_page(options.markdown, lines, table)
    lines += afterwards(table, silent)
    if options.markdown:
        into_page(options.markdown, lines, table)
    print(as_text(table), *afterwards(table, silent), sep="\n")


if __name__ == "__main__":
    main()
