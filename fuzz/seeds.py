"""Sound files of every format, small, for the fuzzer to damage."""

from __future__ import annotations

import gzip
import io
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import partita

LABELS = (np.arange(30).reshape(6, 5) * 7 % 4 + 1).astype(np.int32)
DATA = Path(__file__).parent.parent / "tests" / "io" / "data"


def _saved(write: Callable[[Path], object], name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def text() -> list[bytes]:
    rows = "\n".join(",".join(map(str, row)) for row in LABELS)
    header = "a,b,c,d,e\n"
    tables = [rows, header + rows, rows.replace(",", "\t"), rows.replace(",", " "), "x,y\nu,v\nu,u"]
    tables += ['"","a","b"\n"1",1,2\n"2",1,1', "1.0;2e0;3\n1;1;1\n"]
    tables += [
        ".chain,z[1],z[2],alpha\n1,1,2,0.5\n2,2,2,1.5\n",
        ",lp__,a,b\n0,1.5,u,v\n1,2.5,u,u\n",
    ]
    plain = [table.encode() for table in tables]
    return [*plain, *(gzip.compress(one) for one in plain[:2])]


def cmdstan() -> list[bytes]:
    top = b"# stan_version_major = 2\n# num_warmup = 2\n# save_warmup = 1\n# thin = 1\n"
    head = b"lp__,accept_stat__,alpha,z.1,z.2,z.3,w.1.1,w.2.1\n"
    rows = b"".join(b"-1.5,0.9,%d.5,1,2,%d,0.5,0.25\n" % (i, i % 2) for i in range(6))
    return [
        top + head + rows,
        head + b"# Adaptation terminated\n" + rows,
        gzip.compress(top + head + rows),
    ]


def npy() -> list[bytes]:
    arrays = [LABELS, LABELS.reshape(2, 3, 5), LABELS.astype(">f8"), LABELS.astype(str)]
    return [*_npy(arrays), unfinished()]


def unfinished() -> bytes:
    """A chain that is being written, with weights."""
    with tempfile.TemporaryDirectory() as folder:
        writer = partita.DrawsWriter(Path(folder) / "a.zarr")
        for row in LABELS:
            writer.write(row, weight=1.5)
        return Path(writer.partial).read_bytes()


def npz() -> list[bytes]:
    found = []
    for save in (np.savez, np.savez_compressed):
        for arrays in ({"labels": LABELS}, {"labels": LABELS, "weights": np.ones(6)}):
            buffer = io.BytesIO()
            save(buffer, **arrays)
            found.append(buffer.getvalue())
    return found


def zarr() -> list[bytes]:
    """A byte for the version, the length of the metadata, the metadata, one chunk."""
    import numcodecs
    from zarr import create_array
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

    cases = [
        (2, c)
        for c in (None, numcodecs.Zstd(), numcodecs.Blosc(), numcodecs.GZip(), numcodecs.LZ4())
    ]
    cases += [(3, c) for c in (None, ZstdCodec(), BloscCodec(), GzipCodec())]
    found = []
    for version, codec in cases:
        with tempfile.TemporaryDirectory() as folder:
            array = create_array(
                folder + "/a",
                shape=(6, 5),
                chunks=(6, 5),
                dtype="i4",
                zarr_format=version,
                compressors=codec,
            )
            array[:] = LABELS
            root = Path(folder) / "a"
            meta = (root / (".zarray" if version == 2 else "zarr.json")).read_bytes()
            chunk = (root / ("0.0" if version == 2 else "c/0/0")).read_bytes()
            found.append(bytes([version]) + struct.pack("<H", len(meta)) + meta + chunk)
    return found


def netcdf() -> list[bytes]:
    import xarray as xr

    values = LABELS.reshape(2, 3, 5)
    data = xr.Dataset(
        {"z": (("chain", "draw", "obs"), values), "a": (("chain", "draw"), np.ones((2, 3)))},
        {"obs": list("abcde")},
    )
    packed = {"z": {"zlib": True, "chunksizes": (1, 3, 5)}}
    tree = xr.DataTree.from_dict({"posterior": data})
    plain = xr.Dataset({"z": (("draw", "obs"), LABELS)})
    return [
        _saved(lambda p: tree.to_netcdf(p, engine="h5netcdf"), "a.nc"),
        _saved(lambda p: data.to_netcdf(p, engine="h5netcdf", encoding=packed), "a.nc"),
        _saved(lambda p: plain.to_netcdf(p, engine="netcdf4"), "a.nc"),
        _saved(lambda p: plain.to_netcdf(p, engine="scipy"), "a.nc"),
    ]


def parquet() -> list[bytes]:
    import pandas as pd

    frame = pd.DataFrame(LABELS, columns=[f"z[{i}]" for i in range(5)])
    named = frame.assign(**{".chain": [1, 1, 1, 2, 2, 2], "alpha": 0.5})
    texts = pd.DataFrame(LABELS.astype(str), columns=list("abcde"))
    found = [_saved(f.to_parquet, "a.parquet") for f in (frame, named, texts)]
    return found + [
        _saved(lambda p, c=codec: frame.to_parquet(p, compression=c), "a.parquet")
        for codec in ("gzip", "zstd", "brotli", None)
    ]


def rdata() -> list[bytes]:
    return [
        path.read_bytes() for path in sorted(DATA.iterdir()) if path.suffix in (".rds", ".RData")
    ] + [
        gzip.decompress((DATA / name).read_bytes())
        for name in ("bnpmix.rds", "coda.rds", "frame.rds", "mcclust.RData")
    ]


def data() -> list[bytes]:
    tables = ["x,y\n1.5,2\n3,4\n", "1\t2\n3\t4\n", ",x\na,1\nb,2\n", 'n;"x y"\n"a;b";1\nc;2\n']
    plain = [table.encode() for table in tables]
    return [*plain, *map(gzip.compress, plain)]


def similarity() -> list[bytes]:
    rows = b",a,b\na,1,0.5\nb,0.5,1\n"
    return [rows, gzip.compress(rows), *_npy([np.eye(3)]), *_npz([{"similarity": np.eye(3)}])]


def weights() -> list[bytes]:
    logs = np.log(np.full((2, 3, 4, 2), 0.5))
    return [*_npy([logs, logs[0]]), *_npz([{"log_weights": logs}]), *cmdstan()]


def matrix() -> list[bytes]:
    import pandas as pd
    import xarray as xr

    square = np.eye(3)
    data = xr.Dataset({"psm": (("i", "j"), square)})
    return [
        (DATA / "psm.rds").read_bytes(),
        (DATA / "mcclust.RData").read_bytes(),
        _saved(lambda p: data.to_netcdf(p, engine="h5netcdf"), "a.nc"),
        _saved(lambda p: data.to_netcdf(p, engine="scipy"), "a.nc"),
        _saved(pd.DataFrame(square, columns=list("abc")).to_parquet, "a.parquet"),
    ]


def _npy(arrays: list[np.ndarray]) -> list[bytes]:
    found = []
    for array in arrays:
        buffer = io.BytesIO()
        np.save(buffer, array)
        found.append(buffer.getvalue())
    return found


def _npz(archives: list[dict[str, np.ndarray]]) -> list[bytes]:
    found = []
    for arrays in archives:
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        found.append(buffer.getvalue())
    return found


def _members(arrays: dict[str, np.ndarray], reader: str) -> bytes:
    """Arrays as ``reads.write_archive`` takes them apart."""
    import reads

    names = reads.archive_names(reader)
    parts = []
    for name, array in arrays.items():
        if name in names:
            content = _npy([array])[0]
            parts.append(reads.MEMBER.pack(names.index(name), len(content)) + content)
    return b"".join(parts)


def estimate() -> list[bytes]:
    import partita as pt

    draws, found = pt.Draws(np.tile(LABELS, (4, 1))), []
    for search in ("average", pt.search.NMF("ls", ranks=(2, 3), n_init=1)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.npz"
            pt.estimate(draws, loss="binder", search=search, rng=0, n_jobs=1).save(path)
            with np.load(path) as file:
                found.append(_members({name: file[name] for name in file.files}, "estimate"))
    return found


def state() -> list[bytes]:
    import reads

    with tempfile.TemporaryDirectory() as folder:
        return [_members(reads.state_arrays(Path(folder)), "checkpoint")]


def run() -> list[bytes]:
    return [
        _members(
            {"fingerprint": np.array("x"), "seed": np.array("7"), "format": np.array(3)}, "run"
        )
    ]


ALL: dict[str, tuple[str, Callable[[], list[bytes]]]] = {
    "text": ("a.csv", text),
    "premium": ("a_z.txt", text),
    "cmdstan": ("a.csv", cmdstan),
    "npy": ("a.npy", npy),
    "npz": ("a.npz", npz),
    "zarr": ("a.zarr", zarr),
    "netcdf": ("a.nc", netcdf),
    "parquet": ("a.parquet", parquet),
    "rdata": ("a.rds", rdata),
    "data": ("a.csv", data),
    "similarity": ("a.csv", similarity),
    "estimate": ("a.npz", estimate),
    "checkpoint": ("chain-0.npz", state),
    "run": ("run.npz", run),
    "weights": ("a.npz", weights),
    "matrix": ("a", matrix),
    "stored-npy": ("a.npy", npy),
    "stored-zarr": ("a.zarr", zarr),
    "stored-parquet": ("a.parquet", parquet),
}
