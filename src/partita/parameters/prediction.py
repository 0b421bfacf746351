"""``predict_memberships``: where new items belong, for any model whose densities are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partita import io, validate
from partita.draws import Reported, complete_draws, overlap_of_draws
from partita.errors import InvalidValueError
from partita.parameters.arrays import check_has_codes, positions_of
from partita.parameters.marginalized import MarginalizedMixture
from partita.parameters.stephens import overlap_of_mixture

if TYPE_CHECKING:
    from partita.typing import Doubles


def predict_memberships(
    estimate_or_labels: Any,
    draws: Any,
    log_weights_new: Any,
    *,
    method: str = "align",
    first_code: int = 0,
) -> Doubles:
    r"""Return P(a new item is in each reported cluster), and in none.

    .. math:: P(k) = \sum_m w_m \sum_c p_{mc} A_{mck}, \quad
              p_{mc} \propto \exp(\ell_{mc})

    where ℓ is ``log_weights_new`` of the item, w the weights of the draws, and A depends on
    ``method``.

    Parameters
    ----------
    estimate_or_labels : Estimate, Chips or array-like of shape (n,)
        The reported clusters.
    draws : Draws, MarginalizedMixture or anything that can become draws
        Of the items that were clustered, with ``codes``.
    log_weights_new : array-like of shape (n_draws, n_new, n_components)
        log(weight of the component) + log density of the new item under it, up to a constant for
        each draw and item; (chains, draws, n_new, n_components) too. A component that has no item
        in a draw, such as a cluster yet to be, is none of the reported ones.
    method : {"align", "items"}
        A, what a component of a draw has to do with the reported clusters. ``"align"``: all, with
        the one that it is matched with, as in :func:`cluster_parameters`. ``"items"``: the share of
        its items that are in each, the chance that a companion picked at random is;
        :func:`partita.mixture.join_probabilities` is this, for the sampler that comes with partita.
    first_code : int
        What the sampler calls the first component.

    Returns
    -------
    ndarray, shape (n_new, K + 1)
        The last column is the probability of none; rows sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> z = [[0, 0, 1, 1], [1, 1, 0, 0]]
    >>> new = np.log([[[0.9, 0.1]], [[0.3, 0.7]]])  # two draws, one item, two components
    >>> predict_memberships([0, 0, 1, 1], z, new).round(3)
    array([[0.8, 0.2, 0. ]])
    """
    validate.choice("method", method, ("align", "items"))
    given = complete_draws(draws, "predict_memberships")
    reported = Reported.of(estimate_or_labels, given.n_items)
    new = io.read_weights(log_weights_new).array
    m, _, width = new.shape
    if m != given.n_draws:
        raise InvalidValueError(
            f"`log_weights_new` must have the {given.n_draws} draws of `draws` first; got {m}. "
            "Treat both alike: burn and thin."
        )
    if isinstance(draws, MarginalizedMixture):
        overlap = overlap_of_mixture(reported, draws)
        at = draws.order.ravel()
        if width != draws.n_components:
            raise InvalidValueError(
                f"`log_weights_new` must have the {draws.n_components} components of the mixture; "
                f"got {width}."
            )
    else:
        check_has_codes(given)
        overlap = overlap_of_draws(reported, given)
        at = positions_of(given.codes, width, None, first_code, "`log_weights_new`")
    return overlap.memberships(new, at, given.probabilities, method)
