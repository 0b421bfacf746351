"""Time and memory of ``cluster_parameters``: 10,000 draws of 1,000 items, 10 components, 5-vectors.

``python benchmarks/parameters.py``. The limits are 2 s and 500 MiB for the whole process.
"""

import resource
import time

import numpy as np

import partita as pt

N_DRAWS, N_ITEMS, N_COMPONENTS, WIDTH = 10_000, 1_000, 10, 5


def main():
    """Print a row a method."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(N_COMPONENTS), N_ITEMS // N_COMPONENTS)
    number = np.argsort(rng.random((N_DRAWS, N_COMPONENTS)), axis=1).astype(np.uint8)
    labels = number[:, truth]
    astray = rng.random(labels.shape, dtype=np.float32) < 0.05
    labels[astray] = rng.integers(0, N_COMPONENTS, astray.sum())
    mu = rng.normal(size=(N_DRAWS, N_COMPONENTS, WIDTH))
    draws = pt.Draws(labels, chains=np.repeat(range(4), N_DRAWS // 4))
    for method in ("align", "items"):
        begun, cpu = time.perf_counter(), time.process_time()
        pt.cluster_parameters(truth, draws, {"mu": mu}, method=method)
        took, cpu = time.perf_counter() - begun, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{method:8} {took:6.2f} s, {cpu:.2f} s of the processor, {peak:5.0f} MiB at most so far"
        )


if __name__ == "__main__":
    main()
