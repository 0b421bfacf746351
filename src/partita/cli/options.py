"""Every option of every command, declared once.

A flag is the Python parameter with dashes: ``--n-clusters`` is ``n_clusters`` of
:func:`partita.estimate`; only ``rng`` is ``--seed``. A message of the library names the parameter
in backticks, which a reader of either can follow.
"""

from __future__ import annotations

import argparse
import re
from importlib import import_module
from typing import Any, NoReturn

Option = tuple[list[str], str, dict[str, Any]]  # flags, where its names are, what argparse takes
_NOT_EVERYWHERE = ("params", "seed", "device", "scheduler", "similarity", "save", "quiet")
MOST_RANKS = 100_000  # in one range of --ranks: more is a slip, and would fill the memory


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and which knows names that complete its options."""

    def __init__(self, **words: Any) -> None:
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **words
        )
        self.names: dict[str, tuple[str, ...]] = {}  # words that an option may be given, if known

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from partita.validate import did_you_mean

            listed = ", ".join(map(repr, action.choices))
            meant = did_you_mean(value, list(action.choices))
            rule = f"got {value!r}.{meant} It must be one of {listed}"
            raise argparse.ArgumentError(action, rule)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and leave with code 2."""
        from partita.cli.writing import one_line

        self.exit(2, f"partita: {one_line(message)}; see {self.prog} --help.\n")


def parser_of(command: str, about: str | None) -> Parser:
    """Return the parser of one command."""
    parser = Parser(prog=f"partita {command}", description=about)
    for title, *options in _COMMANDS[command]:
        group = parser.add_argument_group(title)
        for flags, names, words in options:
            known, choices = _names_in(names), words.get("choices")
            if isinstance(choices, str):
                words = {**words, "choices": _names_in(choices)}
            action = group.add_argument(*flags, **words)
            if known:
                action.help = f"{action.help}; one of {', '.join(known)}"
            parser.names[action.dest] = tuple(map(str, action.choices or known))
    absent = [name for name in _NOT_EVERYWHERE if name not in parser.names]
    parser.set_defaults(**dict.fromkeys(absent))
    return parser


def _names_in(place: str) -> tuple[str, ...]:
    module, _, name = place.partition(":")
    return tuple(getattr(import_module(f"partita.{module}"), name)) if place else ()


def _weight(text: str) -> float | str:
    """A weight, or the word for one that is to be chosen."""
    return text if text == "auto" else float(text)


def _ranks(text: str) -> tuple[int, ...]:
    """Return the ranks that a list of numbers and ranges names.

    >>> _ranks("3,5,8-10")
    (3, 5, 8, 9, 10)
    """
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not 1 <= first <= last or last - first >= MOST_RANKS:
            raise argparse.ArgumentTypeError(
                "must be whole numbers from 1 on and ranges of them, such as 2-12 or 3,5,8-10; "
                f"got {text!r}"
            )
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 on; got {text!r}")
    return int(text)


def _concentration(text: str) -> float | tuple[float, ...]:
    try:
        numbers = tuple(map(float, text.split(",")))
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, 2):
        rule = f"must be a number, or SHAPE,RATE of a gamma prior; got {text!r}"
        raise argparse.ArgumentTypeError(rule)
    return numbers[0] if len(numbers) == 1 else numbers


def _list(text: str) -> list[str]:
    return text.split(",")


def _number_or_word(text: str) -> int | str:
    return int(text) if re.fullmatch("-?[0-9]+", text) else text


def _option(flags: str, about: str, *, names: str = "", **words: Any) -> Option:
    """A flag or a positional argument, and what ``add_argument`` takes.

    ``names`` is a module and a mapping in it, "plots:NAMES", whose keys the shell offers while
    others are left to the library to refuse; ``choices`` may be one, too.
    """
    return flags.split(), names, {"help": about, **words}


def _flag(name: str, about: str, **words: Any) -> Option:
    return _option(name, about, action="store_true", **words)


def _count(name: str, about: str, **words: Any) -> Option:
    return _option(name, about, type=int, metavar="N", **words)


def _file(flags: str, about: str, metavar: str = "FILE", **words: Any) -> Option:
    return _option(flags, about, metavar=metavar, **words)


