"""R-hat and effective sample size of scalar traces, as ArviZ defines them.

Traces come as (..., n_chains, n_draws) arrays; every leading index is a quantity of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_DRAWS = 4  # a half of two draws is the shortest that has a variance


def rhat(values: Any) -> NDArray[np.float64]:
    r"""Return the rank-normalised split R-hat of each quantity.

    The larger of two: that of the ranks, turned into normal scores, and that of the ranks of the
    distances from the median, each computed on the halves of the chains. With one chain its two
    halves are compared. A constant has no R-hat (nan); chains that are constant but differ have
    an infinite one.

    Parameters
    ----------
    values : array-like of shape (..., n_chains, n_draws)

    Returns
    -------
    ndarray, shape (...)

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC, Bayesian Analysis 16.

    Examples
    --------
    >>> mixed = np.random.default_rng(0).normal(size=(4, 500))
    >>> bool(rhat(mixed) < 1.01)
    True
    >>> bool(rhat(mixed + [[0], [0], [0], [2]]) > 1.1)
    True
    """
    values = np.asarray(values, dtype=np.float64)
    if values.shape[-1] < LEAST_DRAWS:
        return np.full(values.shape[:-2], np.nan)
    halves = _split(values)
    center = np.median(halves, axis=(-2, -1), keepdims=True)
    folded = np.abs(halves - center)
    return np.fmax(_plain_rhat(_normal_scores(halves)), _plain_rhat(_normal_scores(folded)))


def ess_bulk(values: Any) -> NDArray[np.float64]:
    """Return the bulk effective sample size: that of the normal scores of the halves' ranks.

    Parameters
    ----------
    values : array-like of shape (..., n_chains, n_draws)

    Returns
    -------
    ndarray, shape (...)

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(4, 500))
    >>> bool(1500 < ess_bulk(noise) < 2500)
    True
    >>> bool(ess_bulk(np.cumsum(noise, axis=1)) < 50)
    True
    """
    values = np.asarray(values, dtype=np.float64)
    if values.shape[-1] < LEAST_DRAWS:
        return np.full(values.shape[:-2], np.nan)
    return _each(_effective, _normal_scores(_split(values)))


def ess_mean(values: Any) -> NDArray[np.float64]:
    """Return the effective sample size of the mean: that of the halves as they are."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape[-1] < LEAST_DRAWS:
        return np.full(values.shape[:-2], np.nan)
    return _each(_effective, _split(values))


def _split(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The halves of each chain as chains; the middle draw of an odd number is in neither."""
    half = values.shape[-1] // 2
    return np.concatenate([values[..., :half], values[..., -half:]], axis=-2)


def _normal_scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normal quantiles of the fractional ranks (r - 3/8)/(S + 1/4); ties share their mean rank."""
    from scipy.special import ndtri

    flat = values.reshape(-1, values.shape[-2] * values.shape[-1])
    scores = np.empty_like(flat)
    for row, out in zip(flat, scores, strict=True):
        _, inverse, counts = np.unique(row, return_inverse=True, return_counts=True)
        last = np.cumsum(counts)
        rank = last - (counts - 1) / 2
        out[:] = ndtri((rank - 3 / 8) / (row.size + 1 / 4))[inverse]
    return scores.reshape(values.shape)


def _plain_rhat(values: NDArray[np.float64]) -> NDArray[np.float64]:
    n = values.shape[-1]
    between = n * values.mean(axis=-1).var(axis=-1, ddof=1)
    within = values.var(axis=-1, ddof=1).mean(axis=-1)
    # A sum of rounding errors is no variance: normal scores are of size one.
    between, within = (np.where(v < 1e-20, 0.0, v) for v in (between, within))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((between / within + n - 1) / n))


def _each(function: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
    flat = values.reshape(-1, *values.shape[-2:])
    return np.array([function(one) for one in flat]).reshape(values.shape[:-2])


def _effective(values: NDArray[np.float64]) -> float:
    """S / τ̂ of an (m, n) array, by Geyer's initial monotone sequence over all chains together."""
    m, n = values.shape
    if np.ptp(values) < np.finfo(np.float64).resolution:
        return float(m * n)
    covariance = _autocovariance(values).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + values.mean(axis=1).var(ddof=1)
    correlation = 1 - (within - covariance) / total
    correlation[0] = 1.0
    return float(m * n / max(_geyer(correlation), 1 / np.log10(m * n)))


def _autocovariance(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Autocovariances at lags 0 .. n-1 of every row, each over n."""
    from scipy.fft import irfft, next_fast_len, rfft

    n = values.shape[-1]
    centred = values - values.mean(axis=-1, keepdims=True)
    size = next_fast_len(2 * n)
    power = np.abs(rfft(centred, size, axis=-1)) ** 2
    return np.asarray(irfft(power, size, axis=-1)[..., :n] / n, dtype=np.float64)


def _geyer(correlation: NDArray[np.float64]) -> float:
    """τ̂: sums of neighbouring autocorrelations, positive and not increasing, as far as they go.

    Of the pair that ends the sequence the even term still counts, once, if that pair or the term
    is positive: it lowers the variance of the estimate.
    """
    n_pairs = max((correlation.size - 3) // 2, 0) + 1
    even = correlation[0 : 2 * n_pairs : 2]
    sums = even + correlation[1 : 2 * n_pairs : 2]
    ended = np.flatnonzero(sums <= 0)
    last = int(ended[0]) if ended.size else n_pairs - 1
    kept = np.minimum.accumulate(sums[:last]).sum()
    final = even[last] if even[last] > 0 or sums[last] >= 0 else 0.0
    return float(-1 + 2 * kept + final)
