"""Write the posterior similarity matrix as npy, npz, or text."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from partita.cli import _cluster, _common

if TYPE_CHECKING:
    from partita.similarity import Similarity


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita similarity``."""
    _common.add_draws_arguments(parser)
    parser.add_argument("--jobs", type=int, default=-1, help="threads; -1, the default: all cores")
    _common.add_device_argument(parser, "where to count")
    parser.add_argument("--dtype", default="float64", choices=("float64", "float32"))
    _cluster.add_scheduler_argument(parser, "its workers count, if the draws are in a store")
    _common.add_output_arguments(parser)
    parser.epilog = "An --output that ends in .npy or .npz is written in that format."


def run(arguments: argparse.Namespace) -> None:
    """Count and write."""
    from partita import io

    _cluster.check_device(arguments)
    output = arguments.output or ""
    as_array = arguments.format is None and output.endswith((".npy", ".npz"))
    form = "array" if as_array else _common.form(arguments)
    if as_array:
        io.check_place(output)
    with _cluster.connected(arguments, shares=False):
        similarity = _counted(arguments)
        matrix = similarity.to_dense(dtype=arguments.dtype)
    if as_array:
        _common.write_or_keep(output, lambda path: _write_array(path, matrix))
        _common.say_where("The similarity", output)
        return
    _common.write(_text(similarity, matrix, form), arguments, "The similarity")


def _write_array(path: str, matrix: Any) -> None:
    from partita import io

    if path.endswith(".npy"):
        io.write_npy(path, matrix)
    else:
        io.write_npz(path, {"similarity": matrix})


def _counted(arguments: argparse.Namespace) -> Similarity:
    from partita.similarity import Similarity, posterior_similarity

    if not arguments.log_weights:
        return posterior_similarity(
            _common.read(arguments),
            dtype=arguments.dtype,
            n_jobs=arguments.jobs,
            device=arguments.device,
        )
    similarity = Similarity.from_log_weights(arguments.draws, key=arguments.key)
    if arguments.device is not None:
        similarity = similarity.to_device(arguments.device, dtype=arguments.dtype)
    return similarity


def _text(similarity: Similarity, matrix: Any, form: str) -> str:
    """The matrix as CSV, JSON or a table."""
    import pandas as pd

    from partita import io

    names = io.item_index(similarity.item_names, similarity.n_items)
    frame = pd.DataFrame(matrix, index=names, columns=names.rename(None))
    if form == "csv":
        return str(frame.to_csv())
    if form == "json":
        return _common.to_json({"items": names.tolist(), "similarity": matrix.tolist()})
    return str(frame.to_string(float_format=lambda x: f"{x:.3f}"))