# fmt: off
_DRAWS = ("positional arguments", _option(
    "draws",
    "draws in a file or folder: csv, tsv (gzip too), npy, npz, NetCDF, Zarr, Parquet, rds, RData, "
    "CmdStan's csv, PReMiuM's _z.txt; a pattern in quotes is one chain a file",
))
_READING = (
    "reading the draws",
    _option("--orient", "what a row of the file is; default: a draw, but of rows that have names "
            "and are more than the columns it must be said", choices=("draws", "items")),
    _option("--missing", "the label that stands for none, such as -1; cells without one, NA and "
            "nan do so anyway", type=_number_or_word, metavar="LABEL"),
    _option("--noise", "what --missing means: the item was left out, or is a cluster of its own; "
            "default absent", choices=("absent", "singleton"), default="absent"),
    _option("--unobserved", "the similarity, 0 to 1, of items that no draw has both of",
            type=float, metavar="X"),
    _option("--header", "whether the first row holds names (found out if not said)",
            action=argparse.BooleanOptionalAction),
    _option("--index", "the column of row names, by position or name", type=_number_or_word),
    _option("--no-index", "there is none", dest="index", action="store_const", const=False),
    _option("--key", "which array or variable holds the labels, such as z, posterior_predictive/z "
            "or fit$clust; default: the only one that can"),
    _flag("--log-weights", "the variable holds the log weights (draws, items, clusters) of a "
          "marginalised mixture instead: labels are sampled from them by --seed, and a similarity "
          "is exact"),
    _count("--n-chains", "the file holds this many chains of equal length, one after the other; "
           "default: the chains that the file names, else one"),
    _flag("--stored", "leave the labels in their npy, Zarr or Parquet file and read them in "
          "blocks; default: where they would fill half of the free memory", default=None),
    _flag("--isolate", "read the file in a process of its own with limits of time and memory: for "
          "NetCDF, Zarr, Parquet and R files from strangers"),
    _count("--burn", "drop this many draws of each chain", default=0),
    _count("--thin", "keep one draw in this many", default=1),
)
_MATRIX = ("reading a similarity", _flag(
    "--similarity", "the file holds a similarity matrix (npy, npz, rds, RData, NetCDF, Zarr, "
    "Parquet, or csv as `partita similarity` writes it) instead of draws; with --log-weights, that "
    "of the mixture",
))
_DEVICE = _option("--device", "where NMF factorises and similarities are counted: cuda, cuda:1, "
                  "torch:cuda, cupy:cuda or torch:cpu; default the CPU", metavar="NAME")
_TIME_LIMIT = _option("--time-limit", "after which the best so far is given", type=float,
                      metavar="SECONDS")
_LOSS = _option("--loss", "default vi, on a similarity vi-lower-bound", metavar="NAME",
                names="losses:NAMES")
_A = _option("--a", "the cost of splitting a true pair, from 0 to 2, in vi and binder; default 1; "
             "more gives fewer clusters; auto: what gives --n-clusters", type=_weight, metavar="A")
_AIMS = (
    "what to estimate", _LOSS, _A,
    _option("--search", "may be given several times, candidates are pooled; default auto",
            action="append", metavar="NAME", names="search:NAMES"),
    _option("--method", "a loss and a search together", metavar="NAME", names="search:METHODS"),
    _count("--n-clusters", "exactly so many clusters"),
    _count("--min-size", "no cluster of fewer items"),
    _option("--must-link", "two items, separated by a comma, that must be together; may be given "
            "several times", action="append", metavar="A,B", type=_list),
    _option("--cannot-link", "two items that must not be", action="append", metavar="A,B",
            type=_list),
    _file("--fixed", "known labels, a row or a column, -1 where an item is free"),
    _count("--max-clusters", "at most so many (greedy, which auto then is, and its kin; average, "
           "complete, exact)"),
    _option("--effort", "how much work greedy, which auto then is, and its kin do; default 1",
            type=float, metavar="X"),
    _TIME_LIMIT,
)
_NMF = (
    "the NMF searches (nmf-kl and the like)",
    _option("--ranks", "the numbers of factors to try, such as 2-12 (the default), 4 or 3,5,8-10; "
            "the loss chooses among them", type=_ranks, metavar="LIST"),
    _count("--n-init", "random starts at each rank; default 10"),
    _flag("--polish", "also improve the best partition by greedy moves"),
    _DEVICE,
)
_ESTIMATE = _file("--estimate", "what `partita estimate --save FILE.npz` kept; if not given, the "
                  "partition is estimated first")
