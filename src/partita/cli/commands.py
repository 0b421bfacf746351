"""What each command does: read, call the verb of the same name, write.

Every function imports what it needs when it is called, so that ``partita estimate`` waits for no
library that it does not use. Its docstring is what ``--help`` says of the command. ``sampling``,
``figures`` and ``judgement`` hold those that have much to do or to choose from.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from partita import validate
from partita.cli import aims, cluster, reading, writing
from partita.cli.writing import Result

if TYPE_CHECKING:
    from partita.estimation import Estimate
    from partita.parameters import ClusterParameters

_DESCRIBED = 8  # clusters, and columns of their means, above the table of `run`
_SIZES = 40  # clusters whose sizes are listed above the table
_PROVED = ("is_optimal", "lower_bound", "gap")  # what an exact search knows


def estimate(arguments: argparse.Namespace) -> None:
    """Print the partition of least expected loss: a cluster for every item."""
    from partita import search
    from partita.estimation import estimate

    how = aims.keywords(arguments)
    factorises = any(isinstance(one, search.NMF) for one in search.resolve(how["search"]))
    with cluster.connected(arguments, shares=factorises and not arguments.method) as n_jobs:
        best = estimate(reading.draws_or_similarity(arguments), **how, n_jobs=n_jobs)
    writing.write_all(
        lambda: save_estimate(best, arguments), lambda: show_estimate(best, arguments)
    )


def save_estimate(best: Estimate, arguments: argparse.Namespace) -> None:
    """Keep an estimate in the file of ``--save``, if one is named."""
    if arguments.save:
        writing.save(arguments.save, best.save, "The whole estimate", arguments)


def show_estimate(
    best: Estimate, arguments: argparse.Namespace, found: ClusterParameters | None = None
) -> None:
    """Write an estimate, an item a row, and what its clusters are like if that is known."""
    from partita.estimation import is_plain

    names = range(best.labels.size) if best.item_names is None else best.item_names
    soft = [] if best.memberships is None else best.memberships.T.tolist()
    columns = [
        ("item", list(names)),
        ("cluster", best.labels.tolist()),
        *((f"membership_{k}", column) for k, column in enumerate(soft)),
    ]
    about: dict[str, Any] = {
        "n_clusters": best.n_clusters,
        "expected_loss": best.expected_loss,
        "loss": best.loss_name,
        "search": best.search_name,
        "seed": best.seed,
        "evidence": best.info.get("evidence"),
        "cut_short": bool(best.info.get("cut_short")),
        "interrupted": bool(best.info.get("interrupted")),
        **{name: best.info[name] for name in _PROVED if name in best.info},
        "sizes": best.sizes.tolist(),
    }
    clusters = validate.count_text(best.n_clusters, "cluster")
    expected = f"expected {best.loss_name} {best.expected_loss:.6f},"
    sizes = ", ".join(map(str, best.sizes[:_SIZES]))
    if best.n_clusters > _SIZES:
        sizes += f" and {best.n_clusters - _SIZES:,} more"
    head = [
        f"{clusters}, sizes {sizes}", f"{expected} found by {best.search_name}, seed {best.seed}"
    ]  # fmt: skip
    if "is_optimal" in best.info:
        head.append(_proved(best))
    if about["evidence"] and not is_plain(about["evidence"]):
        head.append(about["evidence"])
    if found is not None:
        head += means_text(found)
        about["parameters"] = writing.records_of(writing.columns_of(found.summary()))
    writing.show(Result(columns, about, "items", head), arguments, f"{clusters}, {expected}")


def means_text(found: ClusterParameters) -> list[str]:
    """Lines that say where the clusters lie, of those that a terminal has room for."""
    table = found[["mean", "matched_share"]].summary()["mean"].unstack("parameter", sort=False)
    shown = table.iloc[:_DESCRIBED, :_DESCRIBED]
    lines = ["cluster means"]
    for name, row in shown.iterrows():
        values = ", ".join(
            f"{str(entry).removeprefix('mean[').removesuffix(']')} {value:.4g}"
            for entry, value in row.items()
        )
        lines.append(f"  {name}: {values}")
    return lines if len(shown) == len(table) else [*lines, "  ... (--report has all)"]


def _proved(best: Estimate) -> str:
    """What an exact search proved."""
    if best.info["is_optimal"]:
        return "proved: no partition is better"
    if "gap" not in best.info:
        return "not proved to be the best"
    return (
        f"not proved to be the best: another is better by at most {best.info['gap']:.3g} "
        f"(lower bound {best.info['lower_bound']:.6f})"
    )


def compare(arguments: argparse.Namespace) -> None:
    """Run every method and print one row for each: K, every expected loss, seconds."""
    from partita.comparison import compare

    with cluster.connected(arguments, shares=True) as n_jobs:
        data = reading.draws_or_similarity(arguments)
        found = compare(
            data,
            truth=reading.truth(arguments, data.item_names),
            methods=arguments.methods,
            rng=arguments.seed,
            n_jobs=n_jobs,
            device=arguments.device,
        )
    is_table = arguments.format == "table"
    result = Result([], head=[str(found)]) if is_table else Result.of_frame(found.frame)
    writing.show(result, arguments)


def parameters(arguments: argparse.Namespace) -> None:
    """Say what the clusters are like: mean, interval and R-hat of the parameters of each.

    The partition is that of --estimate, or is estimated first.
    """
    with cluster.connected(arguments):
        draws = reading.draws(arguments)
        found = aims.parameters(arguments, aims.partition(arguments, draws), draws)
    writing.show(Result.of_frame(found.summary(arguments.prob)), arguments)


def certify(arguments: argparse.Namespace) -> None:
    """Bound the expected Binder loss of every partition from below: how good can another be?

    Without --labels, the partition that `partita estimate --loss binder` finds is judged.
    """
    from partita.certificates import binder_of, certify
    from partita.estimation import estimate

    loss = replace(binder_of(arguments.loss), a=arguments.a)
    data = reading.draws_or_similarity(arguments)
    if arguments.labels is not None:
        labels: Any = reading.labels("labels", arguments.labels, data.item_names)
    else:
        found = estimate(data, loss=loss, rng=arguments.seed, n_jobs=arguments.n_jobs)
        if found.info.get("interrupted"):
            raise KeyboardInterrupt(
                "the search for a partition to judge had not ended; give one by --labels."
            )
        labels = found.labels
    proof = certify(labels, data, loss=loss, time_limit=arguments.time_limit)
    names = ("expected_loss", "lower_bound", "relative_gap", "is_optimal", "method", "cut_short")
    values = {name: getattr(proof, name) for name in names[: 5 + proof.cut_short]}
    gap = f"another is better by at most {100 * proof.relative_gap:.3g}%"
    head = (
        f"expected binder {proof.expected_loss:.6f}, lower bound {proof.lower_bound:.6f} "
        f"({proof.method}): {'no partition is better' if proof.is_optimal else gap}"
        f"{' (cut short)' if proof.cut_short else ''}"
    )
    if arguments.format == "table":
        writing.show(Result([], head=[head]), arguments)
    else:
        rows = [(name, [value]) for name, value in values.items()]
        writing.show(Result(rows, values), arguments)


def diagnose(arguments: argparse.Namespace) -> None:
    """Say whether the draws can be trusted: whether the chains agree and are long enough.

    CSV is the table of R-hat and effective sample sizes; --trace is the trace of K instead.
    """
    from partita.diagnostics import diagnose
    from partita.estimation import Estimate

    with cluster.connected(arguments) as n_jobs:
        found = diagnose(
            reading.draws(arguments),
            None if arguments.estimate is None else Estimate.load(arguments.estimate),
            loss=arguments.loss,
            n_pairs=arguments.n_pairs,
            n_jobs=n_jobs,
        )
    if arguments.trace:
        writing.show(Result.of_frame(found.trace_frame().set_index("chain")), arguments)
        return
    names = ("trusted", "verdict", "disagreements", "shortages", "notes")
    about = {name: getattr(found, name) for name in names} | {"gap": asdict(found.gap)}
    reasons = (*found.disagreements, *found.shortages, *found.notes)
    head = [found.verdict, *(f"  - {writing.one_line(reason)}" for reason in reasons)]
    result = Result.of_frame(found.frame, about=about, rows="quantities", head=head)
    writing.show(result, arguments)


def similarity(arguments: argparse.Namespace) -> None:
    """Write the posterior similarity matrix as npy, npz, or text."""
    from partita import io
    from partita.similarity import Similarity, posterior_similarity

    form, dtype = arguments.format, arguments.dtype
    with cluster.connected(arguments) as n_jobs:
        how = {"dtype": dtype, "device": arguments.device}
        if not arguments.log_weights:
            found = posterior_similarity(reading.draws(arguments), n_jobs=n_jobs, **how)
        else:
            words = {"key": arguments.key, "isolate": arguments.isolate}
            found = Similarity.from_log_weights(arguments.draws, **words)
            if arguments.device is not None:
                found = found.to_device(arguments.device, dtype=dtype)
        matrix: Any = found.to_dense(dtype=dtype)
    names = list(range(found.n_items) if found.item_names is None else found.item_names)
    what = "The similarity"
    if form == "npy":
        writing.save(arguments.output, lambda path: io.write_npy(path, matrix), what, arguments)
    elif form == "npz":
        arrays = {"similarity": matrix}
        writing.save(arguments.output, lambda path: io.write_npz(path, arrays), what, arguments)
    else:
        columns = [("item", names), *zip(map(str, names), matrix.T.tolist(), strict=True)]
        about = {"items": names, "similarity": matrix.tolist()} if form == "json" else None
        writing.show(Result(columns, about, style=".3f"), arguments, what)


def info(arguments: argparse.Namespace) -> None:
    """Say what is in a file of draws, and what was assumed when reading it."""
    import numpy as np

    draws = reading.draws(arguments)
    shares = np.bincount(draws.n_clusters, draws.probabilities)
    clusters = {int(k): float(shares[k]) for k in np.flatnonzero(shares)}
    counts: dict[str, Any] = {
        "items": draws.n_items,
        "draws": draws.n_draws,
        "chains": draws.n_chains,
        "weighted": draws.weights is not None,
        "distinct partitions": draws.unique().n_draws,
    }
    lists = {"item names": list(draws.item_names or ()), "traces": sorted(draws.traces)}
    about = {**counts, "clusters": clusters, **lists, "assumed": list(draws.assumptions)}
    rows = [*counts.items(), *((f"share with {k} clusters", v) for k, v in clusters.items())]
    if arguments.format == "csv":
        rows += [("assumed", text) for text in draws.assumptions]
    for what, found in lists.items():
        if found and arguments.format == "table":
            rows.append((what, ", ".join(found[:5]) + ", ..." * (len(found) > 5)))
    head = [f"  {writing.printable(text)}" for text in draws.assumptions]
    whats, values = zip(*rows, strict=True)
    columns = [("what", whats), ("value", values)]
    writing.show(Result(columns, about, head=head and ["assumed", *head]), arguments)


def write_report(
    best: Estimate, draws: Any, data: Any, arguments: argparse.Namespace, path: str, **words: Any
) -> None:
    """Write the page, with the command that would write it again."""
    from partita.reporting import report

    again, seed = list(arguments.words), arguments.seed
    if seed is None and arguments.command == "report":  # the seed of `run` is in its checkpoint
        seed = best.seed
    if seed is not None and not any(word.startswith("--seed") for word in again):
        again += ["--seed", str(seed)]
    command = f"partita {shlex.join(again)}"
    words |= {"command": command, "comparison": False if arguments.no_comparison else None}
    words |= {"brief": getattr(arguments, "brief", False) or None}
    words["first_item"] = getattr(arguments, "first_item", 0)
    found = report(best, draws, path, data, n_jobs=arguments.n_jobs, **words)
    writing.note(f"The report is {found}", arguments)


def report(arguments: argparse.Namespace) -> None:
    """Write one HTML file: figures, items, methods, diagnostics, how to repeat it."""
    from partita.cli.data import data_of_items
    from partita.draws import Draws

    with cluster.connected(arguments):
        draws = reading.draws_or_similarity(arguments)
        table = data_of_items(arguments, draws)
        if arguments.names and draws.item_names is None and isinstance(draws, Draws):
            draws = replace(draws, item_names=tuple(map(str, table.index)))
        best = aims.partition(arguments, draws)
        write_report(
            best,
            draws,
            table,
            arguments,
            arguments.output,
            density=aims.model_of(arguments) or None,
            truth=reading.truth(arguments, draws.item_names),
            params=None if arguments.params is None else aims.parameters(arguments, best, draws),
            title=arguments.title,
            wording=arguments.wording,
        )


def completion(arguments: argparse.Namespace) -> None:
    """Print a script by which a shell completes the words of partita when Tab is pressed.

    bash   eval "$(partita completion bash)"            in ~/.bashrc
    zsh    eval "$(partita completion zsh)"             in ~/.zshrc, after compinit
    fish   partita completion fish | source             in ~/.config/fish/config.fish
    """
    from partita.cli.completion import SCRIPTS

    sys.stdout.write(SCRIPTS[arguments.shell])
