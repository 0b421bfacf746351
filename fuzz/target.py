"""One reader under atheris: damaged files go in; anything but an answer or a PartitaError is a finding.

``python fuzz/target.py READER SECONDS FOLDER``. Findings, and the number of inputs tried, are put
in FOLDER; the fuzzer goes on after a finding. Readers that work in a child process are given one
by forking instead of starting Python anew, which is a hundred times as quick.
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

with atheris.instrument_imports(include=["partita.io", "rdata"]):
    import rdata.parser  # noqa: F401

    import partita.io
    from partita import validate
    from partita.errors import PartitaError
    from partita.io import _child, _netcdf_child, _parquet_child, _rdata_child, _sandbox  # noqa: F401

import h5py  # noqa: F401
import pyarrow.parquet  # noqa: F401
import scipy.io  # noqa: F401
import seeds

MEMORY = 256 << 20
SLOW = 20  # CPU seconds for one input


class Forked:
    """A child as ``subprocess.Popen`` gives it, made by forking."""

    def __init__(self, *_args: object, **_settings: object) -> None:
        down, up = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.dup2(down[0], 0)
                os.dup2(up[1], 1)
                os.closerange(3, 256)
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                sys.stdin = os.fdopen(0, "r")
                _child.main()
            finally:
                os._exit(0)
        os.close(down[0])
        os.close(up[1])
        self.stdin, self.stdout = os.fdopen(down[1], "wb"), os.fdopen(up[0], "rb")
        self._code: int | None = None

    def kill(self) -> None:
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._code is None:
            status = os.waitpid(self.pid, 0)[1]
            self._code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return self._code


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
        self.path = self.scratch / seeds.ALL[reader][0]
        self.counts = {"inputs": 0, "read": 0, "refused": 0, "child died": 0, "findings": 0}
        self.peak = 0
        self.said = 0.0

    def place(self, data: bytes) -> bool:
        """Put one input where the reader will look; whether it can be one."""
        if self.reader != "zarr":
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
        signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)
        try:
            table = partita.io.read_table(self.path)
            assert table.labels.ndim == 2
            self.counts["read"] += 1
        except PartitaError as error:
            self.counts["refused"] += 1
            self.counts["child died"] += "its reader broke" in str(error)
            if "\n" in str(error):
                self.found(data, error)
        except (Exception, Slow) as error:
            self.found(data, error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if time.monotonic() > self.said + 2:
            self.say()

    def found(self, data: bytes, error: BaseException) -> None:
        """Keep what did harm, once for each place in the code."""
        where = traceback.extract_tb(error.__traceback__)[-1]
        name = hashlib.sha256(f"{type(error)}{where.filename}{where.lineno}".encode()).hexdigest()[
            :12
        ]
        kept = self.folder / f"{self.reader}-{name}"
        if not kept.exists():
            self.counts["findings"] += 1
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
    _sandbox.subprocess.Popen = Forked
    _sandbox._BASE_SECONDS, _sandbox._BASE_MEMORY = 2, MEMORY
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
