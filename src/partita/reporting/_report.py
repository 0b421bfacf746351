"""The verb."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partita import io, validate
from partita.comparison import Comparison, compare
from partita.draws import Draws
from partita.errors import InvalidTypeError, InvalidValueError, PartitaWarning
from partita.estimation import Estimate, expected_loss
from partita.evidence import as_evidence
from partita.losses import VI, VILowerBound
from partita.partitions import canonical
from partita.plots import item_order
from partita.plots._scatter import check_items
from partita.reporting import _content, _methods, _page, _parameters, _reproduce, _sections
from partita.reporting._steps import steps_of
from partita.reporting._sure import LINKS, Sure
from partita.reporting._wording import wording_of
from partita.search import METHODS
from partita.similarity import Similarity

if TYPE_CHECKING:
    from partita.typing import Path

_EVERY_METHOD = 300  # items up to which every method is run for the comparison
_SOME_METHODS = 5_000  # items up to which those that cut one dendrogram are
_BRIEF_BEYOND = 2_000  # items; CHIPS of 5,000 takes minutes


def report(
    estimate: Any,
    draws: Any,
    path: Path = "report.html",
    data: Any = None,
    truth: Any = None,
    *,
    params: Any = None,
    comparison: Comparison | bool | None = None,
    title: str = _reproduce.TITLE,
    command: str | None = None,
    density: Any = None,
    wording: str | None = None,
    brief: bool | None = None,
    first_item: int = 0,
    n_jobs: int | None = -1,
) -> str:
    """Write one HTML file with the estimate, its uncertainty and how to get it again.

    The file is complete in itself: it opens from disk, asks the network for nothing and forbids
    itself to. In it are the headline, the similarity matrix, a slider over K that moves
    memberships, labels and loss together, a table of the items to search and sort, what can be
    stated as it is (CHIPS), modes, what hangs on the weight of the loss, the methods side by side,
    what speaks for and against the draws, a paragraph of methods with its references, and the call
    with versions and seed. Every figure can be saved as SVG and PNG. Of
    more than 1,000 draws the matrix of many items and the memberships rest on so many that stand
    for all (:func:`partita.draws.representative`), which the page then says.

    Parameters
    ----------
    estimate : Estimate or array-like of shape (n,)
        With a path, as from ``search="nmf-kl"``, the slider goes along it; else along the cuts of
        average linkage or, beyond some thousand items, the best draws of each K.
    draws : Draws, Similarity or anything that can become draws
        Of a similarity alone, or of draws with missing labels, the page leaves out what needs
        whole draws, and says so.
    path : path
        Where the file goes; it is replaced in one step.
    data : array-like of shape (n, p), optional
        To draw, coloured by cluster: one or two columns as they are, more as principal components.
    truth : array-like of shape (n,), optional
        Known classes to score against.
    params : ClusterParameters, or what :func:`partita.cluster_parameters` takes, optional
        For the section on what the clusters are like.
    comparison : Comparison or bool, optional
        What :func:`partita.compare` returned. If None, every method is run up to 300 items and
        the paper's conventional ones up to 5,000; False for none.
    title : str
    command : str, optional
        The shell command to show above the Python calls.
    density : mapping or bool, optional
        Keywords of :func:`partita.mixture.predictive_density`, as for
        :func:`partita.plots.scatter`.
    wording : {"posterior", "consensus"}, optional
        Whether the page speaks of a posterior, chains and convergence, or of runs and agreement.
        If None, the latter for draws that :func:`partita.consensus` made.
    brief : bool, optional
        Leave out CHIPS, modes and what hangs on the loss, which take most of the time. If None,
        beyond 2,000 items.
    first_item : int
        The number of the first item where items have no names: 1 for readers who count from 1.
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    str
        The absolute path of the file.

    Examples
    --------
    >>> import os, tempfile
    >>> import partita as pt
    >>> draws = pt.datasets.simulate_draws(30, 100, n_clusters=3, rng=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = report(pt.estimate(draws, rng=0), draws, os.path.join(folder, "report.html"))
    ...     os.path.getsize(file) > 1_000_000
    True
    """
    if os.fspath(path).lower().endswith(".pdf"):
        raise InvalidValueError(
            f"`path` must be a file of HTML; got {os.fspath(path)!r}. Write report.html and print "
            "it from a browser, or by chromium --headless --print-to-pdf=report.pdf report.html."
        )
    io.check_place(path)
    n_jobs = validate.n_jobs(n_jobs)
    evidence = as_evidence(draws, n_jobs=n_jobs)
    given = evidence.draws if evidence.has_draws else evidence.similarity
    given = _numbered(given, first_item)
    words = wording_of(wording, evidence.lacking or given)
    best = _estimate(estimate, given, n_jobs)
    if truth is not None:
        truth = validate.labels("truth", truth, n_items=given.n_items)
    if data is not None:
        check_items(data, given.n_items)
    table = _comparison(comparison, given, truth, best, n_jobs)
    steps = steps_of(best, given, n_jobs=n_jobs)
    order = item_order(best, given, truth=truth)
    findings = _sections.Findings.of(best, given, truth, table, n_jobs, words)
    content = _content.content(best, given, steps, order, findings, data, density)
    sure = None
    is_brief = given.n_items > _BRIEF_BEYOND if brief is None else brief
    if not is_brief and isinstance(given, Draws) and given.n_draws > 1:
        sure = Sure.of(given, best.seed % 2**32, n_jobs)
    content["sure"] = None if sure is None else sure.content(order)
    call = _reproduce.call(
        best, given, draws, path,
        data=data, truth=truth, params=params, comparison=comparison, density=density,
        title=str(title), wording=wording, brief=brief, first_item=first_item,
    )  # fmt: skip
    if params is not None and not evidence.has_draws:
        raise InvalidValueError("`params` must go with whole draws; got a similarity alone.")
    described = None if params is None else _parameters.described(best, draws, params)
    parts = _sections.parts(best, given, findings, steps, command, call)
    parts["sure"] = "" if sure is None else sure.html()
    parts["sure_links"] = "" if sure is None else LINKS
    parts["methods_text"] = _methods.section(best, given, findings, sure)
    parts["parameters"] = _parameters.section(described)
    parts["parameters_link"] = _parameters.link(described)
    page = _page.page(title=str(title), content=content, parts=parts, wording=words)
    io.write_somewhere(path, lambda place: io.write_text(place, page))
    return os.path.abspath(path)


def _numbered(draws: Draws | Similarity, first_item: int) -> Draws | Similarity:
    """Draws whose items are numbered from there on, if they have no names."""
    first = validate.integer("first_item", first_item, least=0)
    if first == 0 or draws.item_names is not None or not isinstance(draws, Draws):
        return draws
    return replace(draws, item_names=tuple(str(first + i) for i in range(draws.n_items)))


def _estimate(estimate: Any, draws: Draws | Similarity, n_jobs: int) -> Estimate:
    """The estimate, or bare labels with the loss that they have."""
    labels = validate.labels("estimate", getattr(estimate, "labels", estimate),
                             n_items=draws.n_items)  # fmt: skip
    if isinstance(estimate, Estimate):
        return estimate
    if isinstance(estimate, str):
        raise InvalidTypeError(f"`estimate` must be an Estimate or labels; got {estimate!r}.")
    loss = VI() if isinstance(draws, Draws) else VILowerBound()
    value = expected_loss(labels, draws, loss=loss, n_jobs=n_jobs)
    return Estimate(canonical(labels), float(value), loss, _reproduce.GIVEN)


def _comparison(
    given: Comparison | bool | None, draws: Draws | Similarity, truth: Any, best: Estimate,
    n_jobs: int,
) -> Comparison | None:  # fmt: skip
    if isinstance(given, Comparison):
        return given
    n = draws.n_items
    if given is False or (given is None and n > _SOME_METHODS):
        return None
    methods = None if given is True or n <= _EVERY_METHOD else list(METHODS)
    with warnings.catch_warnings():
        # That chains disagree is in the report itself.
        warnings.simplefilter("ignore", PartitaWarning)
        return compare(draws, truth=truth, methods=methods, rng=best.seed, n_jobs=n_jobs)
