"""``--ranks``, ``--restarts``, ``--polish``, ``--device``: how the NMF searches go about it."""

from __future__ import annotations

import argparse
import re
from typing import Any

from partita.cli import _common

MOST = 100_000  # ranks that a range may name


def add_nmf_arguments(parser: argparse.ArgumentParser, *, with_ranks: bool = True) -> None:
    """Add the settings of the searches whose names begin with nmf."""
    how = parser.add_argument_group("the NMF searches (nmf-kl and the like)")
    if with_ranks:
        how.add_argument(
            "--ranks",
            type=ranks,
            metavar="LIST",
            help="the numbers of factors to try, such as 2-12 (the default), 4 or 3,5,8-10; the "
            "loss chooses among them",
        )
    parser.set_defaults(ranks=None)
    how.add_argument(
        "--restarts", type=int, metavar="N", help="random starts at each rank; default 10"
    )
    how.add_argument(
        "--polish", action="store_true", help="also improve the best partition by greedy moves"
    )
    _common.add_device_argument(how, "where they factorise")


def ranks(text: str) -> tuple[int, ...]:
    """Return the ranks that a list of numbers and ranges names.

    Examples
    --------
    >>> ranks("3,5,8-10")
    (3, 5, 8, 9, 10)
    """
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not 1 <= first <= last or last - first >= MOST:
            raise argparse.ArgumentTypeError(
                f"must be whole numbers from 1 on and ranges of them, such as 2-12 or 3,5,8-10; "
                f"got {text!r}"
            )
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def chosen(arguments: argparse.Namespace, search: Any) -> Any:
    """Return the search, or the searches, with the settings that were given."""
    if not were_given(arguments):
        return search
    from partita.search import factorised

    return list(
        factorised(
            search, ranks=arguments.ranks, n_init=arguments.restarts, polish=arguments.polish
        )
    )


def were_given(arguments: argparse.Namespace) -> bool:
    """Whether any of them was, but for the device, which is no setting of a search alone."""
    return bool(arguments.ranks or arguments.restarts is not None or arguments.polish)
