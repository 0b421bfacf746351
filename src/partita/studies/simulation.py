"""The simulation study (the paper's Section 5.1): eight kinds of mixture, a hundred of each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partita import devices, nmf, validate
from partita.studies import configurations, methods, simulation_contrasts, simulation_report
from partita.studies._clock import Clock
from partita.studies.ledger import Ledger
from partita.studies.replicates import Sampling

if TYPE_CHECKING:
    from partita.studies._common import Findings

COLUMNS = (
    *(f"{name}:{m}" for name in (*methods.NAMES, "oracle") for m in (*methods.MEASURES, "K")),
    "draws:K",
)
SECONDS = ("cpu", "wall")
#: What may be changed one at a time, each with a folder of its own.
KEYS = ("prior", "solver", "moves", "start", "reading")


@dataclass(frozen=True)
class Simulation:
    """Data from each configuration, draws from a mixture, every method, scores against the truth.

    Parameters
    ----------
    replicates : int
        Data sets of each configuration.
    names : tuple of str
        The configurations.
    prior : {"independent", "paper"}
        As PReMiuM computes it, or as the paper prints it.
    solver : {"fast", "mu"}
        Of NMF. "mu" goes with H as the iterations leave it, R's way.
    moves : {"default", "gibbs"}
        Of the sampler; "gibbs" reassigns one item at a time and nothing else.
    start : {"kmeans", "one", "singletons", "random"}
        Where its one chain begins. With all moves it does not matter; with "gibbs" alone a chain
        from "one" or "random" may never find all the clusters.
    n_draws, n_burn : int
    ranks : tuple of int
    n_init : int
        Ranks and restarts of NMF.
    reading : Reading
        How the table of settings is read.
    device : str, optional
        Where NMF factorises, "cuda" say: in float64, all ranks and restarts of "mu" at once.
    seed : int
        Replicate r of a configuration has the same data whatever the other settings.
    """

    replicates: int = 100
    names: tuple[str, ...] = configurations.NAMES
    prior: str = "independent"
    solver: str = "fast"
    moves: str = "default"
    start: str = "kmeans"
    n_draws: int = 10_000
    n_burn: int = 5_000
    ranks: tuple[int, ...] = tuple(range(2, 13))
    n_init: int = 10
    reading: configurations.Reading = configurations.PRINTED
    device: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        validate.integer("replicates", self.replicates, least=2)
        validate.choice("solver", self.solver, nmf.SOLVERS)
        devices.resolve(self.device)
        configurations.check(self.names)
        _ = self.sampling  # refuses what it does not know

    @property
    def sampling(self) -> Sampling:
        """How its data and draws are made."""
        return Sampling(
            self.n_draws, self.n_burn, self.prior, self.moves, self.start, self.reading, self.seed
        )

    @property
    def slug(self) -> str:
        """The name of the folder: what differs from the defaults, so that each has its own."""
        usual = Simulation()
        changed = (getattr(self, key) for key in KEYS if getattr(self, key) != getattr(usual, key))
        return "-".join(("simulation", *map(str, changed)))

    def quick(self) -> Simulation:
        """Return the same study with ten replicates."""
        return replace(self, replicates=min(10, self.replicates))

    def run(self, folder: str | Path, *, n_jobs: int = 1, resume: bool = False) -> Findings:
        """Run what ``folder`` does not hold yet, then summarise.

        Every replicate is written to ``replicates.csv`` there as it finishes, and the seconds it
        took to ``seconds.csv``. More replicates of the same settings go on from a file with fewer.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        ledger = Ledger.open(folder / "replicates.csv", self._asked(), COLUMNS, resume=resume)
        seconds = Ledger.open(
            folder / "seconds.csv", self._asked(), SECONDS, resume=True, quiet=True
        )
        wanted = [(name, r) for r in range(self.replicates) for name in self.names]
        todo = [key for key in wanted if key not in ledger.rows]
        try:
            with Clock(len(wanted) - len(todo), len(wanted), "replicates") as clock:
                for key, values, spent in self._replicates(todo, n_jobs):
                    seconds.add(key, spent)
                    ledger.add(key, values)
                    clock.advance(f"{key[0]} {key[1]}")
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"{len(ledger.rows)} of {len(wanted)} replicates are kept; `--resume` goes on."
            ) from None
        ledger.settle()
        seconds.settle()
        return simulation_report.summarise(
            self,
            {key: ledger.rows[key] for key in wanted},
            {key: seconds.rows[key] for key in wanted if key in seconds.rows},
            simulation_contrasts.beside(folder, ledger),
            simulation_contrasts.by_r(folder, ledger),
        )

    def _asked(self) -> str:
        """The settings that a ledger must share; more replicates are no other study."""
        told: dict[str, Any] = {"prior": self.prior, "solver": self.solver, "moves": self.moves}
        told |= {"n_draws": self.n_draws, "n_burn": self.n_burn, "seed": self.seed}
        told |= {} if self.start == "kmeans" else {"start": self.start}
        told |= {"ranks": "-".join(map(str, self.ranks)), "n_init": self.n_init}
        told |= {} if self.reading == configurations.PRINTED else {"reading": self.reading}
        return "partita simulation " + " ".join(f"{k}={v}" for k, v in told.items())

    def _replicates(self, keys: list[tuple[str, int]], n_jobs: int) -> Iterator[Any]:
        from joblib import Parallel, delayed

        if n_jobs > 1 and len(keys) > n_jobs:
            # Kernels that no earlier run left on the disk are then compiled once, not by everyone.
            small = replace(self, n_draws=20, n_burn=20, ranks=self.ranks[:1], n_init=1)
            replicate(small, keys[0])
        # Processes, since sampling and factorising hold the interpreter between kernels.
        jobs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        yield from jobs(delayed(replicate)(self, key) for key in keys)


def replicate(
    study: Simulation, key: tuple[str, int]
) -> tuple[tuple[str, int], dict[str, float], dict[str, float]]:
    """Simulate, sample, estimate and score one data set; return the scores and the seconds."""
    from threadpoolctl import threadpool_limits

    began, cpu = time.perf_counter(), time.process_time()
    with threadpool_limits(1):  # more threads round otherwise, and others work beside this one
        values = _scores(study, *key)
    spent = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - began}
    return key, values, spent


def _scores(study: Simulation, name: str, number: int) -> dict[str, float]:
    case = study.sampling.replicate(name, number)
    way = {"fast": methods.OUR_WAY, "mu": methods.R_WAY}[study.solver]
    factoring = replace(way, ranks=study.ranks, n_init=study.n_init)
    if devices.resolve(study.device) is not None:
        factoring = replace(factoring, device=study.device, dtype="float64")
    found = methods.answers(case.draws, seed=case.seed, factoring=factoring)
    found["oracle"] = case.configuration.classify(case.data)
    values = {
        f"{method}:{measure}": value
        for method, labels in found.items()
        for measure, value in methods.scores(case.configuration.truth, labels)
    }
    return {**values, "draws:K": float(case.draws.n_clusters.mean())}
