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
PART = slice(5, 29), slice(4, 21)


def same(blocks, labels=LABELS):
    whole = blocks.read(slice(None), slice(None))
    assert whole.dtype == blocks.dtype
    assert blocks.shape == labels.shape
    assert (whole == labels).all()
    assert (blocks.read(*PART) == labels[PART]).all()
    assert blocks.read(slice(3, 3), slice(None)).shape == (0, labels.shape[1])
    with pytest.raises(InvalidValueError, match="without a step"):
        blocks.read(slice(0, 9, 2), slice(None))


def write_zarr(path, labels=LABELS, chunks=(10, 7), **settings):
    array = zarr.create_array(
        str(path), shape=labels.shape, dtype=labels.dtype, chunks=chunks, **settings
    )
    array[:] = labels
    return path


class TestNpy:
    @pytest.mark.parametrize("dtype", ["<i4", ">i4", "u1", "i8"])
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_any_integers(self, tmp_path, dtype, order):
        np.save(tmp_path / "a.npy", np.asarray(LABELS.astype(dtype), order=order))
        same(open_stored(tmp_path / "a.npy"))
        blocks = open_stored(tmp_path / "a.npy", orient="items")
        assert (blocks.read(slice(None), slice(None)) == LABELS.T).all()

    def test_one_cut_short_says_what_is_whole(self, tmp_path):
        np.save(tmp_path / "a.npy", LABELS)
        raw = (tmp_path / "a.npy").read_bytes()
        (tmp_path / "a.npy").write_bytes(raw[: 128 + 11 * 23 * 4 + 5])
        for read in (open_stored, read_table):
            with pytest.raises(FileError, match="the first 11 of 37 rows are whole"):
                read(tmp_path / "a.npy")


