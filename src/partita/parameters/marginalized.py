"""Mixtures whose labels were summed out: log weights of every draw, item and component."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from partita import validate
from partita.draws import Draws, component_order, in_order, probabilities
from partita.io import Shown
from partita.similarity import Similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Doubles


@dataclass(frozen=True, eq=False)
class MarginalizedMixture(Shown):
    """What a mixture says of its labels after they were summed out.

    Every verb takes it as draws. :func:`cluster_parameters` matches its components by their
    responsibilities.

    Parameters
    ----------
    log_weights : ndarray, shape (n_draws, n_items, n_components)
        log(weight of the component) + log density of the item under it, up to a constant.
    chains : ndarray of int64, shape (n_draws,)
    item_names : tuple of str, optional
    seed : int
        Of the labels that are sampled.
    """

    log_weights: Doubles
    chains: NDArray[np.int64]
    item_names: tuple[str, ...] | None = None
    seed: int = 0

    @property
    def n_draws(self) -> int:
        """The number of draws."""
        return int(self.log_weights.shape[0])

    @property
    def n_items(self) -> int:
        """The number of items."""
        return int(self.log_weights.shape[1])

    @property
    def n_components(self) -> int:
        """The number of components."""
        return int(self.log_weights.shape[2])

    def __repr__(self) -> str:
        return (
            f"MarginalizedMixture({validate.count_text(self.n_draws, 'draw')} of "
            f"{validate.count_text(self.n_items, 'item')}, "
            f"{validate.count_text(self.n_components, 'component')})"
        )

    @cached_property
    def draws(self) -> Draws:
        """A label for every draw and item, sampled by its probabilities; codes are components."""
        sampled = Draws.from_log_weights(self.log_weights, rng=self.seed)
        return sampled._with(chains=self.chains, item_names=self.item_names)

    @cached_property
    def similarity(self) -> Similarity:
        """The similarity without the noise of sampled labels."""
        return Similarity.from_log_weights(self.log_weights)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """An order of each draw's components by their values, shape (n_draws, n_components).

        Sums over components run in this order, so that their numbers change no bit of an answer.
        """
        return component_order(self.log_weights)

    def responsibilities(self, draws: slice = slice(None)) -> Doubles:
        """P(item i in component k) in some draws, shape (draws, n_items, n_components)."""
        return in_order(self.ordered_responsibilities(draws), np.argsort(self.order[draws], axis=1))

    def ordered_responsibilities(self, draws: slice = slice(None)) -> Doubles:
        """The same with the components in :attr:`order`."""
        return probabilities(in_order(self.log_weights[draws], self.order[draws]))
