"""The paper's eight methods and ours on one set of draws, each factorisation made once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from partita import losses, nmf, search
from partita.comparison import adjusted_rand_index, rand_index, variation_of_information
from partita.estimation import estimate
from partita.evidence import Evidence

if TYPE_CHECKING:
    from partita.draws import Draws
    from partita.search import Candidate
    from partita.typing import IntArray

MODELS = ("nmf-ls", "nmf-kl", "nmf-ns", "nmf-offset")
CONVENTIONAL = ("minbinder", "maxpear", "minvi", "medv")
OURS = ("auto-binder", "auto-omari", "auto-vi")
#: The paper chooses the rank by "one of the expected loss functions" and does not say which.
CHOOSERS: Mapping[str, str] = {"binder": "binder", "pear": "pear", "vi": "vi-lower-bound"}
MEASURES = ("Rand", "AR", "VI")

NAMES = (
    *(f"{model}/{chooser}" for model in MODELS for chooser in CHOOSERS),
    *CONVENTIONAL,
    *OURS,
)


#: Ranks 2 to 12, ten restarts, as in the paper; ours, and as R's NMF does it.
OUR_WAY = search.NMF()
R_WAY = search.NMF(solver="mu", normalize=("as-is",))


def answers(draws: Draws, *, seed: int, factoring: search.NMF = OUR_WAY) -> dict[str, IntArray]:
    """Return the partition of every method; NMF once for each loss that may choose its rank.

    Parameters
    ----------
    draws : Draws
    seed : int
        The same for every method; the four models then share their random starts.
    factoring : search.NMF
        How to factorise, whatever the model it names.

    Returns
    -------
    dict of str to ndarray, shape (n,)
        In the order of :data:`NAMES`, such as ``"nmf-kl/binder"`` for NMF-kl with the rank of
        least expected Binder loss.
    """
    evidence = Evidence(draws)
    found = factorised(evidence, factoring, seed=seed)
    for name in CONVENTIONAL:
        found[name] = estimate(evidence, method=name, rng=seed).labels
    for name in OURS:
        found[name] = estimate(evidence, loss=name.removeprefix("auto-"), rng=seed).labels
    return found


def factorised(evidence: Evidence, factoring: search.NMF, *, seed: int) -> dict[str, IntArray]:
    """Return the partition of each model under each loss that may choose its rank.

    What NMF offers does not depend on the loss, so each factorisation is made once.
    """
    found: dict[str, IntArray] = {}
    for model, candidates in offered(evidence, factoring, seed=seed):
        for chooser, loss in CHOOSERS.items():
            found[f"{model}/{chooser}"] = best(candidates, evidence, loss)[0].labels
    return found


def offered(
    evidence: Evidence, factoring: search.NMF, *, seed: int, models: tuple[str, ...] = MODELS
) -> Iterator[tuple[str, list[Candidate]]]:
    """Yield what each model offers; "fast" on the host shares what models have in common."""
    if factoring.solver != "fast" or factoring.device is not None:
        for model in models:
            how = replace(factoring, model=model.removeprefix("nmf-"))
            rng = np.random.default_rng(seed)
            yield model, list(how.candidates(evidence, losses.NAMES["binder"], rng=rng, n_jobs=1))
        return
    target = nmf.shared(evidence.similarity)
    ranks = [k for k in factoring.ranks if k <= evidence.n_items]
    for model in models:
        fits = nmf.factorize_ranks(
            target, model=model.removeprefix("nmf-"), ranks=ranks, n_init=factoring.n_init,
            solver=factoring.solver, seed=seed, n_jobs=1,
        )  # fmt: skip
        yield model, [candidate for fit in fits for candidate in factoring.read(fit)]


def best(candidates: list[Candidate], evidence: Evidence, loss: str) -> tuple[Candidate, float]:
    """Return the candidate of least expected loss, and that loss."""
    partitions = np.stack([candidate.labels for candidate in candidates])
    values = losses.expected(losses.NAMES[loss], partitions, evidence)
    at = int(np.argmin(values))
    return candidates[at], float(values[at])


def scores(truth: IntArray, labels: IntArray) -> Iterator[tuple[str, float]]:
    """Yield the paper's three measures against a truth, VI in bits, and the number of clusters."""
    yield "Rand", rand_index(truth, labels)
    yield "AR", adjusted_rand_index(truth, labels)
    yield "VI", variation_of_information(truth, labels)
    yield "K", float(len(np.unique(labels)))
