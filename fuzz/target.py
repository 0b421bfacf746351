"""One reader under atheris: damaged files go in; anything but an answer or a PartitaError is a finding.

``python fuzz/target.py READER SECONDS FOLDER``. Findings, and the number of inputs tried, are put
in FOLDER; the fuzzer goes on after a finding. Readers that work in a child process are given one
that reads file after file, which is hundreds of times as quick as starting Python anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import signal
import socket
import struct
import sys
import threading
import time
import traceback
import warnings
from contextlib import suppress
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
    from partita.io import _child, _netcdf_child, _parquet_child, _rdata_child, _sandbox  # noqa: F401

import h5py  # noqa: F401
import pyarrow.parquet  # noqa: F401
import scipy.io  # noqa: F401
import seeds

MEMORY = 256 << 20
SLOW = 20  # CPU seconds for one input
SERVED = 2000  # files that one child reads


class Served:
    """A child as ``subprocess.Popen`` gives it: one process serves file after file until it dies."""

    served, pid = 0, 0
    control: socket.socket

    def __init__(self, *_args: object, **_settings: object) -> None:
        if Served.pid and Served.served >= SERVED:
            Served.control.close()
            self._buried(0)
        if not Served.pid:
            self._start()
        down, up = os.pipe(), os.pipe()
        socket.send_fds(Served.control, [b"x"], [down[0], up[1]])
        os.close(down[0])
        os.close(up[1])
        self.stdin, self.stdout = os.fdopen(down[1], "wb"), os.fdopen(up[0], "rb")
        self._code: int | None = None
        Served.served += 1

    def _start(self) -> None:
        Served.control, other = socket.socketpair()
        Served.served, Served.pid = 0, os.fork()
        if Served.pid == 0:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            Served.control.close()
            serve(other)
        other.close()

    def _buried(self, options: int) -> int | None:
        """The exit status of the process if it has ended."""
        pid, status = os.waitpid(Served.pid, options)
        if pid == 0:
            return None
        Served.pid = 0
        return os.waitstatus_to_exitcode(status)

    def kill(self) -> None:
        """End it where it is late, which a timer's thread says; else it goes on to the next."""
        if threading.current_thread() is not threading.main_thread():
            os.kill(Served.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._code is None:
            for pipe in (self.stdin, self.stdout):
                with suppress(OSError):  # what a child that died has not read
                    pipe.close()
            done = Served.control.recv(1)  # nothing if the process has died
            self._code = 0 if done else self._buried(0) or 0
        return self._code


def serve(control: socket.socket) -> None:
    """In the child: read one file after the other, as the child of ``partita.io`` reads one."""
    try:
        while True:
            asked, files, _, _ = socket.recv_fds(control, 1, 2)
            if not asked:
                break
            os.dup2(files[0], 0)
            os.dup2(files[1], 1)
            for file in files:
                os.close(file)
            sys.stdin = os.fdopen(0, "r", closefd=False)
            _child.main()
            control.send(b"x")
    finally:
        os._exit(0)


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
        signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)
        try:
            self.target.read(self.path)
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
    _sandbox.subprocess.Popen = Served
    _sandbox._BASE_SECONDS, _sandbox._BASE_MEMORY = 1, MEMORY
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
