"""The files that a command is given: draws, a similarity, labels, an estimate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, validate
from partita.cli import cluster
from partita.errors import FileError, InvalidValueError, PartitaError, PartitaWarning

if TYPE_CHECKING:
    import argparse

    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.similarity import Similarity


def draws(arguments: argparse.Namespace) -> Draws:
    """Return the draws, read as the arguments say."""
    burn = validate.integer("burn", arguments.burn, least=0)
    thin = validate.integer("thin", arguments.thin, least=1)
    found = cluster.on_workers(arguments) or _draws(arguments)
    chains = arguments.n_chains
    if chains is not None:
        if chains < 1 or found.n_draws % chains:
            raise InvalidValueError(
                f"`n_chains` must divide the number of draws, {found.n_draws}; got {chains}."
            )
        found = replace(found, chains=np.repeat(np.arange(chains), found.n_draws // chains))
    return found.burn(burn).thin(thin)


def _draws(arguments: argparse.Namespace) -> Draws:
    from partita.draws import Draws, read_draws

    how = {"key": arguments.key, "isolate": arguments.isolate}
    if arguments.log_weights:
        return Draws.from_log_weights(arguments.draws, rng=arguments.seed, **how)
    return read_draws(
        arguments.draws,
        orient=arguments.orient,
        header=arguments.header,
        index=arguments.index,
        stored=arguments.stored,
        missing=arguments.missing,
        noise=arguments.noise,
        **how,
    )


def draws_or_similarity(arguments: argparse.Namespace) -> Draws | Similarity:
    """Return the draws, or a similarity matrix if that is what the file holds."""
    if not arguments.similarity:
        found = draws(arguments)
        if arguments.unobserved is None or found.observed is None:
            return found
        from partita.similarity import Similarity

        return Similarity.from_draws(found, unobserved=arguments.unobserved)
    how = {"key": arguments.key, "isolate": arguments.isolate}
    if arguments.log_weights:
        from partita.similarity import Similarity

        return Similarity.from_log_weights(arguments.draws, **how)
    return similarity(arguments.draws, **how)


def similarity(path: str, *, key: str | None = None, isolate: bool = False) -> Similarity:
    """Return the similarity that a file holds: npy, npz, a container of variables, or csv."""
    from partita.similarity import Similarity

    matrix = io.read_matrix(path, key, isolate=isolate)
    if matrix is not None:
        return Similarity(matrix)
    import pandas as pd

    try:
        with io.open_text(path) as stream:
            frame = pd.read_csv(stream, index_col=0)
        return Similarity(frame.to_numpy(dtype=float), item_names=list(map(str, frame.columns)))
    except PartitaError:
        raise
    except (ValueError, TypeError, IndexError, OverflowError):
        raise FileError(
            f"{path!r} does not hold a similarity with a row and a column of item names."
        ) from None


def truth(arguments: argparse.Namespace, items: Sequence[str] | None) -> NDArray[Any] | None:
    """Return the known partition, or None."""
    return None if arguments.truth is None else labels("truth", arguments.truth, items)


def labels(name: str, path: str, items: Sequence[str] | None = None) -> NDArray[Any]:
    """Return one partition: a row, a column, a column beside names, or an estimate of ours.

    Where the file names the items and they are ``items`` in another order, the labels come in
    the order of ``items``. ``name`` is the parameter that names the file, for messages.
    """
    if path.endswith(".npz") and "about" in io.read_npz(path):
        from partita.estimation import Estimate

        known = Estimate.load(path)
        names, found = known.item_names, known.labels
    else:
        table = _table_of_labels(path)
        if table.observed is not None:
            raise InvalidValueError(f"`{name}` must not be missing for any item of {path!r}.")
        found, names = table.labels.ravel(), table.item_names
        if 1 not in table.labels.shape:
            raise InvalidValueError(
                f"`{name}` must be one row or one column of labels, names and labels in two "
                f"columns, or an estimate that --save wrote; {path!r} holds "
                f"{table.labels.shape[0]} rows and {table.labels.shape[1]} columns of labels."
            )
    if names is None or len(names) != len(found):
        return found
    return found[order_of(names, items, name)]


def _table_of_labels(path: str) -> io.Table:
    """The file as a table: as it is, or else with names in its first column."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PartitaWarning)
        try:
            table = io.read_table(path)
        except InvalidValueError as error:
            try:
                return io.read_table(path, index=0, orient="items")
            except InvalidValueError as other:
                raise (error if "`index`" in str(other) else other) from None
        if table.labels.shape[1] == 2 and table.labels.shape[0] > 1:
            table = io.read_table(path, index=0, orient="items")
    return table


def order_of(names: Sequence[Any], items: Sequence[str] | None, name: str) -> NDArray[np.intp]:
    """Return the positions of the rows called ``names`` in the order of the items.

    Items without names are counted from 0 or 1. Rows with other names are taken as they come, with
    a warning where the items have names.
    """
    rows = [str(row) for row in names]
    at = {row: k for k, row in enumerate(rows)}
    start = int("0" not in at)
    counted = [str(start + k) for k in range(len(rows))]
    wanted = counted if items is None else list(items)
    if len(rows) == len(wanted) and set(at) == set(wanted):
        return np.array([at[item] for item in wanted], dtype=np.intp)
    if items is not None:
        warnings.warn(
            f"`{name}` names its rows otherwise than the draws name their items; they are matched "
            "by position.",
            PartitaWarning,
            stacklevel=2,
        )
    return np.arange(len(rows))
