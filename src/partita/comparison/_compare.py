"""Every method on the same draws, every loss on every answer."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, search, validate
from partita.comparison._scores import (
    adjusted_rand_index,
    rand_index,
    variation_of_information,
)
from partita.errors import InvalidTypeError, InvalidValueError, PartitaWarning
from partita.estimation import Estimate, estimate, warn_of_disagreement
from partita.evidence import Evidence, as_evidence, can_serve
from partita.parallel import progress

if TYPE_CHECKING:
    import pandas as pd

    from partita.typing import Needs, Seed


@dataclass(frozen=True, eq=False)
class Comparison:
    """One row a method; every loss in columns.

    Parameters
    ----------
    frame : DataFrame
        Indexed by method: K, the expected value of every loss that the data allow, the seconds
        taken and, where a truth was given, Rand, AR and VI against it.
    estimates : dict of str to Estimate
        What each method answered.
    """

    frame: pd.DataFrame
    estimates: Mapping[str, Estimate]

    def __str__(self) -> str:
        shown = self.frame.copy()
        shown["seconds"] = shown["seconds"].map("{:.2g}".format)
        return str(shown.to_string(float_format=lambda x: f"{x:.4f}", na_rep="-"))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return str(self.frame.to_html(float_format=lambda x: f"{x:.4f}", na_rep="-"))


def compare(
    data: Any,
    *,
    truth: Any = None,
    methods: Sequence[str] | Mapping[str, Mapping[str, Any]] | None = None,
    rng: Seed = None,
    n_jobs: int | None = -1,
    device: str | None = None,
) -> Comparison:
    """Run every method on the same data and evaluate every loss at every answer.

    Parameters
    ----------
    data : Draws, Similarity or anything that can become draws
    truth : array-like of shape (n,), optional
        The known partition to score against.
    methods : list of str, or mapping of str to dict, optional
        Names of rows of the table, or your own names with the keywords of :func:`partita.estimate`
        for each. Everything that the data allow if None: ``"nmf-kl"`` and the other NMF methods of
        the paper, those of ``estimate(method=)``, and ``"auto-vi"`` and the like, the default
        search under a loss.
    rng : int, SeedSequence or Generator, optional
        The same for every method.
    n_jobs : int
        Threads; -1, the default, is every core.
    device : str, optional
        Where the methods that factorise do so, as for :func:`partita.estimate`.

    Returns
    -------
    Comparison
        Prints as a table; ``frame`` is a DataFrame. The similarity is made once, before the clock
        starts. If Ctrl-C ends it, the methods so far, with a warning that names the others.

    Examples
    --------
    >>> table = compare([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]], truth=[0, 0, 1, 1])
    >>> table.frame.loc["minvi", ["K", "Rand"]].tolist()
    [2.0, 1.0]
    """
    n_jobs = validate.n_jobs(n_jobs)
    evidence = as_evidence(data, n_jobs=n_jobs)
    warn_of_disagreement(evidence)
    if truth is not None:
        truth = validate.labels("truth", truth, n_items=evidence.n_items)
    calls = _calls(methods, evidence)
    if not calls:
        raise InvalidValueError("`methods` must name at least one method; got none.")
    if device is not None:
        calls = _placed(calls, device)
    seed = validate.seed(rng)
    _ = evidence.similarity
    estimates: dict[str, Estimate] = {}
    seconds: dict[str, float] = {}
    with progress(len(calls), "methods") as bar:
        for name, call in calls.items():
            start = time.perf_counter()
            try:
                estimates[name] = estimate(evidence, rng=seed, n_jobs=n_jobs, **call)
            except KeyboardInterrupt:
                if not estimates:
                    raise
                break
            seconds[name] = time.perf_counter() - start
            bar.advance(note=name)
            if estimates[name].info.get("interrupted"):
                break
    _warn_of_missing([name for name in calls if name not in estimates])
    return Comparison(_frame(estimates, seconds, evidence, truth, n_jobs), estimates)


def _warn_of_missing(names: list[str]) -> None:
    if names:
        warnings.warn(
            f"The comparison was interrupted; it lacks {', '.join(names)}.",
            PartitaWarning,
            stacklevel=3,
        )


def _calls(methods: Any, evidence: Evidence) -> dict[str, dict[str, Any]]:
    if methods is None:
        return _everything(evidence)
    if isinstance(methods, Mapping):
        return {str(name): dict(call) for name, call in methods.items()}
    if isinstance(methods, str) or not all(isinstance(name, str) for name in methods):
        raise InvalidTypeError(
            "`methods` must be a list of names, or a mapping of names to the keywords of "
            f"estimate(); got {methods!r}."
        )
    rows = _everything(evidence) | {name: {"method": name} for name in search.METHODS}
    return {name: validate.lookup("methods", name, rows) for name in methods}


def _placed(calls: dict[str, dict[str, Any]], device: str) -> dict[str, dict[str, Any]]:
    """The calls, those with a search that can work on a device working on this one."""
    parts = {
        name: search.resolve("auto" if call.get("method") else call.get("search", "auto"))
        for name, call in calls.items()
    }
    able = {name for name, some in parts.items() if any(hasattr(one, "device") for one in some)}
    if not able:
        raise InvalidValueError(
            "`device` must go with a method that can use one, an NMF such as 'nmf-kl'; got "
            f"{', '.join(map(repr, calls))}."
        )
    return {n: {"device": device, **call} if n in able else call for n, call in calls.items()}


def _everything(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """The paper's eight methods, and the default search under each loss that the data allow.

    The paper does not say which loss chose the rank of NMF; here it is the VI lower bound.
    """
    calls: dict[str, dict[str, Any]] = {
        name: {"loss": "vi-lower-bound", "search": name}
        for name in ("nmf-ls", "nmf-kl", "nmf-ns", "nmf-offset")
        if evidence.n_items > 2
    }
    for name, (loss, how) in search.METHODS.items():
        needs: set[Needs] = {getattr(part, "needs", "either") for part in (loss, how)}
        if all(can_serve(need, evidence) for need in needs):
            calls[name] = {"method": name}
    for name in ("binder", "omari", "vi"):
        if can_serve(losses.NAMES[name].needs, evidence):
            calls[f"auto-{name}"] = {"loss": name}
    return calls


def _frame(
    estimates: Mapping[str, Estimate],
    seconds: Mapping[str, float],
    evidence: Evidence,
    truth: Any,
    n_jobs: int,
) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {"K": [e.n_clusters for e in estimates.values()]}
    partitions = np.stack([e.labels for e in estimates.values()])
    for name, loss in losses.NAMES.items():
        if can_serve(loss.needs, evidence):
            columns[name] = losses.expected(loss, partitions, evidence, n_jobs=n_jobs)
    if truth is not None:
        scores = {
            "Rand": rand_index,
            "AR": adjusted_rand_index,
            "VI": variation_of_information,
        }
        for name, score in scores.items():
            columns[name] = [score(truth, labels) for labels in partitions]
    columns["seconds"] = [seconds[name] for name in estimates]
    return pd.DataFrame(columns, index=pd.Index(list(estimates), name="method"))
