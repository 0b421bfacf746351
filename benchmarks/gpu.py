"""NMF and the similarity on a GPU: time, rates, and whether the answers are the CPU's.

    python benchmarks/gpu.py similarity [--draws 1000] [--items 50000]   # limit: under 1 s
    python benchmarks/gpu.py path [--items 20000] [--iterations 200]     # kl, ranks 2..12, ten restarts
    python benchmarks/gpu.py path --arrays --iterations 3                # the same without our kernel
    python benchmarks/gpu.py host [--items 20000] [--ranks 2 7 12]       # the same on this CPU
    python benchmarks/gpu.py agree [--items 2000] [--reference FILE]     # objectives and labels of the CPU
    python benchmarks/gpu.py single [--items 20000]                      # R's updates, float32 against float64
    python benchmarks/gpu.py fast [--items 20000] [--ranks 10]           # the whole of the fast solver

``--device`` is "cuda" unless given; "cupy:cuda" is CuPy. Every table begins with the machine and
the versions.

``path`` runs R's multiplicative updates of ``kl`` in single precision, all ten restarts of a rank
as one stack, every rank and iteration. Then it profiles a few iterations of each rank (PyTorch's
profiler, which sees every kernel on the card) and divides the time of what counts by the time on
the clock. What counts is a matrix product, our kernel, which is two of them with the division
between, and an elementwise pass if it moves its bytes at half the rate of a plain copy or better.
Our kernel's own rates stand beside it: its operations against a large single-precision product on
the same card, and the bytes of V, read once for each restart, against a copy. The aim is 60%.

``host`` runs two iterations of one restart at some ranks on one thread and scales: CPU seconds,
halved for two cores, which flatters the CPU, since it takes them to share the work without loss,
in single precision too. The limit is 50 times.

``agree`` runs 200 multiplicative iterations of every model in single precision and the whole of the
fast solver from the same starts, with fewer factors than clusters and with more, and sets objectives
and labels beside float64 on the CPU. ``--reference`` keeps the CPU's side in a file, to be made on
one machine and read on another.

``single`` sets R's updates in single precision beside double on the card, where there are more items
than a CPU does in a minute. ``fast`` times the whole of the fast solver there.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from partita import devices
from partita.nmf import NAMES, Factors, factorize, multiplicative, updates
from partita.nmf.starts import starts
from partita.nmf.target import Target
from partita.similarity import Similarity, _device

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
    return target_of(_device.counted(draws, device, np.float32).array)


def target_of(array):
    return Target(array, None, array.dtype)


def stacked(target, rank, n_init=RESTARTS, model=NAMES["kl"]):
    begun = starts(model, rank, n_init, "random", 0, target.n_items, lambda: None)
    return Factors(
        *(None if x[0] is None else target.put(np.stack(x)) for x in zip(*begun, strict=True))
    )


def product_rate(device):
    """Operations a second of a large product in single precision."""
    n = 8192 if device.is_gpu else 512
    x = device.xp.ones((n, n), dtype=device.xp.float32, device=device.handle) / 3
    work = lambda: x @ x  # noqa: E731
    work()
    return 2 * n**3 / min(timed(device, work, 5))


def path(options, device):
    copy, product = copy_rate(device), product_rate(device)
    print(f"a copy moves {copy / 1e12:.2f} TB/s, a product runs at {product / 1e12:.1f} TFLOP/s")
    if options.arrays:
        multiplicative.has_kernel = lambda V: False
    target = problem(options, device)
    model, whole, shares = NAMES["kl"], 0.0, []
    for rank in options.ranks or RANKS:
        factors = stacked(target, rank)
        model.update(target.array, factors, 1)
        work = lambda n, f=factors: updates.iterate(model, target.array, f, n)  # noqa: E731
        seconds = timed(device, partial(work, options.iterations))[0]
        whole += seconds
        each = seconds / options.iterations
        line = f"rank {rank:2d}: {seconds:7.2f} s for {options.iterations} iterations, {each * 1e3:.2f} ms each"
        if device.name.startswith("torch:cuda"):
            line += profiled(device, work, target.n_items, rank, copy, product, shares)
        print(line, flush=True)
    print(f"path: {whole:.1f} s for {options.iterations} iterations, ten restarts, every rank")
    if shares:
        spent, counted = (sum(column) for column in zip(*shares, strict=True))
        print(f"share of the clock that counts, all ranks: {counted / spent:.3f}; limit 0.60")


def profiled(device, work, n, rank, copy, product, shares, n_iter=5):
    """Where the time of some iterations went, kernel by kernel, in words."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    clock = timed(device, lambda: work(n_iter))[0]
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        timed(device, lambda: work(n_iter))
    ours = products = divisions = others = 0.0
    for event in seen.key_averages():
        if event.device_type != DeviceType.CUDA:
            continue
        name, seconds = event.key.lower(), event.self_device_time_total / 1e6
        if name.startswith("_kernel"):
            ours += seconds
        elif "gemm" in name or "cutlass" in name or "gemv" in name:
            products += seconds
        elif "div" in name:
            divisions += seconds
        else:
            others += seconds
    numbers = 2 * n_iter * RESTARTS * n * n
    words = f"; of the clock: our kernel {ours / clock:.3f}, products {products / clock:.3f}, division {divisions / clock:.3f}, the rest on the card {others / clock:.3f}"
    counted = ours + products
    if ours:
        words += f"; ours at {4 * rank * numbers / ours / product:.2f} of a product's rate, {4 * numbers / ours / copy:.2f} of a copy's"
    else:
        once, each = (4 * (2 + v) * numbers / divisions / copy for v in (1 / RESTARTS, 1))
        words += f"; the division at {once:.2f} of a copy's rate with V counted once, {each:.2f} once a restart"
        counted += divisions if once >= 0.5 else 0.0
    shares.append((clock, counted))
    return words


