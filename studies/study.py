"""What a study is, and how it is run: settings, pieces of work, a ledger of what came out."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Self

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from partita.errors import InvalidValueError
from studies.ledger import Key, Ledger, Row, versions


@dataclass(frozen=True)
class Study:
    """Settings, and the work on one piece; a piece has a name and the number of its replicate.

    Parameters
    ----------
    replicates : int
        Of each piece.
    seed : int
        One seed, one ledger, on any number of processes.
    """

    replicates: int = 1
    seed: int = 0

    name: ClassVar[str]
    #: The files beside this one that its numbers come from.
    files: ClassVar[tuple[str, ...]]
    #: Settings that other folders are for, so that each has its own.
    apart: ClassVar[tuple[str, ...]] = ()
    #: What a shorter run changes besides having two replicates at most.
    short: ClassVar[Mapping[str, Any]] = {}

    def __post_init__(self) -> None:
        if self.replicates < 1:
            raise InvalidValueError(
                f"`replicates` must be at least 1; got {self.replicates}. Give a larger number."
            )

    def quick(self) -> Self:
        """Return a shorter run of the same study."""
        return replace(self, **{"replicates": min(2, self.replicates), **self.short})

    def pieces(self) -> list[str]:
        """Return the names of the pieces."""
        raise NotImplementedError

    def work(self, piece: str, number: int) -> Row:
        """Do one piece and return its row of the ledger."""
        raise NotImplementedError

    @property
    def slug(self) -> str:
        """The folder: the study's name and the settings that differ and make it another run."""
        usual = type(self)()
        told = (getattr(self, key) for key in self.apart)
        plain = (getattr(usual, key) for key in self.apart)
        return "-".join((self.name, *(str(a) for a, b in zip(told, plain, strict=True) if a != b)))

    @property
    def asked(self) -> str:
        """The settings that a ledger must share; more replicates are no other study."""
        free = {"replicates", "names", "device"}
        told = [(one.name, getattr(self, one.name)) for one in fields(self) if one.name not in free]
        return f"partita {self.name} " + " ".join(f"{key}={_told(value)}" for key, value in told)

    @property
    def made(self) -> str:
        """What makes the numbers now: the package's version, the study's files, libraries."""
        here = Path(__file__).parent
        digest = sha256(b"".join((here / name).read_bytes() for name in self.files))
        return versions(digest.hexdigest()[:8])

    def run(self, folder: Path, *, n_jobs: int = 1, resume: bool = False) -> Ledger:
        """Do the pieces that the folder's ledger lacks, each written down as it ends.

        What each took, in seconds of the processor, goes to ``seconds.csv`` beside the ledger.
        """
        folder.mkdir(parents=True, exist_ok=True)
        wanted = [(name, number) for number in range(self.replicates) for name in self.pieces()]
        ledger = Ledger.open(folder / "replicates.csv", self.asked, resume=resume)
        todo = [key for key in wanted if key not in ledger.rows]
        if todo:
            seconds = Ledger.open(folder / "seconds.csv", self.asked, resume=True)
            ledger.go_on(self.made)
            seconds.go_on(self.made)
            jobs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
            lines = 0.1 if sys.stderr.isatty() else 60.0
            with tqdm(total=len(wanted), desc=self.slug, mininterval=lines) as bar:
                bar.update(len(wanted) - len(todo))
                for key, row, spent in jobs(delayed(_timed)(self, key) for key in todo):
                    seconds.add(key, {"cpu": spent})
                    ledger.add(key, row)
                    bar.update()
            ledger.settle()
            seconds.settle()
        return replace(ledger, rows={key: ledger.rows[key] for key in wanted})


def _told(value: object) -> str:
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _timed(study: Study, key: Key) -> tuple[Key, Mapping[str, float | str], float]:
    began = time.process_time()
    with threadpool_limits(1):  # more threads round otherwise, and others work beside this one
        row = study.work(*key)
    return key, row, time.process_time() - began
