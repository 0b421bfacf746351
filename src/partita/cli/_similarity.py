"""Write the posterior similarity matrix as npy, npz, or text."""

from __future__ import annotations

import argparse

from partita.cli import _common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita similarity``."""
    _common.add_draws_arguments(parser)
    parser.add_argument("--jobs", type=int, default=-1, help="threads; -1, the default: all cores")
    _common.add_device_argument(parser, "where to count")
    parser.add_argument("--dtype", default="float64", choices=("float64", "float32"))
    _common.add_output_arguments(parser)
    parser.epilog = "An --output that ends in .npy or .npz is written in that format."


def run(arguments: argparse.Namespace) -> None:
    """Count and write."""
    import pandas as pd

    from partita import io
    from partita.similarity import Similarity, posterior_similarity

    output = arguments.output or ""
    as_array = arguments.format is None and output.endswith((".npy", ".npz"))
    form = "array" if as_array else _common.form(arguments)
    if as_array:
        io.check_place(output)
    if arguments.log_weights:
        similarity = Similarity.from_log_weights(arguments.draws, key=arguments.key)
        if arguments.device is not None:
            similarity = similarity.to_device(arguments.device, dtype=arguments.dtype)
    else:
        similarity = posterior_similarity(
            _common.read(arguments),
            dtype=arguments.dtype,
            n_jobs=arguments.jobs,
            device=arguments.device,
        )
    matrix = similarity.to_dense(dtype=arguments.dtype)
    if as_array:
        if output.endswith(".npy"):
            io.write_npy(output, matrix)
        else:
            io.write_npz(output, {"similarity": matrix})
        return
    names = io.item_index(similarity.item_names, similarity.n_items)
    frame = pd.DataFrame(matrix, index=names, columns=names.rename(None))
    if form == "csv":
        text = str(frame.to_csv())
    elif form == "json":
        text = _common.to_json({"items": names.tolist(), "similarity": matrix.tolist()})
    else:
        text = str(frame.to_string(float_format=lambda x: f"{x:.3f}"))
    _common.write(text, arguments)
