"""Labels read in blocks from ``.npy``, Zarr and Parquet: the same as the whole, or an error."""

import json
import os
import pickle
import shutil

import numcodecs
import numpy as np
import pandas as pd
import pytest
import zarr
from numpy.testing import assert_array_equal
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec

import partita as pt
from partita.errors import FileError, InvalidValueError, OutOfMemoryError
from partita.io import open_stored, read_table

LABELS = np.random.default_rng(0).integers(0, 9, (37, 23)).astype(np.int32)
ALL, PART = (slice(None), slice(None)), (slice(5, 29), slice(4, 21))


def same(blocks, labels=LABELS):
    whole = blocks.read(*ALL)
    assert whole.dtype == blocks.dtype
    assert blocks.shape == labels.shape
    assert (whole == labels).all()
    assert (blocks.read(*PART) == labels[PART]).all()
    assert blocks.read(slice(3, 3), slice(None)).shape == (0, labels.shape[1])
    with pytest.raises(InvalidValueError, match="without a step"):
        blocks.read(slice(0, 9, 2), slice(None))


def both_refuse(path, words, kind=FileError):
    for read in (lambda path: open_stored(path).read(*ALL), read_table):
        with pytest.raises(kind, match=words):
            read(path)


@pytest.mark.parametrize("dtype", ["<i4", ">i4", "u1", "i8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_any_integers(tmp_path, dtype, order):
    path = tmp_path / "a.npy"
    np.save(path, np.asarray(LABELS.astype(dtype), order=order))
    same(open_stored(path))
    assert (open_stored(path, orient="items").read(*ALL) == LABELS.T).all()


def test_npy_that_is_cut_short(tmp_path):
    np.save(tmp_path / "a.npy", LABELS)
    raw = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(raw[: 128 + 11 * 23 * 4 + 5])
    both_refuse(tmp_path / "a.npy", "the first 11 of 37 rows are whole")


def write_zarr(path, labels=LABELS, chunks=(10, 7), **settings):
    how = {"shape": labels.shape, "dtype": labels.dtype, "chunks": chunks}
    zarr.create_array(str(path), **how, **settings)[:] = labels
    return path


def write_meta(path, **meta):
    path.mkdir(exist_ok=True)
    plain = {"zarr_format": 2, "compressor": None, "order": "C", "filters": None, "fill_value": 1}
    (path / ".zarray").write_text(json.dumps({**plain, **meta}))
    return path


class TestZarr:
    @pytest.mark.parametrize(
        ("version", "codecs"),
        [
            *[(2, c) for c in (None, numcodecs.Zstd(), numcodecs.Blosc(shuffle=2))],
            *[(2, c) for c in (numcodecs.GZip(), numcodecs.Zlib(), numcodecs.BZ2())],
            *[(3, c) for c in (None, ZstdCodec(), BloscCodec(), GzipCodec())],
            *[(2, numcodecs.LZ4()), (3, [ZstdCodec(), Crc32cCodec()])],
        ],
        ids=lambda x: str(x) if isinstance(x, int) else type(x).__name__,
    )
    def test_as_the_zarr_library_writes_it(self, tmp_path, version, codecs):
        for dtype in ("<i4", ">i8", "u1"):
            how = {"zarr_format": version, "compressors": codecs}
            same(open_stored(write_zarr(tmp_path / dtype, LABELS.astype(dtype), **how)))

    @pytest.mark.parametrize("version", [2, 3])
    def test_missing_chunks_are_the_fill_value_where_the_store_says_so(self, tmp_path, version):
        how = {"shape": (9, 9), "chunks": (4, 4), "dtype": "i4", "fill_value": 3}
        array = zarr.create_array(str(tmp_path / "a"), **how, zarr_format=version)
        array[:4, :4] = 1
        both_refuse(tmp_path / "a", r"lacks 8 of 9 chunks.* have the store say so: zarr\.open")
        zarr.open(str(tmp_path / "a")).attrs["partita_may_miss_chunks"] = True
        blocks = open_stored(tmp_path / "a")
        assert (blocks.read(*ALL) == array[:]).all()
        assert (read_table(tmp_path / "a").labels == array[:]).all()
        part = slice(2, 7), slice(3, 9)
        assert (pickle.loads(pickle.dumps(blocks)).read(*part) == array[:][part]).all()

    def test_a_lost_or_corrupt_chunk(self, tmp_path):
        lost = write_zarr(tmp_path / "a", zarr_format=2)
        (lost / "1.1").unlink()
        both_refuse(lost, "lacks 1 of 16 chunks. If they were lost, write")
        spoilt = write_zarr(tmp_path / "b", zarr_format=2, compressors=numcodecs.GZip())
        (spoilt / "1.1").write_bytes(b"nonsense")
        both_refuse(spoilt, r"b', \[0:37, 0:2[13]\], is .*corrupt")
        assert (open_stored(spoilt).read(slice(0, 10), slice(None)) == LABELS[:10]).all()

    def test_chains_and_any_order_of_dimensions(self, tmp_path):
        labels = LABELS[:36].reshape(4, 9, 23).transpose(0, 2, 1)
        dims = ("chain", "item", "draw")
        blocks = open_stored(write_zarr(tmp_path / "a", labels, (1, 6, 4), dimension_names=dims))
        same(blocks, LABELS[:36])
        assert blocks.chains.tolist() == np.repeat(range(4), 9).tolist()

    def test_a_group_and_its_key(self, tmp_path):
        group = zarr.create_group(str(tmp_path / "a"))
        for name in ("x", "y"):
            group.create_array(name, shape=LABELS.shape, dtype="i4")[:] = LABELS
        with pytest.raises(FileError, match="several variables"):
            open_stored(tmp_path / "a")
        same(open_stored(tmp_path / "a", key="y"))
        with pytest.raises(InvalidValueError, match="`key` must name"):
            open_stored(tmp_path / "a", key="w")

    @pytest.mark.parametrize(
        "change",
        [
            *[{"filters": [{"id": c}]} for c in ("pickle", "vlen-array", "sharding", "quantize")],
            *[{"compressor": {"id": c}} for c in ("pickle", "vlen-array", "sharding", "quantize")],
            *[{"shape": x} for x in ([37, -1], [2**60, 23], "x")],
            *[{"chunks": x} for x in ([0, 7], [2**30, 2**10], [10])],
            *[{"dtype": 7}, {"dtype": "<M8"}, {"fill_value": "x"}, {"dimension_separator": ".."}],
            {"compressor": 3},
        ],
        ids=str,
    )
    def test_metadata_that_lie(self, tmp_path, change):
        path = write_zarr(tmp_path / "a", zarr_format=2, compressors=None)
        meta = json.loads((path / ".zarray").read_text())
        (path / ".zarray").write_text(json.dumps({**meta, **change}))
        refused = ("pickle", "vlen-array", "sharding")
        both_refuse(path, "codec" if any(name in str(change) for name in refused) else ".")

    @pytest.mark.parametrize("codec", ["Zstd", "Blosc", "GZip", "Zlib", "BZ2", "LZ4"])
    def test_chunks_that_lie(self, tmp_path, codec):
        made = getattr(numcodecs, codec)()
        path = write_zarr(tmp_path / "a", zarr_format=2, compressors=made)
        bomb = bytes(made.encode(np.zeros(5_000_000, np.uint8)))
        for content in (bomb, bomb[:40], b"", b"x" * 40):
            (path / "1.1").write_bytes(content)
            with pytest.raises(FileError, match="corrupt"):
                open_stored(path).read(*PART)

    def test_a_chunk_must_fit_in_its_store(self, tmp_path):
        meta = {"shape": [2, 3], "chunks": [1 << 16, 1 << 15], "dtype": "|u1", "fill_value": 0}
        path = write_meta(tmp_path / "a.zarr", **meta, compressor={"id": "zlib", "level": 1})
        (path / "0.0").write_bytes(bytes(1 << 16))
        both_refuse(path, r"a chunk of .* claims 2\.0 GiB of data in 64")

    @pytest.mark.parametrize(
        ("shape", "chunks", "words"),
        [
            ([1000, 1000], [1, 1], "write it again with larger chunks"),
            ([30_000_000, 1], [1, 1000], "write it again with larger chunks"),
            ([1000, 1000], [100, 1000], "lacks 10 of 10 chunks"),
        ],
    )
    def test_too_many_chunks_are_not_looked_for(self, tmp_path, shape, chunks, words):
        both_refuse(write_meta(tmp_path / "a", shape=shape, chunks=chunks, dtype="<i8"), words)

    @pytest.mark.parametrize("version", [2, 3])
    def test_links_are_not_followed(self, tmp_path, version):
        path = write_zarr(tmp_path / "a", zarr_format=version)
        (tmp_path / "b").symlink_to(path)
        same(open_stored(tmp_path / "b"))  # the store itself may be one
        linked = path / "1.1" if version == 2 else path / "c" / "1"
        os.rename(linked, tmp_path / "elsewhere")
        linked.symlink_to(tmp_path / "elsewhere")
        both_refuse(path, "links within a Zarr store are not followed")

    @pytest.mark.parametrize("stored", [None, True])
    def test_lost_weights_are_an_error_with_a_remedy(self, tmp_path, stored):
        store, weights = tmp_path / "chain.zarr", 1.0 + np.arange(len(LABELS))
        with pt.DrawsWriter(store) as out:
            for draw, weight in zip(LABELS, weights, strict=True):
                out.write(draw, weight=weight)
        assert_array_equal(pt.read_draws(store, stored=stored).weights, weights)
        with pytest.raises(FileError, match="lacks the weights.* Read the whole store"):
            pt.read_draws(store / "labels", stored=stored)
        meta = store / "partita_weights" / ".zarray"
        found = json.loads(meta.read_text())
        meta.write_text(json.dumps({**found, "shape": [len(LABELS) - 1]}))
        with pytest.raises(FileError, match="lacks the weights"):  # they are of other draws
            pt.read_draws(store, stored=stored)
        shutil.rmtree(store / "partita_weights")
        with pytest.raises(FileError, match="remove the attribute"):
            pt.read_draws(store, stored=stored)
        del zarr.open(str(store / "labels")).attrs["partita_weights"]
        assert pt.read_draws(store, stored=stored).weights is None


class TestParquet:
    def test_row_groups_and_bookkeeping(self, tmp_path):
        frame = pd.DataFrame(LABELS, columns=[f"z[{i}]" for i in range(23)])
        frame = frame.assign(**{".chain": [1] * 20 + [2] * 17, "lp__": 0.5})
        frame.to_parquet(tmp_path / "a.parquet", row_group_size=8)
        blocks = open_stored(tmp_path / "a.parquet")
        same(blocks)
        assert blocks.chains.tolist() == [0] * 20 + [1] * 17
        assert blocks.chunks == (8, 1)

    def test_a_claim_beyond_the_file(self, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        # A constant column of 50 million rows shrinks to a few kilobytes.
        column = pa.array(np.zeros(1_000_000, np.int8))
        with pq.ParquetWriter(tmp_path / "a.parquet", pa.schema([("i", pa.int8())])) as writer:
            for _ in range(50):
                writer.write_table(pa.table({"i": column}))
        blocks = open_stored(tmp_path / "a.parquet")
        with pytest.raises((FileError, OutOfMemoryError), match="claims"):
            blocks.read(*ALL)
        assert blocks.read(slice(10), slice(None)).tolist() == [[0]] * 10