_MODEL = (
    _option("--prior", "default: what the draws say, else independent",
            choices="mixture.priors:NAMES"),
    _option("--df", "degrees of freedom kappa0; default: columns", type=float),
    _option("--covariance", "default: full", choices="mixture.priors:SHAPES"),
    _option("--partition", "default: dirichlet", choices="mixture.partition_priors:NAMES"),
)
_COLUMNS = (
    _option("--columns", "columns to use, separated by commas; default: all", type=_list),
    _option("--names", "the column that names the items", metavar="COLUMN"),
)
_TRUTH = _file("--truth", "the known partition: a row or a column of labels, or an estimate as "
               "csv or by --save")
_KNOWN = (
    "what is known besides",
    _file("--data", "a csv or tsv file of the data, an item a row, with a header"),
    *_COLUMNS, _TRUTH,
)
_PARAMS = (
    "the parameters of the clusters",
    _file("--params", "what the sampler kept of each component, (draws, components, ...): npz, "
          "NetCDF, Zarr, Parquet, R's files or CmdStan's csv"),
    _option("--by", "what the axis after the draws is; default component", default="component",
            choices=("component", "item")),
    _option("--matching", "which draws and components speak for a cluster; default align",
            default="align", choices=("align", "items", "conditional")),
    _option("--dim", "the axis of the components, by name or by its position after the draws",
            metavar="NAME"),
    _count("--first-code", "what the sampler calls the first component: 1 for Stan, NIMBLE and R",
           default=0),
)
_SAMPLED_UNDER = ("what the draws were sampled under (predictive density)", *_MODEL)
_DATA = ("positional arguments", _option("data", "a csv or tsv file (gzip too), an item a row"))
_SAMPLING = (
    "sampling", *_COLUMNS, *_MODEL,
    _option("--concentration", "a fixed concentration, or its gamma prior; default 2,1",
            type=_concentration, metavar="A or SHAPE,RATE"),
    _count("--n-draws", "to keep of each chain; default %(default)s", default=2_500),
    _count("--n-burn", "scans before the first; default %(default)s", default=2_500),
    _count("--thin", "scans for each draw", default=1),
    _count("--n-chains", "default %(default)s: chains that begin apart and agree are what R-hat "
           "asks for", default=4),
    _option("--start", "default: each chain another", choices="mixture.starts:NAMES"),
    _file("--checkpoint", "save the run there as it goes", "FOLDER"),
)
_NO_COMPARISON = _flag("--no-comparison", "leave the other methods out of the report: quicker")
_SEED = _option("--seed", "a whole number; one seed, one answer", type=_seed)
_JOBS = _count("--n-jobs", "threads; -1, the default: all cores", default=-1)
_QUIET = _flag("--quiet", "no progress and no notes on stderr, only warnings and errors")
_RUNNING = ("running", _SEED, _JOBS, _QUIET)
_CLUSTER = ("a Dask cluster (pip install 'partita[dask]')", _option(
    "--scheduler", "of a running scheduler, such as tcp://10.0.0.1:8786; its workers read draws in "
    "a store and do the work", metavar="ADDRESS",
))
_FORMAT = _option("--format", "default: what --output ends in, or else a table",
                  choices=("table", "csv", "json"))
_SAVE = _file("--save", "keep the whole estimate in a file too", "FILE.npz")
_OUTPUT = ("writing the result", _FORMAT, _file(
    "-o --output", "a file to write instead of the terminal; replaced in one step",
))
TABLES = ("ball", "chips", "chips-clusters", "clusters", "error", "items", "memberships", "modes",
          "n-clusters", "sensitivity", "stability")

