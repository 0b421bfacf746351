"""The same draws through every format and every sampler's object: the same bytes of labels."""

import gzip

import numpy as np
import pandas as pd
import pytest

import partita as pt
from formats_data import (
    ALPHA,
    BY_CHAIN,
    DATA,
    EXPECTED,
    LABELS,
    chain_files,
    cmdstan,
    dataset,
    frame,
    lines,
    made,
    numpy_zip,
    text,
    tree,
    zarr_array,
)


def classic(**coords):
    """What the classic NetCDF can hold: integers of 32 bits, text as characters."""
    data = dataset(**coords)
    return data.assign(z=data.z.astype("int32"))


FILES = {
    "csv": lambda p: text(p / "a.csv", lines(",")),
    "tsv": lambda p: text(p / "a.tsv", lines("\t")),
    "csv.gz": lambda p: made(
        p / "a.csv.gz", lambda f: f.write_bytes(gzip.compress(lines(",").encode()))
    ),
    "premium": lambda p: text(p / "out_z.txt", lines(" ")),
    "npy": lambda p: made(p / "a.npy", lambda f: np.save(f, LABELS)),
    "npy by chain": lambda p: made(p / "a.npy", lambda f: np.save(f, BY_CHAIN)),
    "npz": lambda p: made(p / "a.npz", numpy_zip),
    "npz of ours": lambda p: made(p / "a.npz", pt.Draws(BY_CHAIN).save),
    "netcdf 4": lambda p: made(p / "a.nc", lambda f: tree().to_netcdf(f, engine="h5netcdf")),
    "netcdf 4 by netCDF4": lambda p: made(
        p / "a.nc", lambda f: tree(obs=list("abcdefghi")).to_netcdf(f, engine="netcdf4")
    ),
    "netcdf 3": lambda p: made(
        p / "a.nc", lambda f: classic(obs=list("abcdefghi")).to_netcdf(f, engine="scipy")
    ),
    "zarr 2": lambda p: made(p / "a.zarr", lambda f: zarr_array(f, 2)),
    "zarr 3": lambda p: made(p / "a.zarr", lambda f: zarr_array(f, 3)),
    "zarr of ArviZ": lambda p: made(p / "a.zarr", lambda f: tree().to_zarr(f, zarr_format=3)),
    "zarr 2 of ArviZ": lambda p: made(p / "a.zarr", lambda f: tree().to_zarr(f, zarr_format=2)),
    "parquet": lambda p: made(p / "a.parquet", frame().to_parquet),
    "csv of a frame": lambda p: text(p / "a.csv", frame().to_csv(index=False)),
    "csv with an index": lambda p: text(p / "a.csv", frame().to_csv()),
    "tsv with lp__": lambda p: text(
        p / "a.tsv", frame().assign(lp__=-ALPHA).to_csv(sep="\t", index=False, quoting=2)
    ),
    "csv.gz of a frame": lambda p: made(p / "a.csv.gz", lambda f: frame().to_csv(f, index=False)),
    "txt of R": lambda p: text(p / "a.txt", frame().to_csv(sep=" ", quoting=2).removeprefix('"" ')),
    "cmdstan": lambda p: text(p / "a.csv", cmdstan(LABELS, ALPHA)),
    "cmdstan with warm-up": lambda p: text(p / "a.csv", cmdstan(LABELS, ALPHA, warmup=1)),
    "cmdstan.gz": lambda p: made(
        p / "a.csv.gz", lambda f: f.write_bytes(gzip.compress(cmdstan(LABELS, ALPHA).encode()))
    ),
    "cmdstan chains": chain_files,
    **{path.name: lambda p, path=path: path for path in sorted(DATA.glob("*.r*"))},
    "mcclust.RData": lambda p: DATA / "mcclust.RData",
}
del FILES["psm.rds"], FILES["bare.rds"]


class Mcmc:
    """NumPyro's MCMC, as far as it is looked at."""

    def get_samples(self, group_by_chain=False):
        samples = {"z": BY_CHAIN, "alpha": ALPHA.reshape(2, 12), "mu": np.full((2, 12, 3), 0.5)}
        return samples if group_by_chain else {k: v.reshape(24, -1) for k, v in samples.items()}


class MultiTrace:
    """PyMC's, as far as it is looked at."""

    varnames = ("z", "alpha", "mu")

    def get_values(self, name, combine=True, squeeze=True):
        values = list(Mcmc().get_samples(group_by_chain=True)[name])
        return np.concatenate(values) if combine else values


class InferenceData:
    """ArviZ's before 1.0, as far as it is looked at."""

    def groups(self):
        return ["posterior", "sample_stats"]

    def to_netcdf(self):
        raise NotImplementedError

    def __getitem__(self, name):
        return tree()[name].dataset