class TestZarr:
    @pytest.mark.parametrize(
        ("version", "codecs"),
        [
            *[(2, c) for c in (None, numcodecs.Zstd(), numcodecs.Blosc(shuffle=2))],
            *[(2, c) for c in (numcodecs.GZip(), numcodecs.Zlib(), numcodecs.BZ2())],
            (2, numcodecs.LZ4()),
            *[(3, c) for c in (None, ZstdCodec(), BloscCodec(), GzipCodec())],
            (3, [ZstdCodec(), Crc32cCodec()]),
        ],
        ids=lambda x: str(x) if isinstance(x, int) else type(x).__name__,
    )
    @pytest.mark.parametrize("dtype", ["<i4", ">i8", "u1"])
    def test_as_the_zarr_library_writes_it(self, tmp_path, version, codecs, dtype):
        labels = LABELS.astype(dtype)
        same(
            open_stored(write_zarr(tmp_path / "a", labels, zarr_format=version, compressors=codecs))
        )

    @pytest.mark.parametrize("version", [2, 3])
    def test_missing_chunks_are_the_fill_value_where_the_store_says_so(self, tmp_path, version):
        array = zarr.create_array(
            str(tmp_path / "a"), shape=(9, 9), chunks=(4, 4), dtype="i4", fill_value=3,
            zarr_format=version,
        )  # fmt: skip
        array[:4, :4] = 1
        for read in (open_stored, read_table):
            with pytest.raises(FileError, match="lacks 8 of 9 chunks"):
                read(tmp_path / "a")
        with pytest.raises(FileError) as caught:
            open_stored(tmp_path / "a")
        exec(str(caught.value).rsplit("say so: ", 1)[1].rstrip("."), {"zarr": zarr})
        blocks = open_stored(tmp_path / "a")
        assert (blocks.read(slice(None), slice(None)) == array[:]).all()
        assert (read_table(tmp_path / "a").labels == array[:]).all()
        part = slice(2, 7), slice(3, 9)
        assert (pickle.loads(pickle.dumps(blocks)).read(*part) == array[:][part]).all()

    def test_chains_and_any_order_of_dimensions(self, tmp_path):
        labels = LABELS[:36].reshape(4, 9, 23)
        array = zarr.create_array(
            str(tmp_path / "a"),
            shape=(4, 23, 9),
            chunks=(1, 6, 4),
            dtype="i4",
            dimension_names=("chain", "item", "draw"),
        )
        array[:] = labels.transpose(0, 2, 1)
        blocks = open_stored(tmp_path / "a")
        same(blocks, LABELS[:36])
        assert blocks.chains.tolist() == np.repeat(range(4), 9).tolist()

    def test_a_group_and_its_key(self, tmp_path):
        group = zarr.create_group(str(tmp_path / "a"))
        for name in ("x", "y"):
            array = group.create_array(name, shape=LABELS.shape, dtype="i4")
            array[:] = LABELS
        with pytest.raises(FileError, match="several variables"):
            open_stored(tmp_path / "a")
        same(open_stored(tmp_path / "a", key="y"))
        with pytest.raises(InvalidValueError, match="`key` must name"):
            open_stored(tmp_path / "a", key="w")

    @pytest.mark.parametrize("codec", ["pickle", "vlen-array", "sharding", "quantize"])
    @pytest.mark.parametrize("place", ["filters", "compressor"])
    def test_codecs_that_are_not_read(self, tmp_path, codec, place):
        path = write_zarr(tmp_path / "a", zarr_format=2, compressors=None)
        meta = json.loads((path / ".zarray").read_text())
        meta[place] = [{"id": codec}] if place == "filters" else {"id": codec}
        (path / ".zarray").write_text(json.dumps(meta))
        with pytest.raises(FileError, match="codec"):
            open_stored(path)

    @pytest.mark.parametrize(
        "change",
        [
            {"shape": [37, -1]},
            {"shape": [2**60, 23]},
            {"shape": "x"},
            {"chunks": [0, 7]},
            {"chunks": [2**30, 2**10]},
            {"chunks": [10]},
            {"dtype": 7},
            {"dtype": "<M8"},
            {"fill_value": "x"},
            {"dimension_separator": ".."},
            {"compressor": 3},
        ],
    )
    def test_metadata_that_lie(self, tmp_path, change):
        path = write_zarr(tmp_path / "a", zarr_format=2, compressors=None)
        meta = json.loads((path / ".zarray").read_text())
        (path / ".zarray").write_text(json.dumps({**meta, **change}))
        with pytest.raises(FileError):
            open_stored(path)

    @pytest.mark.parametrize("codec", ["Zstd", "Blosc", "GZip", "Zlib", "BZ2", "LZ4"])
    def test_chunks_that_lie(self, tmp_path, codec):
        made = getattr(numcodecs, codec)()
        path = write_zarr(tmp_path / "a", zarr_format=2, compressors=made)
        bomb = made.encode(np.zeros(5_000_000, np.uint8))
        for content in (bytes(bomb), bytes(bomb)[:40], b"", b"x" * 40):
            (path / "1.1").write_bytes(content)
            with pytest.raises(FileError, match="corrupt"):
                open_stored(path).read(*PART)

    def test_a_chunk_must_fit_in_its_store(self, tmp_path):
        meta = {"zarr_format": 2, "shape": [2, 3], "chunks": [1 << 16, 1 << 15], "dtype": "|u1"}
        meta |= {"compressor": {"id": "zlib", "level": 1}, "fill_value": 0, "order": "C"}
        path = tmp_path / "a.zarr"
        path.mkdir()
        (path / ".zarray").write_text(json.dumps({**meta, "filters": None}))
        (path / "0.0").write_bytes(bytes(1 << 16))
        for read in (open_stored, read_table):
            with pytest.raises(FileError, match=r"a chunk of .* claims 2\.0 GiB of data in 64"):
                read(path)

    def test_too_many_chunks_are_not_looked_for(self, tmp_path):
        meta = {"zarr_format": 2, "shape": [1000, 1000], "chunks": [1, 1], "dtype": "<i8"}
        meta |= {"compressor": None, "fill_value": 1, "order": "C", "filters": None}
        path = tmp_path / "a.zarr"
        path.mkdir()
        for change in ({}, {"shape": [30_000_000, 1], "chunks": [1, 1000]}):
            (path / ".zarray").write_text(json.dumps({**meta, **change}))
            for read in (read_table, open_stored):
                with pytest.raises(FileError, match="write it again with larger chunks"):
                    read(path)
        (path / ".zarray").write_text(json.dumps({**meta, "chunks": [100, 1000]}))
        with pytest.raises(FileError, match="lacks 10 of 10 chunks"):
            read_table(path)

    @pytest.mark.parametrize("version", [2, 3])
    def test_links_are_not_followed(self, tmp_path, version):
        path = write_zarr(tmp_path / "a", zarr_format=version)
        same(open_stored(path))
        linked = path / "1.1" if version == 2 else path / "c" / "1"
        os.rename(linked, tmp_path / "elsewhere")
        try:
            linked.symlink_to(tmp_path / "elsewhere")
        except OSError:
            pytest.skip("links cannot be made here")
        for read in (read_table, lambda p: open_stored(p).read(*PART)):
            with pytest.raises(FileError, match="links within a Zarr store are not followed"):
                read(path)
        (tmp_path / "b").symlink_to(write_zarr(tmp_path / "c"))
        same(open_stored(tmp_path / "b"))  # the store itself may be one

    @pytest.mark.parametrize("stored", [None, True])
    def test_lost_weights_are_an_error_with_a_remedy(self, tmp_path, stored):
        store = tmp_path / "chain.zarr"
        with pt.DrawsWriter(store) as out:
            for number, draw in enumerate(LABELS):
                out.write(draw, weight=1.0 + number)
        kept = pt.read_draws(store, stored=stored)
        assert_array_equal(kept.weights, 1.0 + np.arange(len(LABELS)))
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

    def test_a_lost_chunk_is_an_error(self, tmp_path):
        path = write_zarr(tmp_path / "a", zarr_format=2)
        (path / "1.1").unlink()
        for read in (open_stored, read_table):
            with pytest.raises(FileError, match="lacks 1 of 16 chunks. If they were lost, write"):
                read(path)

    def test_other_chunks_than_a_corrupt_one_can_be_read(self, tmp_path):
        path = write_zarr(tmp_path / "a", zarr_format=2, compressors=numcodecs.GZip())
        (path / "1.1").write_bytes(b"nonsense")
        for read in (lambda path: open_stored(path).read(slice(None), slice(None)), read_table):
            with pytest.raises(FileError, match=r"a', \[0:37, 0:2[13]\], is .*corrupt"):
                read(path)
        assert (open_stored(path).read(slice(0, 10), slice(None)) == LABELS[:10]).all()