#: The groups of options of each command: a title, then what it holds.
_COMMANDS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "estimate": (_DRAWS, _READING, _MATRIX, _AIMS, _NMF, _RUNNING, _CLUSTER, (*_OUTPUT, _SAVE)),
    "compare": (_DRAWS, _READING, _MATRIX, (
        "what to compare", _TRUTH, _DEVICE,
        _option("--methods", "only these rows of the table, such as minvi,nmf-kl,auto-vi",
                type=_list, metavar="LIST"),
    ), _RUNNING, _CLUSTER, _OUTPUT),
    "uncertainty": (_DRAWS, _READING, _MATRIX, ("the partition", _ESTIMATE), _AIMS, _NMF, (
        "what to say about it",
        _option("--table", "one table instead of a summary", choices=TABLES),
        _option("--ball-loss", "of the ball (default: what the partition was chosen by, or else "
                "vi) and of the modes (default vi)", metavar="NAME", names="losses:NAMES"),
        _option("--prob", "of the ball (default 0.95) and of the chips (default 0.9)", type=float),
        _option("--n-modes", "default auto", type=_number_or_word, metavar="N", default="auto"),
        _option("--modes-by", "how modes are found", default="wasserstein",
                choices=("wasserstein", "peaks")),
        _file("--labels", "a partition whose p-value is asked for: a row or a column of labels, or "
              "an estimate that partita wrote"),
    ), _RUNNING, _CLUSTER, _OUTPUT),
    "parameters": (_DRAWS, _READING, ("the partition", _ESTIMATE), _AIMS, _NMF, _PARAMS, (
        "what to say", _option("--prob", "of the intervals; default 0.95", type=float,
                               default=0.95),
    ), _RUNNING, _CLUSTER, _OUTPUT),
    "certify": (_DRAWS, _READING, _MATRIX, (
        "what to judge",
        _file("--labels", "the partition to judge: a row or a column of labels, or an estimate "
              "as csv or by --save; if not given, it is estimated first"),
        _option("--loss", "binder, the only one that has a bound", metavar="NAME",
                default="binder"),
        _option("--a", "the cost of splitting a true pair; default 1", type=float, default=1.0),
        _TIME_LIMIT,
    ), _RUNNING, _OUTPUT),
    "diagnose": (_DRAWS, _READING, (
        "what to look at", _ESTIMATE,
        _option("--loss", "to the estimate; default vi", metavar="NAME", default="vi",
                names="losses:NAMES"),
        _count("--n-pairs", "pairs of items to follow, at most; default 10", default=10),
        _flag("--trace", "the trace of K, a row a draw"),
    ), ("running", _JOBS, _QUIET), _CLUSTER, _OUTPUT),
    "similarity": (_DRAWS, _READING, (
        "the matrix", _DEVICE,
        _option("--dtype", "of it", default="float64", choices=("float64", "float32")),
    ), _RUNNING, _CLUSTER, ("writing the result", _FORMAT, _file(
        "-o --output", "a .npy, .npz, .csv, .json or .txt file instead of the terminal",
    ))),
    "plot": (
        ("positional arguments", _option("kind", "which figure", choices="plots:NAMES"), _DRAWS[1]),
        _READING, _MATRIX, ("the partition", _ESTIMATE), _AIMS, _NMF, _KNOWN, _SAMPLED_UNDER,
        _PARAMS, (
            "the figure",
            _option("--order", "of the items", choices=("estimate", "truth", "given")),
            _option("--style", "of memberships", default="stack", choices=("stack", "lines")),
            _count("--rank", "of reconstruction; default: the estimate's K"),
            _option("--model", "of reconstruction; default kl", default="kl", names="nmf:NAMES"),
            _option("--prob", "of ball; default 0.95", type=float, default=0.95),
            _option("--dpi", "of a png; default 150", type=float, default=150),
            _file("-o --output", "a .png, .svg or .pdf file", required=True),
        ), _RUNNING, _CLUSTER,
    ),
    "report": (
        _DRAWS, _READING, _MATRIX, ("the partition", _ESTIMATE), _AIMS, _NMF, _KNOWN,
        _SAMPLED_UNDER, _PARAMS, (
            "the page",
            _option("--title", "of the page", default="Clustering report"),
            _option("--wording", "whether the page speaks of a posterior or of runs; default: what "
                    "the draws say", choices=("posterior", "consensus")),
            _NO_COMPARISON,
            _flag("--brief", "leave out CHIPS, modes and what hangs on the loss"),
            _count("--first-item", "the number of the first item, if items have no names; "
                   "default 0", default=0),
            _file("-o --output", "default report.html", default="report.html"),
        ), _RUNNING, _CLUSTER,
    ),
    "run": (_DATA, _SAMPLING, _AIMS, _NMF, _RUNNING, (
        *_OUTPUT, _SAVE,
        _file("--save-draws", "keep the draws in a file", "FILE.npz"),
        _file("--report", "write a report about it too", "FILE.html"), _NO_COMPARISON,
    )),
    "sample": (_DATA, _SAMPLING, _RUNNING, ("writing the draws", _file(
        "-o --output", "an .npz file; default draws.npz", default="draws.npz",
    ))),
    "info": (_DRAWS, _READING, ("running", _QUIET), _OUTPUT),
    "completion": (("positional arguments", _option(
        "shell", "whose script", choices="cli.completion:SCRIPTS",
    )),),
}
