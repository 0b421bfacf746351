"""Run the paper's experiments again and set the numbers beside the paper's.

Without a name: all of them, an option going to those that have it. Each keeps a ledger in a folder
of its own, and other settings of a study go to a folder beside it. Then the pages are written from
all ledgers that are there; `pages` in place of a name does that alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import joblib

from partita import nmf
from partita.errors import InvalidValueError, PartitaError
from studies import mixtures, pages
from studies.crabs import Crabs
from studies.galaxy import Galaxy
from studies.scaling import Scaling
from studies.simulation import Mixing, Readings, Simulation
from studies.soft import Soft
from studies.study import Study

_ALL = (Simulation, Mixing, Readings, Soft, Galaxy, Crabs, Scaling)
STUDIES: Mapping[str, type[Study]] = {study.name: study for study in _ALL}
#: Options that are settings, some of them of some studies only.
_SETTINGS = (
    "replicates",
    "seed",
    "names",
    "prior",
    "solver",
    "device",
    "moves",
    "start",
    "reading",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the studies that were asked for, write the pages and return the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        run(arguments)
    except KeyboardInterrupt:
        print("studies: interrupted; `--resume` goes on with what is kept.", file=sys.stderr)
        return 130
    except (PartitaError, OSError) as error:
        print(f"studies: {error}", file=sys.stderr)
        return 2
    return 0


def run(arguments: argparse.Namespace) -> None:
    """Run the studies one after the other, then write the pages of all ledgers."""
    output = Path(arguments.output)
    names = [name for name in arguments.studies or STUDIES if name != "pages"]
    plans = [_plan(name, arguments) for name in names]
    n_jobs = arguments.n_jobs if arguments.n_jobs > 0 else joblib.cpu_count()
    for plan in plans:
        began = time.perf_counter()
        with _cluster(arguments):
            plan.run(output / plan.slug, n_jobs=n_jobs, resume=arguments.resume)
        minutes = (time.perf_counter() - began) / 60
        print(f"studies: {plan.slug} took {minutes:.1f} minutes.", file=sys.stderr)
    folder = output if arguments.pages is None else Path(arguments.pages)
    page = pages.write(pages.read(output), list(STUDIES.values()), folder)
    print(f"studies: see {page}.", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m studies",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("studies", nargs="*", metavar="NAME", help=f"which: {', '.join(STUDIES)}; or pages")
    add("--quick", action="store_true", help="a shorter run of each, in minutes")
    add("--n-jobs", type=int, default=-1, help="processes; -1, the default: all cores")
    add("--seed", type=int, help="one seed, one result")
    add("--resume", action="store_true", help="go on with what the output folder holds")
    add("-o", "--output", default="out/paper", help="of the ledgers; default %(default)s")
    add("--pages", help="another folder for the pages and their figures")
    told = "of a running Dask scheduler, whose workers run --n-jobs replicates at a time"
    add("--scheduler", metavar="ADDRESS", help=told)
    add = parser.add_argument_group("for the studies that have it; others refuse it").add_argument
    add("--replicates", type=int, help="data sets, chains or seeds; 100 for the simulation")
    told = "some of the eight; default all"
    add("--configurations", nargs="+", dest="names", metavar="TTT", help=told)
    add("--prior", choices=mixtures.PRIORS, help="default independent")
    add("--solver", choices=nmf.SOLVERS, help="of NMF; default fast")
    add("--device", metavar="NAME", help="where NMF factorises: cuda, cuda:1, torch:cpu, ...")
    add("--moves", choices=tuple(mixtures.MOVES), help="of the sampler")
    add("--start", choices=mixtures.STARTS, help="of its chain; default kmeans")
    add("--reading", help="of the table of settings, such as scale=0.6 or precision+order=3021")
    return parser


def _cluster(arguments: argparse.Namespace) -> AbstractContextManager[Any]:
    """Hold the Dask cluster of ``--scheduler``, if one is named, for joblib."""
    if arguments.scheduler is None:
        return nullcontext()
    if arguments.device is not None:
        raise InvalidValueError(
            "`device` must be left out with --scheduler: a device is of this machine, and the "
            "workers do the work."
        )
    from distributed import Client

    Client(arguments.scheduler, timeout=15, set_as_default=True)
    config: AbstractContextManager[Any] = joblib.parallel_config(backend="dask")
    return config


def _plan(name: str, arguments: argparse.Namespace) -> Study:
    if name not in STUDIES:
        known = ", ".join([*STUDIES, "pages"])
        raise InvalidValueError(
            f"`name` must be one of {known}; got {name!r}. Choose one of these."
        )
    given = {key: getattr(arguments, key) for key in _SETTINGS}
    given = {key: value for key, value in given.items() if value is not None}
    has = {field.name for field in fields(STUDIES[name])}
    if arguments.studies and given.keys() - has:
        key = min(given.keys() - has)
        key = "configurations" if key == "names" else key
        raise InvalidValueError(f"`{key}` is no setting of {name}. Leave it out.")
    plan = STUDIES[name](**{key: value for key, value in given.items() if key in has})
    return plan.quick() if arguments.quick else plan


if __name__ == "__main__":
    sys.exit(main())