def host(options, device):
    """The lesser of two iterations of one restart on this CPU, scaled to the path on two cores.

    On one thread: several that wait for each other spend CPU seconds on waiting.
    """
    from threadpoolctl import threadpool_limits

    if device is not None:
        import torch

        torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    n = options.items
    V = rng.random((n, n), dtype=np.float32)
    if device is not None:
        V = device.put(V)
    target = target_of(V) if device is not None else None
    whole = []
    for rank in options.ranks or (2, 7, 12):
        if device is not None:
            factors = stacked(target, rank, 1)
        else:
            factors = Factors(
                rng.random((1, n, rank), dtype=np.float32),
                rng.random((1, rank, n), dtype=np.float32),
            )
        seconds = []
        for _ in range(2):
            began = time.process_time()
            with threadpool_limits(1):
                NAMES["kl"].update(V, factors, 1)
            seconds.append(time.process_time() - began)
        whole.append(min(seconds))
        print(f"rank {rank:2d}: {whole[-1]:.2f} CPU s an iteration of one restart", flush=True)
    path = np.mean(whole) * len(RANKS) * RESTARTS * options.iterations / 2
    print(f"path: {path:,.0f} s on two cores, from single iterations")


def agree(options, device):
    file = Path(options.reference)
    if not file.exists():
        make_reference(file, options)
    with np.load(file) as stored:
        known = {name: stored[name] for name in stored.files}
    draws = Planted(known["labels"], known["n_clusters"])
    ranks = known["ranks"].tolist()
    single = _device.counted(draws, device, np.float32)
    target = target_of(single.array)
    there = Similarity._of(single, None, None)
    print(
        f"against float64 on the CPU, {draws.n_items:,} items, {known['n_planted']} clusters;"
        " limits 1e-5 and 99.9%"
    )
    for rank, (name, model) in product(ranks, NAMES.items()):
        if f"mu-{name}-{rank}" not in known:
            continue
        after = updates.iterate(model, target.array, stacked(target, rank, 2, model), 200)
        values = devices.to_host(model.objective(target.array, after))
        labels = devices.to_host(after.H).argmax(axis=-2)
        what = f"mu, 200 iterations, {name}, rank {rank}"
        report(what, values, known[f"mu-{name}-{rank}-obj"], labels, known[f"mu-{name}-{rank}"])
    for rank, name in product(ranks, NAMES):
        if f"fast-{name}-{rank}" not in known:
            continue
        began = time.perf_counter()
        fit = factorize(there, model=name, rank=rank, n_init=4, rng=0)
        took = time.perf_counter() - began
        key = f"fast-{name}-{rank}"
        what = f"fast, {name}, rank {rank} ({took:.1f} s; CPU {known[f'{key}-s']:.1f})"
        report(what, fit.objective, known[f"{key}-obj"].min(), fit.labels, known[key])