OBJECTS = {
    "array": lambda: LABELS,
    "array by chain": lambda: BY_CHAIN,
    "lists": lambda: LABELS.tolist(),
    "DataFrame": lambda: pd.DataFrame(LABELS),
    "DataFrame of a sampler": frame,
    "DataFrame of objects": lambda: frame().astype(object),
    "DataFrame with lp__": lambda: frame().assign(lp__=-ALPHA)[frame().columns[::-1]],
    "Dataset": dataset,
    "Dataset, items first": lambda: dataset(("obs", "chain", "draw")),
    "DataArray": lambda: dataset().z,
    "stacked samples": lambda: dataset().stack(sample=("chain", "draw")),
    "DataTree": tree,
    "InferenceData": InferenceData,
    "ours to ArviZ": lambda: pt.Draws(BY_CHAIN).to_arviz(),
    "NumPyro": Mcmc,
    "PyMC": MultiTrace,
    "dict by chain": lambda: Mcmc().get_samples(group_by_chain=True),
    "dict": lambda: {"z": LABELS, "alpha": ALPHA, "mu": np.full((24, 3), 0.5)},
    "dict of lists": lambda: {"z": LABELS.tolist()},
}
ONE_CHAIN = {
    *("csv", "tsv", "csv.gz", "premium", "npy", "zarr 2", "zarr 3", "cmdstan", "cmdstan.gz"),
    *("cmdstan with warm-up", "array", "lists", "DataFrame", "dict", "dict of lists"),
    *(path.name for path in DATA.glob("mcclust*")),
    "bnpmix.rds",
}
WITH_ALPHA = {
    *("netcdf 4", "netcdf 4 by netCDF4", "netcdf 3", "zarr of ArviZ", "zarr 2 of ArviZ"),
    *(
        "parquet",
        "cmdstan chains",
        "coda.rds",
        "array.rds",
        "Dataset",
        "DataTree",
        "InferenceData",
        "NumPyro",
    ),
    *("csv of a frame", "csv with an index", "tsv with lp__", "csv.gz of a frame", "txt of R"),
    *("DataFrame of a sampler", "DataFrame with lp__"),
    *("PyMC", "dict by chain", "dict", "cmdstan", "cmdstan.gz", "stacked samples"),
}


def check(name, draws):
    assert draws.labels.tobytes() == EXPECTED.labels.tobytes()
    assert draws.labels.dtype == EXPECTED.labels.dtype
    assert draws.n_chains == (1 if name in ONE_CHAIN else 2)
    if draws.chains is not None:
        assert draws.chains.tolist() == [0] * 12 + [1] * 12
    if name in WITH_ALPHA:
        assert np.allclose(draws.traces["alpha"], ALPHA)


@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_bytes(tmp_path, name):
    draws = pt.read_draws(FILES[name](tmp_path))
    check(name, draws)
    if name in ("netcdf 4 by netCDF4", "netcdf 3"):
        assert draws.item_names == tuple("abcdefghi")


@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_gives_the_same_bytes(name):
    check(name, pt.as_draws(OBJECTS[name]()))


def test_every_verb_takes_them(tmp_path):
    best = pt.estimate(tree(), loss="binder", search="average")
    assert (
        best.labels.tolist() == pt.estimate(LABELS, loss="binder", search="average").labels.tolist()
    )
    path = FILES["netcdf 4"](tmp_path)
    assert pt.posterior_similarity(path).draws == pt.as_draws(tree())


STORES = [name for name in FILES if name.startswith(("npy", "zarr", "parquet"))]


@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
@pytest.mark.parametrize("name", STORES)
def test_labels_that_stay_in_their_file_keep_what_came_with_them(tmp_path, name):
    path = FILES[name](tmp_path)
    stored = pt.read_draws(path, stored=True)
    assert not isinstance(stored.labels, np.ndarray)
    whole = pt.read_draws(path)
    assert np.array_equal(np.asarray(stored.labels), whole.labels)
    assert stored.item_names == whole.item_names
    assert stored.n_chains == whole.n_chains
    assert stored.traces.keys() == whole.traces.keys()


@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
def test_weights_in_a_store_are_weights(tmp_path):
    weighted = pt.Draws(LABELS, weights=np.arange(1, 25))
    given = weighted.to_arviz()
    given = given.to_datatree() if hasattr(given, "to_datatree") else given
    given.to_zarr(tmp_path / "a.zarr")
    whole = pt.read_draws(tmp_path / "a.zarr")
    stored = pt.read_draws(tmp_path / "a.zarr", stored=True)
    assert whole.weights is not None
    assert np.array_equal(stored.weights, whole.weights)


def test_several_files_are_not_left_where_they_are(tmp_path):
    path = FILES["npy"](tmp_path)
    with pytest.raises(ValueError, match="`stored` must go with one file"):
        pt.read_draws([path, path], stored=True)
