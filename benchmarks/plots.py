"""The similarity heat map of many items: seconds and memory against what was promised.

The promise is 20,000 items in 5 seconds and 1 GiB beyond the draws. ``python benchmarks/plots.py``.
"""

from __future__ import annotations

import threading
import time

import matplotlib as mpl
import numpy as np
import psutil

import partita as pt

mpl.use("Agg")
CASES = ((20_000, 1_000, 20), (20_000, 5_000, 60), (20_000, 1_000, 300), (100_000, 1_000, 30))


class Peak:
    """The most memory that the process held in a block, beyond what it held before."""

    def __enter__(self):
        self._process = psutil.Process()
        self._before = self._most = self._process.memory_info().rss
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self):
        while not self._stopped.wait(0.005):
            self._most = max(self._most, self._process.memory_info().rss)

    def __exit__(self, *_):
        self._stopped.set()
        self._thread.join()
        self.mib = (self._most - self._before) / 2**20


def main():
    warm = pt.datasets.simulate_draws(800, 50, rng=0)
    pt.plots.similarity(warm, np.arange(800) // 200)
    print("   items  draws clusters  seconds  (of 5)   CPU s     MiB (of 1,024)")
    for n, m, k in CASES:
        draws = pt.datasets.simulate_draws(n, m, n_clusters=k, noise=0.2, rng=0)
        labels = np.arange(n) * k // n
        start, cpu = time.perf_counter(), time.process_time()
        with Peak() as peak:
            ax = pt.plots.similarity(draws, labels)
            ax.figure.canvas.draw()
        took, used = time.perf_counter() - start, time.process_time() - cpu
        print(
            f"{n:8,} {m:6,} {k:8} {took:8.2f} {took / 5:8.0%} {used:7.2f} {peak.mib:7.0f} {peak.mib / 1024:8.0%}"
        )


if __name__ == "__main__":
    main()
