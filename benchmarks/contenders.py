"""One contender in Python on one task, in a process of its own so that its memory is its own.

    python contenders.py TASK RIVAL FOLDER REPEATS BUDGET

Reads what table.py wrote into FOLDER, prints seconds and memory, writes the last answer there.
The first call of ours compiles or loads what it needs and is not counted. One thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

NMF_SOLVERS = {"ls": ("cd", "frobenius"), "kl": ("mu", "kullback-leibler")}


class Inputs:
    """The arrays that table.py wrote, read when asked for."""

    def __init__(self, folder):
        self.folder = Path(folder)
        sizes = (self.folder / "size.txt").read_text().split()
        self.n_draws, self.n_items, self.rank, self.n_columns = map(int, sizes)

    def _read(self, name, dtype, shape):
        flat = np.fromfile(self.folder / name, dtype=dtype)
        return np.ascontiguousarray(flat.reshape(shape, order="F"))

    @property
    def labels(self):
        return self._read("draws.bin", np.int32, (self.n_draws, self.n_items)) - 1

    @property
    def center(self):
        return self._read("labels.bin", np.int32, self.n_items) - 1

    @property
    def psm(self):
        return self._read("matrix.bin", np.float64, (self.n_items, self.n_items))

    @property
    def data(self):
        return self._read("data.bin", np.float64, (self.n_items, self.n_columns))


def ours(task, given):
    """Return what partita does for the task, as a call of a seed."""
    import partita as pt

    name, _, what = task.partition("-")
    if name == "nmf":
        psm = given.psm
        return lambda seed: pt.factorize(psm, model=what, rank=given.rank, rng=seed).objective
    if name == "sampler":
        data = given.data
        return lambda seed: pt.sample_mixture(
            data, n_draws=10_000, n_burn=5_000, rng=seed
        ).labels.astype(np.int32)
    draws = pt.Draws(given.labels)
    if name == "similarity":
        return lambda seed: pt.posterior_similarity(draws, n_jobs=1).to_dense()
    if name == "search":
        return lambda seed: pt.estimate(draws, loss=what, rng=seed).labels.astype(np.int32) + 1
    center = given.center
    if name == "loss":
        return lambda seed: pt.expected_loss(center, draws, loss="vi")
    return lambda seed: pt.credible_ball(center, draws, prob=0.95, n_jobs=1).radius


def sklearn(task, given):
    """Return what one does with scikit-learn for the task, as a call of a seed."""
    import sklearn.metrics  # noqa: F401  not to be counted by the first call

    name, _, what = task.partition("-")
    if name == "nmf":
        return _sklearn_nmf(given, what)
    if name == "sampler":
        from sklearn.mixture import BayesianGaussianMixture

        data = given.data
        return lambda seed: (
            BayesianGaussianMixture(n_components=20, max_iter=1000, random_state=seed).fit_predict(
                data
            )[None]
            + np.int32(1)
        ).astype(np.int32)
    labels = given.labels
    if name == "similarity":
        from sklearn.metrics import pairwise_distances

        return lambda seed: 1 - pairwise_distances(labels.T, metric="hamming")
    if name == "search":
        return _sklearn_search(labels, what)
    center = given.center
    if name == "loss":
        return lambda seed: _distances(labels, center).mean()
    return lambda seed: np.sort(_distances(labels, center))[int(np.ceil(0.95 * len(labels))) - 1]


def _entropy(labels):
    share = np.bincount(labels) / len(labels)
    return -np.sum(share[share > 0] * np.log2(share[share > 0]))


def _distances(labels, center):
    """VI of every draw from one partition, in bits, a draw at a time."""
    from sklearn.metrics import mutual_info_score

    own = _entropy(center)
    shared = [mutual_info_score(center, draw) / np.log(2) for draw in labels]
    return np.array([own + _entropy(d) - 2 * i for d, i in zip(labels, shared, strict=True)])


def _sklearn_nmf(given, model):
    from sklearn.decomposition import NMF

    solver, loss = NMF_SOLVERS[model]
    psm = given.psm

    def one(seed):
        peer = NMF(
            given.rank, init="random", solver=solver, beta_loss=loss, max_iter=2000,
            random_state=seed,
        )  # fmt: skip
        W = peer.fit_transform(psm)
        return _objective(model, psm, W @ peer.components_)

    return lambda seed: min(one(10 * seed + restart) for restart in range(10))


def _objective(model, psm, fitted):
    if model == "ls":
        return 0.5 * ((psm - fitted) ** 2).sum()
    fitted, seen = np.maximum(fitted, 1e-300), psm > 0
    return (psm[seen] * np.log(psm[seen] / fitted[seen])).sum() + (fitted - psm).sum()


def _sklearn_search(labels, loss):
    """Average linkage on 1 - similarity, cut at 2 to 16, the cut of least expected loss kept."""
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.metrics import pair_confusion_matrix, pairwise_distances

    def cost(center):
        if loss == "vi":
            return _distances(labels, center).mean()
        n = len(center)
        apart = [pair_confusion_matrix(draw, center) for draw in labels]
        return np.mean([table[0, 1] + table[1, 0] for table in apart]) / n**2

    def run(seed):
        far = pairwise_distances(labels.T, metric="hamming")
        cuts = [
            AgglomerativeClustering(k, metric="precomputed", linkage="average").fit_predict(far)
            for k in range(2, 17)
        ]
        return min(cuts, key=cost).astype(np.int32) + 1

    return run


def resident(field):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise OSError(f"/proc/self/status has no {field}")


def measure(call, repeats, budget, *, is_compiled):
    """Return the last answer, CPU seconds of each repeat and the peak memory above the start."""
    if is_compiled:
        call(0)
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # else the call is given pages that are still resident
    has_proc = Path("/proc/self/clear_refs").exists()
    if has_proc:
        Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS") if has_proc else np.nan
    seconds = []
    while len(seconds) < repeats and (not seconds or sum(seconds) < budget):
        began = time.process_time()
        answer = call(len(seconds))
        seconds.append(time.process_time() - began)
    memory = resident("VmHWM") - before if has_proc else np.nan
    return answer, seconds, memory


def main():
    task, rival, folder, repeats, budget = sys.argv[1:]
    warnings.simplefilter("ignore")
    contender = {"partita": ours, "scikit-learn": sklearn}[rival]
    with threadpool_limits(1):
        call = contender(task, Inputs(folder))
        answer, seconds, memory = measure(
            call, int(repeats), float(budget), is_compiled=rival == "partita"
        )
    np.asarray(answer).ravel(order="F").tofile(Path(folder) / "answer.bin")
    print("\nMEASURED", memory, *seconds)


if __name__ == "__main__":
    main()
