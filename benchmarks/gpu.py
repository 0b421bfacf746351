"""NMF and the similarity on a GPU: time, rates, and whether the answers are the CPU's.

    python benchmarks/gpu.py similarity [--draws 1000] [--items 50000]   # limit: under 1 s
    python benchmarks/gpu.py path [--items 20000] [--iterations 200]     # kl, ranks 2..12, ten restarts
    python benchmarks/gpu.py host [--items 20000] [--ranks 2 7 12]       # the same lines on this CPU
    python benchmarks/gpu.py agree [--reference FILE]                    # objectives and labels of the CPU

``--device`` is "cuda" unless given. Every table begins with the machine and the versions.

``path`` times R's multiplicative updates of ``kl`` in single precision, all ten restarts of a rank
as one stack, and before it the parts of an iteration one by one: the two matrix products and the
pass that divides, with the bytes that each must move and the rate beside that of a plain copy on
the same card. The issue asks for 60% of the time in products, or passes at half of a copy's rate
or better. ``host`` runs single iterations of one restart and scales: CPU seconds over two cores,
which flatters the CPU, since it takes them to share the work without loss. The limit is 50 times.

``agree`` runs 200 multiplicative iterations of every model and the whole of the fast solver from
the same starts on 2,000 items in single precision, and sets objectives and labels beside float64
on the CPU. ``--reference`` keeps the CPU's side in a file, to be made on one machine and read on
another that has no numba.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from partita import devices
from partita.nmf import NAMES, Factors, _common, _multiplicative, factorize
from partita.nmf._starts import starts
from partita.nmf._target import as_target, of_array
from partita.similarity import _device

RANKS = range(2, 13)
RESTARTS = 10


@dataclass(frozen=True)
class Planted:
    """Draws with ten clusters and a tenth of the labels drawn anew; what counting needs of them."""

    labels: np.ndarray
    n_clusters: np.ndarray
    weights: None = None

    @classmethod
    def make(cls, n_draws, n_items, n_clusters=10, seed=0):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, n_clusters, n_items, dtype=np.uint8)
        labels = np.tile(truth, (n_draws, 1))
        flipped = rng.random((n_draws, n_items), dtype=np.float32) < 0.1
        labels[flipped] = rng.integers(0, n_clusters, int(flipped.sum()), dtype=np.uint8)
        return cls(labels, np.full(n_draws, n_clusters))

    @property
    def n_draws(self):
        return self.labels.shape[0]

    @property
    def n_items(self):
        return self.labels.shape[1]


def synchronize(device):
    if device.is_gpu and device.name.startswith("torch"):
        import torch

        torch.cuda.synchronize(device.handle)
    elif device.is_gpu:
        device.handle.synchronize()


def timed(device, work, repeats=1):
    """Seconds of each run, the device idle before and after."""
    seconds = []
    for _ in range(repeats):
        synchronize(device)
        began = time.perf_counter()
        work()
        synchronize(device)
        seconds.append(time.perf_counter() - began)
    return seconds


def heading(device):
    words = [f"Python {platform.python_version()}", f"numpy {np.__version__}"]
    if device is not None and device.name.startswith("torch"):
        import torch

        words += [f"torch {torch.__version__}", f"CUDA {torch.version.cuda}"]
        if device.is_gpu:
            words.insert(0, torch.cuda.get_device_name(device.handle))
    elif device is not None:
        import cupy

        words += [f"cupy {cupy.__version__}"]
    name = "the host" if device is None else device.name
    print(f"\n# {name}: {', '.join(words)}", flush=True)


def copy_rate(device):
    """Bytes a second, read and written, of a plain copy of 4 GiB (64 MiB on a CPU)."""
    xp = device.xp
    x = xp.ones(1 << (30 if device.is_gpu else 24), dtype=xp.float32, device=device.handle)
    work = lambda: x + 0.0  # noqa: E731
    work()
    return 2 * 4 * x.shape[0] / min(timed(device, work, 5))


def similarity(options, device):
    draws = Planted.make(options.draws, options.items)
    _device.counted(Planted.make(20, 1000), device, np.float32)  # libraries load
    first = timed(device, lambda: _device.counted(draws, device, np.float32))[0]
    seconds = timed(device, lambda: _device.counted(draws, device, np.float32), 5)
    found = _device.counted(draws, device, np.float32)
    rng = np.random.default_rng(1)
    rows, cols = (rng.integers(0, options.items, 200) for _ in range(2))
    exact = (draws.labels[:, rows, None] == draws.labels[:, None, cols]).mean(axis=0)
    gap = np.abs(found.block(rows, cols) - exact).max()
    print(f"similarity, {options.draws:,} draws of {options.items:,} items, labels on the host")
    print(
        f"  first {first:.3f} s, then {statistics.median(seconds):.3f} s ({min(seconds):.3f}-{max(seconds):.3f}); limit 1 s"
    )
    print(
        f"  40,000 entries against counting on the host: largest difference {gap:.1e}", flush=True
    )


def problem(options, device):
    """V on the device, of a planted posterior."""
    draws = Planted.make(100, options.items)
    return of_array(_device.counted(draws, device, np.float32).array, symmetric=True)


def stacked(target, rank, n_init=RESTARTS):
    begun = starts(target, NAMES["kl"], rank, n_init, "random", 0)
    return Factors(
        *(None if x[0] is None else target.xp.stack(list(x)) for x in zip(*begun, strict=True))
    )


def parts(device, target, rank, rate):
    """Each operation of half an iteration by itself, on one block: seconds, bytes, rate."""
    xp, n = target.xp, target.n_items
    W, H, _ = stacked(target, rank)
    A, B = xp.matrix_transpose(W), H
    A1, B1 = (xp.concat([x, x[..., :1, :]], axis=-2) for x in (A, B))
    rows = min(n, _common.block_size(B, n))
    left = xp.matrix_transpose(B1[..., :rows])
    t = left @ A1
    V = target.array[:rows, :]
    q = xp.matrix_transpose(V / t)
    small, block, numbers = A.shape[-2] * n * RESTARTS, V.shape[0] * n, RESTARTS * rows * n
    table = [
        ("product WH", lambda: left @ A1, small + numbers),
        ("V / WH", lambda: V / t, block + 2 * numbers),
        ("product with V / WH", lambda: A @ q, small + numbers),
    ]
    total = 0.0
    good = 0.0
    for name, work, moved in table:
        work()
        seconds = statistics.median(timed(device, work, 7))
        share = 4 * moved / seconds / rate
        each = seconds * 2 * n / rows
        total += each
        good += each if share >= 0.5 or "product" in name else 0.0
        print(
            f"  rank {rank:2d} {name:20s} {each * 1e3:8.2f} ms an iteration, {share:5.2f} of a copy's rate"
        )
    return total, good


def path(options, device):
    rate = copy_rate(device)
    print(f"a copy moves {rate / 1e12:.2f} TB/s")
    target = problem(options, device)
    multiply = NAMES["kl"].multiply
    if options.blocks:
        choose_block(options, device, target)
    whole = 0.0
    for rank in options.ranks or RANKS:
        factors = stacked(target, rank)
        multiply(target.array, factors, 1)
        seconds = timed(
            device,
            lambda f=factors: _multiplicative.iterate(
                NAMES["kl"], target.array, f, options.iterations
            ),
        )[0]
        whole += seconds
        each = seconds / options.iterations
        line = f"rank {rank:2d}: {seconds:7.2f} s for {options.iterations} iterations, {each * 1e3:.2f} ms each"
        if rank in (2, 7, 12):
            total, good = parts(device, target, rank, rate)
            line += f"; the parts sum to {total / each:.2f} of it, products and quick passes to {good / each:.2f}"
        print(line, flush=True)
    print(
        f"path: {whole:.1f} s for {options.iterations} iterations, ten restarts; limit 60% and 50 times `host`",
        flush=True,
    )


def choose_block(options, device, target):
    """Try sizes of the temporaries and keep the quickest."""
    factors = stacked(target, 7)
    found = {}
    for power in options.blocks:
        _common.DEVICE_BLOCK = 1 << power
        work = lambda: NAMES["kl"].multiply(target.array, factors, 1)  # noqa: E731
        work()
        found[power] = min(timed(device, work, 2))
        print(
            f"  blocks of 2^{power} numbers: {found[power] * 1e3:.1f} ms an iteration at rank 7",
            flush=True,
        )
    _common.DEVICE_BLOCK = 1 << min(found, key=found.get)


def host(options, device):
    """One iteration of one restart on this CPU, in CPU seconds, scaled to the path on two cores."""
    rng = np.random.default_rng(0)
    n = options.items
    V = rng.random((n, n), dtype=np.float32)
    if device is not None:
        V = device.put(V)
    target = of_array(V, symmetric=True) if device is not None else None
    whole = []
    for rank in options.ranks or (2, 7, 12):
        if device is not None:
            factors = stacked(target, rank, 1)
        else:
            factors = Factors(
                rng.random((1, n, rank), dtype=np.float32),
                rng.random((1, rank, n), dtype=np.float32),
            )
        began = time.process_time()
        NAMES["kl"].multiply(V, factors, 1)
        whole.append(time.process_time() - began)
        print(f"rank {rank:2d}: {whole[-1]:.2f} CPU s an iteration of one restart", flush=True)
    path = np.mean(whole) * len(RANKS) * RESTARTS * options.iterations / 2
    print(f"path: {path:,.0f} s on two cores, from single iterations")


def agree(options, device):
    file = Path(options.reference)
    if not file.exists():
        make_reference(file)
    with np.load(file) as stored:
        known = {name: stored[name] for name in stored.files}
    draws = Planted(known["labels"], known["n_clusters"])
    target = of_array(_device.counted(draws, device, np.float32).array, symmetric=True)
    print(
        f"agreement with float64 on the CPU, {draws.n_items:,} items, rank 6; limits 1e-5 and 99.9%"
    )
    for name, model in NAMES.items():
        begun = starts(target, model, 6, 2, "random", 0)
        stack = Factors(
            *(None if x[0] is None else target.xp.stack(list(x)) for x in zip(*begun, strict=True))
        )
        after = _multiplicative.iterate(model, target.array, stack, 200)
        values = devices.to_host(model.objective(target, after))
        labels = devices.to_host(after.H).argmax(axis=-2)
        report(
            f"mu, 200 iterations, {name}",
            values,
            known[f"mu-{name}-obj"],
            labels,
            known[f"mu-{name}"],
        )
    for name in NAMES:
        began = time.perf_counter()
        fit = factorize(target.array, model=name, rank=6, n_init=4, rng=0)
        report(
            f"fast, {name}",
            fit.objective,
            known[f"fast-{name}-obj"].min(),
            fit.labels,
            known[f"fast-{name}"],
        )
        print(f"    {time.perf_counter() - began:.1f} s", flush=True)


def report(what, values, others, labels, wanted):
    gap = np.max(np.asarray(values) / others - 1), np.min(np.asarray(values) / others - 1)
    same = np.mean(labels == wanted)
    print(
        f"  {what:32s} objective {gap[1]:+.1e} to {gap[0]:+.1e}, labels {100 * same:.2f}%",
        flush=True,
    )


def make_reference(file):
    import partita as pt

    draws = pt.datasets.simulate_draws(2000, 500, n_clusters=8, noise=0.3, rng=0)
    psm = pt.posterior_similarity(draws).to_dense().copy()
    out = {"labels": draws.labels, "n_clusters": draws.n_clusters}
    target = as_target(psm, dense_only=True)
    for name, model in NAMES.items():
        fit = factorize(psm, model=name, rank=6, n_init=4, rng=0)
        out |= {f"fast-{name}": fit.labels, f"fast-{name}-obj": fit.restart_objectives}
        after = [
            _multiplicative.iterate(model, psm, one, 200)
            for one in starts(target, model, 6, 2, "random", 0)
        ]
        stack = Factors(*(None if x[0] is None else np.stack(x) for x in zip(*after, strict=True)))
        out |= {
            f"mu-{name}": stack.H.argmax(axis=-2),
            f"mu-{name}-obj": model.objective(target, stack),
        }
    np.savez_compressed(file, **out)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("similarity", "path", "host", "agree"))
    parser.add_argument("--device", default=None)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--items", type=int, default=None)
    parser.add_argument("--ranks", type=int, nargs="*")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument(
        "--blocks", type=int, nargs="*", help="try temporaries of 2^N numbers, keep the quickest"
    )
    parser.add_argument("--reference", default="gpu_reference.npz")
    options = parser.parse_args()
    options.items = options.items or (50_000 if options.what == "similarity" else 20_000)
    device = devices.resolve(options.device or ("cpu" if options.what == "host" else "cuda"))
    heading(device)
    globals()[options.what](options, device)


if __name__ == "__main__":
    main()