def report(what, values, others, labels, wanted):
    gap = np.max(np.asarray(values) / others - 1), np.min(np.asarray(values) / others - 1)
    same = np.mean(labels == wanted)
    print(
        f"  {what:40s} objective {gap[1]:+.1e} to {gap[0]:+.1e}, labels {100 * same:.2f}%",
        flush=True,
    )


def single(options, device):
    """R's updates in single precision against double, both on the device, of many items."""
    draws = Planted.make(200, options.items)
    print(f"float32 against float64 on {device.name}, {draws.n_items:,} items, ten clusters")
    for rank, name in product(options.ranks or (6, 11), options.models):
        model, found = NAMES[name], []
        for dtype in (np.float64, np.float32):
            target = target_of(_device.counted(draws, device, dtype).array)
            begun = stacked(target, rank, 2, model)
            after = updates.iterate(model, target.array, begun, options.iterations)
            values = devices.to_host(model.objective(target.array, after))
            found.append((values, devices.to_host(after.H).argmax(axis=-2)))
        (ours, labels), (theirs, others) = found
        what = f"mu, {options.iterations} iterations, {name}, rank {rank}"
        report(what, theirs, ours, others, labels)


def fast(options, device):
    """The whole of the fast solver on the card, from draws on the host to factors."""
    import partita as pt

    n = options.items
    truth = np.random.default_rng(0).integers(
        0, 10, n, dtype=np.uint8
    )  # what Planted.make begins with
    similarity = pt.posterior_similarity(Planted.make(200, n).labels, kind="implicit")
    for rank, name in product(options.ranks or (10,), options.models):
        fits = []
        work = lambda m=name, k=rank: fits.append(  # noqa: E731, B023
            factorize(similarity, model=m, rank=k, n_init=RESTARTS, rng=0, device=device.name)
        )
        seconds = timed(device, work, 2)
        ari = pt.adjusted_rand_index(fits[-1].labels, truth)
        print(
            f"fast, {n:,} items, rank {rank}, ten restarts, {name}: {seconds[1]:.2f} s"
            f" (first {seconds[0]:.2f} s), {fits[-1].n_iter} iterations, ARI {ari:.4f}",
            flush=True,
        )


def make_reference(file, options):
    """The CPU's side: the whole of the fast solver, and 200 iterations of R's updates."""
    import partita as pt

    ranks, n_planted = options.ranks or (6, 11), 8
    draws = pt.datasets.simulate_draws(options.items, 500, n_clusters=n_planted, noise=0.3, rng=0)
    psm = pt.posterior_similarity(draws).to_dense().copy()
    out = {"labels": draws.labels, "n_clusters": draws.n_clusters, "ranks": ranks}
    out["n_planted"] = n_planted
    target = target_of(psm)
    for rank, name in product(ranks, options.models):
        model, began = NAMES[name], time.perf_counter()
        fit = factorize(psm, model=name, rank=rank, n_init=4, rng=0, n_jobs=options.jobs)
        key = f"fast-{name}-{rank}"
        out |= {key: fit.labels, f"{key}-obj": fit.restart_objectives}
        out |= {f"{key}-s": time.perf_counter() - began}
        if options.only_fast:
            continue
        after = updates.iterate(model, psm, stacked(target, rank, 2, model), 200)
        out |= {
            f"mu-{name}-{rank}": after.H.argmax(axis=-2),
            f"mu-{name}-{rank}-obj": model.objective(target.array, after),
        }
    np.savez_compressed(file, **out)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ("similarity", "path", "host", "agree", "single", "fast")
    parser.add_argument("what", choices=names)
    parser.add_argument("--device", default=None)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--items", type=int, default=None)
    parser.add_argument("--ranks", type=int, nargs="*")
    parser.add_argument("--models", nargs="*", default=list(NAMES), help="of agree and fast")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--arrays", action="store_true", help="the lines without our kernel")
    parser.add_argument("--reference", default="gpu_reference.npz")
    parser.add_argument("--only-fast", action="store_true", help="agree without R's updates")
    parser.add_argument("--jobs", type=int, default=1, help="of the CPU's side of agree")
    options = parser.parse_args()
    sizes = {"similarity": 50_000, "path": 20_000, "host": 20_000}
    sizes |= {"single": 20_000, "fast": 20_000}
    options.items = options.items or sizes.get(options.what, 2000)
    device = devices.resolve(options.device or ("cpu" if options.what == "host" else "cuda"))
    heading(device)
    globals()[options.what](options, device)


if __name__ == "__main__":
    main()
