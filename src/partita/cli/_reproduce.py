"""Run the paper's experiments again and set the numbers beside the paper's.

Without a name: all of them. Tables, figures and a page for each go to a folder of its own; other
settings of the simulation to another one beside it, and each says how they compare.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

from partita.cli import _cluster, _common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita reproduce``."""
    from partita import nmf, studies
    from partita.studies import simulation

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
    parser.add_argument(
        "--replicates", type=int, help="data sets of each kind, where a study has several; "
        "default 100 for the simulation",
    )  # fmt: skip
    only = parser.add_argument_group("the simulation")
    only.add_argument(
        "--configurations", nargs="+", metavar="TTT", help="some of the eight; default all"
    )
    only.add_argument("--prior", choices=("independent", "paper"), help="default independent")
    only.add_argument("--solver", choices=nmf.SOLVERS, help="of NMF; default fast")
    _common.add_device_argument(only, "where NMF factorises")
    only.add_argument("--moves", choices=tuple(simulation.MOVES), help="of the sampler")
    only.add_argument("--start", choices=simulation.STARTS, help="of its chain; default kmeans")


def run(arguments: argparse.Namespace) -> None:
    """Run the studies one after the other and say where their pages are."""
    from partita import studies, validate

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


def _plan(name: str, arguments: argparse.Namespace) -> Any:
    from partita import studies, validate
    from partita.studies import simulation

    study = validate.lookup("name", name, studies.NAMES)
    only = ["device", *simulation.KEYS] if study is studies.Simulation else []
    keys = ["seed", "replicates", *only]
    has = {field.name for field in fields(study)}
    words = {key: getattr(arguments, key) for key in keys if key in has}
    words = {key: value for key, value in words.items() if value is not None}
    if study is studies.Simulation and arguments.configurations is not None:
        words["names"] = tuple(arguments.configurations)
    plan = study(**words)
    return plan.quick() if arguments.quick else plan