class TestParquet:
    def frame(self, names="i{}"):
        return pd.DataFrame(LABELS, columns=[names.format(i) for i in range(23)])

    def test_row_groups_and_bookkeeping(self, tmp_path):
        frame = self.frame("z[{}]").assign(**{".chain": [1] * 20 + [2] * 17, "lp__": 0.5})
        frame.to_parquet(tmp_path / "a.parquet", row_group_size=8)
        blocks = open_stored(tmp_path / "a.parquet")
        same(blocks)
        assert blocks.chains.tolist() == [0] * 20 + [1] * 17
        assert blocks.chunks == (8, 1)

    def test_a_claim_beyond_the_file(self, tmp_path):
        # A constant column of 200 million rows shrinks to a few kilobytes.
        import pyarrow as pa
        import pyarrow.parquet as pq

        column = pa.array(np.zeros(1_000_000, np.int8))
        with pq.ParquetWriter(tmp_path / "a.parquet", pa.schema([("i", pa.int8())])) as writer:
            for _ in range(50):
                writer.write_table(pa.table({"i": column}))
        blocks = open_stored(tmp_path / "a.parquet")
        with pytest.raises((FileError, OutOfMemoryError), match="claims"):
            blocks.read(slice(None), slice(None))
        assert blocks.read(slice(10), slice(None)).tolist() == [[0]] * 10
