"""Dense posterior similarity: label comparisons a second, memory, and the one-hot product.

    python benchmarks/similarity.py [--jobs 2] [--repeats 15]

A comparison is one pair of items in one draw, n²M/2 of them over the time of the whole call, the
allocation of the result included, after a warm-up. The rival builds one-hot matrices Z of a chunk
of draws and adds up ZZᵀ in float32, on as many BLAS threads; it runs after, since idle BLAS
threads keep a core busy for a while. Memory is the highest resident size during one call in a
fresh process, above that before it, as a multiple of the result. Limits: 5e10 comparisons a
second on two threads, 1.3 times the memory of the result.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import partita as pt

SIZES = ((1000, 1000), (1000, 5000), (10_000, 1000))
N_CLUSTERS = 10
ONE_HOT_BYTES = 1 << 28


def simulated(n_draws, n_items):
    random = np.random.default_rng(0)
    return pt.Draws(random.integers(0, N_CLUSTERS, (n_draws, n_items), dtype=np.uint8))


def one_hot_product(labels, n_jobs):
    n_draws, n_items = labels.shape
    out = np.zeros((n_items, n_items), np.float32)
    size = max(1, ONE_HOT_BYTES // (4 * n_items * N_CLUSTERS))
    items = np.arange(n_items)
    with threadpool_limits(n_jobs, "blas"):
        for start in range(0, n_draws, size):
            chunk = labels[start : start + size]
            z = np.zeros((n_items, len(chunk), N_CLUSTERS), np.float32)
            for m, draw in enumerate(chunk):
                z[items, m, draw] = 1
            z = z.reshape(n_items, -1)
            out += z @ z.T
    out /= n_draws
    return out


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def resident(field):
    """Return ``VmRSS`` (now) or ``VmHWM`` (at most, since last reset) in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def print_memory(n_draws, n_items, n_jobs):
    """Print the peak of one call over the size of its result; run in a process of its own."""
    pt.posterior_similarity(simulated(300, 200), n_jobs=n_jobs)
    draws = simulated(n_draws, n_items)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # else the call is given pages that are still resident
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    similarity = pt.posterior_similarity(draws, n_jobs=n_jobs)
    print((resident("VmHWM") - before) / similarity.to_dense().nbytes)


def memory_ratio(n_draws, n_items, n_jobs):
    if not Path("/proc/self/clear_refs").exists():
        return float("nan")
    command = [sys.executable, __file__, "--memory", str(n_draws), str(n_items)]
    command += ["--jobs", str(n_jobs)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def report(n_draws, n_items, n_jobs, repeats):
    draws = simulated(n_draws, n_items)
    labels = np.asarray(draws.labels)
    ours = pt.posterior_similarity(draws, n_jobs=n_jobs).to_dense()
    difference = float(np.abs(ours - one_hot_product(labels, n_jobs)).max())
    del ours
    time.sleep(1)
    own = [seconds(lambda: pt.posterior_similarity(draws, n_jobs=n_jobs)) for _ in range(repeats)]
    rival = [seconds(lambda: one_hot_product(labels, n_jobs)) for _ in range(max(1, repeats // 5))]
    work = n_items**2 * n_draws / 2
    low, middle, high = np.quantile(own, [0, 0.5, 1])
    print(
        f"{n_draws:>7,} {n_items:>7,} {middle:>9.4f} {low:>7.4f}-{high:.4f} {work / middle:>11.3g}"
        f" {memory_ratio(n_draws, n_items, n_jobs):>7.2f} {np.median(rival):>9.3f}"
        f" {np.median(rival) / middle:>6.1f}x {difference:>9.1e}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--memory", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        print_memory(*options.memory, options.jobs)
        return
    print(f"{options.jobs} threads, medians of {options.repeats}")
    print(
        f"{'draws':>7} {'items':>7} {'seconds':>9} {'min-max':>14} {'compare/s':>11} {'memory':>7}"
        f" {'one-hot s':>9} {'ratio':>7} {'differ':>9}"
    )
    for n_draws, n_items in SIZES:
        report(n_draws, n_items, options.jobs, options.repeats)


if __name__ == "__main__":
    main()
