"""One set of draws as every program would write it."""

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
import zarr

import partita as pt

DATA = Path(__file__).parent / "io" / "data"
DRAW, ITEM = np.arange(1, 25)[:, None], np.arange(1, 10)
LABELS = (DRAW * DRAW * ITEM + DRAW * 7 + ITEM * ITEM * 5) // 3 % 4 + 1
BY_CHAIN = LABELS.reshape(2, 12, 9)
EXPECTED = pt.Draws(LABELS)
ALPHA = np.arange(1, 25) / 7

COMMENTS = """\
# stan_version_major = 2
# stan_version_minor = 36
# stan_version_patch = 0
# model = mixture_model
# method = sample (Default)
#   sample
#     num_samples = 12
#     num_warmup = 3
#     save_warmup = {warmup}
#     thin = 1 (Default)
# id = {id}
"""
ADAPTED = (
    "# Adaptation terminated\n# Step size = 0.9\n# Diagonal elements of inverse mass matrix:\n"
)


def cmdstan(labels, alpha, *, id=1, warmup=0):
    names = ["lp__", "accept_stat__", "stepsize__", "treedepth__", "n_leapfrog__", "divergent__"]
    names += ["energy__", "alpha", "theta.1", "theta.2"]
    names += [f"z.{i + 1}" for i in range(labels.shape[1])]
    names += [f"logp.{i + 1}.{k + 1}" for k in range(4) for i in range(labels.shape[1])]
    rows = []
    for draw, a in zip(labels, alpha, strict=True):
        logs = [np.log(0.97 if draw[i] == k + 1 else 0.01) for k in range(4) for i in range(9)]
        cells = [-1.5, 0.9, 0.9, 2, 3, 0, 2.5, a, 0.25, 0.75]
        rows.append(",".join([*map(str, cells), *map(str, draw), *map("{:.6g}".format, logs)]))
    top = COMMENTS.format(warmup=warmup, id=id) + ",".join(names) + "\n"
    kept = rows[:3] if warmup else []
    body = "\n".join([*kept, ADAPTED + "# 1, 1, 1", *rows])
    return top + body + "\n# \n#  Elapsed Time: 0.1 seconds (Sampling)\n"


def dataset(dims=("chain", "draw", "obs"), **coords):
    values = BY_CHAIN.transpose([("chain", "draw", "obs").index(dim) for dim in dims])
    variables = {
        "z": (dims, values),
        "alpha": (("chain", "draw"), ALPHA.reshape(2, 12)),
        "mu": (("chain", "draw", "k"), np.full((2, 12, 3), 0.5)),
    }
    return xr.Dataset(variables, {"chain": [0, 1], "draw": np.arange(12), **coords})


def tree(**coords):
    stats = xr.Dataset({"lp": (("chain", "draw"), -ALPHA.reshape(2, 12))})
    data = xr.Dataset({"y": ("obs", np.arange(9))})
    groups = {"posterior": dataset(**coords), "sample_stats": stats, "observed_data": data}
    return xr.DataTree.from_dict(groups)


def frame():
    table = pd.DataFrame(LABELS, columns=[f"z[{i + 1}]" for i in range(9)])
    return table.assign(**{".chain": np.repeat([1, 2], 12), ".draw": range(24), "alpha": ALPHA})


def text(path, content):
    path.write_text(content)
    return path


def made(path, write):
    write(path)
    return path


def numpy_zip(path):
    np.savez_compressed(path, labels=BY_CHAIN)


def zarr_array(path, version):
    array = zarr.create_array(str(path), shape=LABELS.shape, dtype="i8", zarr_format=version)
    array[:] = LABELS


def chain_files(folder):
    for c in (1, 2):
        rows = slice(12 * c - 12, 12 * c)
        text(folder / f"fit_{c}.csv", cmdstan(LABELS[rows], ALPHA[rows], id=c))
    return folder / "fit_*.csv"


def lines(delimiter):
    return "\n".join(delimiter.join(map(str, row)) for row in LABELS) + "\n"
