"""The same estimate on one machine and on a Dask cluster of two small workers, one of them killed.

    python benchmarks/dask_cluster.py                      # 2,000,000 items x 200 draws
    python benchmarks/dask_cluster.py --items 200000 --ranks 9 10 11 --memory 600MiB

Labels are written to a Zarr store of integers of --dtype; every run reads that store in blocks. Printed are
seconds, seconds of the processor in all processes together, the most memory that one process held, the
size of the draws beside the limit of a worker, and whether answers are equal to the last bit.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np


def main() -> None:
    arguments = _arguments()
    if arguments.run:
        print(json.dumps(_run(arguments)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments.folder or scratch)
        store = folder / f"draws_{arguments.items}_{arguments.draws}_{arguments.dtype}.zarr"
        if not store.exists():
            write_store(store, arguments)
        size = arguments.items * arguments.draws * np.dtype(arguments.dtype).itemsize
        print(
            f"{arguments.items:,} items x {arguments.draws} draws, {size / 2**20:,.0f} MiB; "
            f"limit of a worker {arguments.memory}"
        )
        found = {}
        for how in arguments.how:
            found[how] = _in_process(how, store, folder, arguments)
            print(f"{how:8} {_line(found[how])}", flush=True)
        _compare(folder, list(found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=2_000_000)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--dtype", default="int32", help="of the store; what samplers write")
    parser.add_argument("--ranks", type=int, nargs="+", default=list(range(2, 13)))
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--memory", default="1400MiB", help="limit of a worker")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill-after", type=float, default=30.0, help="seconds, for `killed`")
    parser.add_argument(
        "--how",
        nargs="+",
        default=["alone", "cluster", "killed"],
        choices=["alone", "cluster", "killed"],
    )
    parser.add_argument("--folder", help="where the store and the answers are kept")
    parser.add_argument("--run", choices=["alone", "cluster", "killed"], help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    return parser.parse_args()


def write_store(store: Path, arguments: argparse.Namespace) -> None:
    """Planted clusters of equal size, a tenth of the labels drawn at random."""
    import zarr

    random = np.random.default_rng(0)
    n, m, k = arguments.items, arguments.draws, arguments.clusters
    truth = random.permutation(np.arange(n) * k // n)
    made = zarr.create_array(
        store, shape=(m, n), chunks=(m, min(n, 100_000)), dtype=arguments.dtype
    )
    for start in range(0, n, 100_000):
        labels = np.tile(truth[start : start + 100_000], (m, 1))
        wrong = random.random(labels.shape, dtype=np.float32) < 0.1
        labels[wrong] = random.integers(0, k, int(wrong.sum()))
        made[:, start : start + 100_000] = labels.astype(arguments.dtype)


def _in_process(how: str, store: Path, folder: Path, arguments: argparse.Namespace) -> dict:
    words = [sys.executable, __file__, *sys.argv[1:], "--run", how, "--store", str(store)]
    words += ["--folder", str(folder)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _run(arguments: argparse.Namespace) -> dict:
    from partita import io

    blocks = io.open_stored(arguments.store)
    if arguments.run == "alone":
        answer, seconds = _estimate(blocks, arguments)
    else:
        answer, seconds = _on_cluster(blocks, arguments)
    mine, theirs = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    np.savez(Path(arguments.folder) / f"{arguments.run}.npz", **answer)
    return {
        "seconds": seconds,
        "processor": sum(x.ru_utime + x.ru_stime for x in (mine, theirs)),
        "client_mib": mine.ru_maxrss / 1024,
        "worker_mib": theirs.ru_maxrss / 1024,
        "n_clusters": int(answer["labels"].max()) + 1,
        "loss": float(answer["loss"]),
    }


def _on_cluster(blocks, arguments: argparse.Namespace):
    from distributed import Client, LocalCluster

    from partita.parallel import OnWorkers

    with (
        LocalCluster(
            n_workers=arguments.workers,
            threads_per_worker=1,
            memory_limit=arguments.memory,
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
    ):
        if arguments.run == "killed":
            process = next(iter(client.run(os.getpid).values()))
            timer = threading.Timer(arguments.kill_after, os.kill, (process, signal.SIGKILL))
            timer.daemon = True
            timer.start()
        found = _estimate(OnWorkers(blocks), arguments)
        if arguments.run == "killed":
            alive = process in client.run(os.getpid).values()
            print("the worker was not killed in time" if alive else "killed", file=sys.stderr)
        return found


def _estimate(source, arguments: argparse.Namespace):
    import partita as pt

    search = pt.search.NMF("ls", ranks=arguments.ranks, n_init=arguments.restarts, polish=True)
    began = time.perf_counter()
    draws = pt.Draws(source)
    best = pt.estimate(draws, search=search, rng=0)
    ball = pt.credible_ball(best, draws)
    seconds = time.perf_counter() - began
    answer = {"labels": best.labels, "loss": best.expected_loss, "distances": ball.distances}
    answer["objectives"] = np.array([step.objective for step in best.path], dtype=float)
    return answer, seconds


def _line(found: dict) -> str:
    return (
        f"{found['seconds']:8.1f} s  {found['processor']:8.1f} s of the processor  "
        f"{found['client_mib']:6.0f} MiB here  {found['worker_mib']:6.0f} MiB in a worker  "
        f"{found['n_clusters']} clusters, VI {found['loss']:.6f}"
    )


def _compare(folder: Path, names: list[str]) -> None:
    first = np.load(folder / f"{names[0]}.npz")
    for name in names[1:]:
        other = np.load(folder / f"{name}.npz")
        same = {key: bool(np.array_equal(first[key], other[key])) for key in first.files}
        print(f"{name} equals {names[0]} to the last bit: {same}")


if __name__ == "__main__":
    main()
