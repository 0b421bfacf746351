"""Run the paper's experiments again and set the numbers beside the paper's.

Without a name: all of them, an option going to those that have it. Tables, figures and a page for
each go to a folder of its own; other settings of the simulation to another one beside it, and each
says how they compare.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

from partita.cli import _cluster, _common
from partita.errors import InvalidValueError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita reproduce``."""
    from partita import nmf, studies
    from partita.studies import replicates

    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which: {', '.join(studies.NAMES)}"
    )
    parser.add_argument("--quick", action="store_true", help="a shorter run of each, in minutes")
    parser.add_argument(
        "--n-jobs", "--jobs", type=int, default=-1, help="processes; -1, the default: all cores"
    )
    parser.add_argument("--seed", type=int, help="one seed, one result")
    parser.add_argument(
        "--resume", action="store_true", help="go on with what the output folder holds"
    )
    parser.add_argument(
        "-o", "--output", default="out/reproduce", help="the folder; default %(default)s"
    )
    _cluster.add_scheduler_argument(parser, "its workers run the replicates")
    parser.add_argument("--pages", help="another folder for the pages and their figures")
    only = parser.add_argument_group("for the studies that have it; others refuse it")
    only.add_argument(
        "--replicates", type=int, help="data sets of each kind; default 100 for the simulation"
    )
    only.add_argument(
        "--configurations", nargs="+", metavar="TTT", help="some of the eight; default all"
    )
    only.add_argument("--prior", choices=replicates.PRIORS, help="default independent")
    only.add_argument("--solver", choices=nmf.SOLVERS, help="of NMF; default fast")
    _common.add_device_argument(only, "where NMF factorises")
    only.add_argument("--moves", choices=tuple(replicates.MOVES), help="of the sampler")
    only.add_argument("--start", choices=replicates.STARTS, help="of its chain; default kmeans")
    only.add_argument(
        "--reading", help="of the table of settings, such as scale=0.6 or precision+order=3021"
    )
    only.add_argument("--models", nargs="+", metavar="MODEL", help="of NMF, such as nmf-offset")


def run(arguments: argparse.Namespace) -> None:
    """Run the studies one after the other and say where their pages are."""
    from partita import studies, validate

    _cluster.check_device(arguments)
    names = arguments.names or list(studies.NAMES)
    plans = {name: _plan(name, arguments) for name in names}
    for name, plan in plans.items():
        slug = getattr(plan, "slug", name)
        folder = Path(arguments.output) / slug
        began = time.perf_counter()
        with _cluster.connected(arguments) as n_threads:
            n_jobs = n_threads or validate.n_jobs(arguments.n_jobs)
            findings = plan.run(folder, n_jobs=n_jobs, resume=arguments.resume)
        pages = None if arguments.pages is None else Path(arguments.pages) / slug
        page = findings.write(folder, pages)
        sys.stdout.write(f"{findings}\n\n")
        minutes = (time.perf_counter() - began) / 60
        print(f"partita: {name} took {minutes:.1f} minutes; see {page}.", file=sys.stderr)


#: Options that some studies have, and what the studies call them.
_FIELDS = {
    "replicates": "replicates",
    "configurations": "names",
    "prior": "prior",
    "solver": "solver",
    "device": "device",
    "moves": "moves",
    "start": "start",
    "reading": "reading",
    "models": "models",
}


def _plan(name: str, arguments: argparse.Namespace) -> Any:
    from partita import studies, validate
    from partita.studies.configurations import Reading

    study = validate.lookup("name", name, studies.NAMES)
    given = {key: getattr(arguments, key) for key in _FIELDS}
    given = {key: value for key, value in given.items() if value is not None}
    if "reading" in given:
        given["reading"] = Reading.parse(given["reading"])
    has = _fields(study)
    for key in given:
        if _FIELDS[key] not in has and arguments.names:
            raise InvalidValueError(_refusal(key, name))
    words = {_FIELDS[key]: value for key, value in given.items() if _FIELDS[key] in has}
    words = {key: tuple(v) if isinstance(v, list) else v for key, v in words.items()}
    if arguments.seed is not None:
        words["seed"] = arguments.seed
    plan = study(**words)
    return plan.quick() if arguments.quick else plan


def _fields(study: Any) -> set[str]:
    return {field.name for field in fields(study)}


def _refusal(key: str, name: str) -> str:
    """Say which studies an option is for."""
    from partita import studies

    those = [other for other, study in studies.NAMES.items() if _FIELDS[key] in _fields(study)]
    return f"`{key}` must go with {', '.join(those)}; {name} has no such setting. Leave it out."
