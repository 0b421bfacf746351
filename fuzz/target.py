"""One reader under atheris: damaged files go in; anything but an answer or a PartitaError is a finding.

``python fuzz/target.py READER SECONDS FOLDER``. Findings, and the number of inputs tried, are put
in FOLDER; the fuzzer goes on after a finding. Formats whose libraries a damaged file may crash are
read in a fork, as ``isolate=True`` does for its user; that such a fork dies is no finding.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import signal
import struct
import sys
import time
import traceback
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=[
        "partita.io",
        "rdata",
        "partita.cli",
        "partita.estimation",
        "partita.mixture.checkpoint",
    ]
):
    import rdata.parser  # noqa: F401
    import reads

    from partita import validate
    from partita.errors import PartitaError
    from partita.io import containers, zarr_store  # noqa: F401

import h5py  # noqa: F401
import pyarrow.parquet  # noqa: F401
import seeds
import xarray  # noqa: F401

MEMORY = 256 << 20
SLOW = 20  # CPU seconds for one input
FORKED = ("netcdf", "parquet", "rdata", "zarr", "stored-parquet", "stored-zarr")


class Slow(BaseException):
    """One input took too long."""


def late(*_: object) -> None:
    raise Slow


class Run:
    """The state of one run: where files go, and what was seen."""

    def __init__(self, reader: str, seconds: float, folder: Path) -> None:
        self.reader, self.end, self.folder = reader, time.monotonic() + seconds, folder
        self.scratch = (
            Path("/dev/shm" if os.path.isdir("/dev/shm") else folder) / f"fuzz-{os.getpid()}"
        )
        self.scratch.mkdir()
        self.target = reads.READ[reader]
        self.path = self.scratch / seeds.ALL[reader][0]
        self.counts = {"inputs": 0, "read": 0, "refused": 0, "child died": 0, "findings": 0}
        self.peak = 0
        self.said = 0.0

    def place(self, data: bytes) -> bool:
        """Put one input where the reader will look; whether it can be one."""
        if self.target.archive:
            reads.write_archive(self.path, data, reads.archive_names(self.reader))
            return True
        if not self.target.zarr:
            self.path.write_bytes(data)
            return True
        if len(data) < 3:
            return False
        shutil.rmtree(self.path, ignore_errors=True)
        version, size = data[0] % 2, struct.unpack("<H", data[1:3])[0]
        chunk = self.path / ("c/0/0" if version else "0.0")
        chunk.parent.mkdir(parents=True)
        (self.path / ("zarr.json" if version else ".zarray")).write_bytes(data[3 : 3 + size])
        chunk.write_bytes(data[3 + size :])
        return True

    def one(self, data: bytes) -> None:
        """Try one input."""
        if time.monotonic() > self.end:
            self.finish()
        if not self.place(data):
            return
        self.counts["inputs"] += 1
        if self.reader in FORKED:
            self.forked(data)
        else:
            self.counts[self.attempt(data)] += 1
        if time.monotonic() > self.said + 2:
            self.say()

    def forked(self, data: bytes) -> None:
        """Try the input in a process of its own, which says how it went as it ends."""
        ends = ("read", "refused", "findings")
        pid = os.fork()
        if pid == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (SLOW, SLOW))
            os._exit(ends.index(self.attempt(data)))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self.counts[ends[code] if 0 <= code < len(ends) else "child died"] += 1

    def attempt(self, data: bytes) -> str:
        """How an input ends: it is read, refused or a finding, which is kept."""
        signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)
        try:
            self.target.read(self.path)
        except PartitaError as error:
            if "\n" not in str(error):
                return "refused"
            self.found(data, error)
        except (Exception, Slow) as error:
            self.found(data, error)
        else:
            return "read"
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        return "findings"

    def found(self, data: bytes, error: BaseException) -> None:
        """Keep what did harm, once for each place in the code."""
        where = traceback.extract_tb(error.__traceback__)[-1]
        name = hashlib.sha256(f"{type(error)}{where.filename}{where.lineno}".encode()).hexdigest()[
            :12
        ]
        kept = self.folder / f"{self.reader}-{name}"
        if not kept.exists():
            kept.write_bytes(data)
            kept.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))

    def say(self) -> None:
        """Write down how far it is."""
        self.said = time.monotonic()
        self.counts["peak MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        (self.folder / f"{self.reader}.json").write_text(json.dumps(self.counts))

    def finish(self) -> None:
        """End the process: libFuzzer would not."""
        self.say()
        shutil.rmtree(self.scratch, ignore_errors=True)
        os._exit(0)


def main() -> None:
    reader, seconds, folder = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    warnings.simplefilter("ignore")
    validate.free_memory = lambda: MEMORY
    corpus = folder / f"corpus-{reader}"
    corpus.mkdir(exist_ok=True)
    for i, seed in enumerate(seeds.ALL[reader][1]()):
        (corpus / f"seed{i}").write_bytes(seed)
    run = Run(reader, seconds, folder)
    signal.signal(signal.SIGVTALRM, late)
    options = [
        "-rss_limit_mb=2048",
        "-timeout=120",
        "-max_len=65536",
        "-print_final_stats=0",
        "-verbosity=0",
    ]
    atheris.Setup(
        [sys.argv[0], *options, f"-artifact_prefix={folder}/{reader}-", str(corpus)], run.one
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
