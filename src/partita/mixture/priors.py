"""Priors of a cluster's mean and precision, and the coordinates in which they are simple.

Two families. *Independent*: mu_k ~ N(mu0, Sigma0) and T_k ~ Wishart(R0, kappa0), a priori
independent, as PReMiuM and the paper have it. *Conjugate*: T_k ~ Wishart(R0, kappa0) and
mu_k | T_k ~ N(mu0, (k0 T_k)^-1). R0 is a scale matrix, E[T] = kappa0 R0. What a prior leaves at
None is computed from the data: mu0 the sample mean, S the sample covariance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import InvalidTypeError, InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SHAPES = ("full", "diagonal", "spherical")
# Beyond it differences of log gamma functions have lost their digits.
MOST_DF = 1e8
# Fourth powers of the data in units of the prior, summed over items, must be finite.
_FAR = 1e60

_ROUNDING = 1e-13  # of the largest value: a spread below it has fewer than nine bits left


@dataclass(frozen=True, eq=False)
class Independent:
    """mu ~ N(mean, mean_covariance), T ~ Wishart(scale, df), independent.

    Parameters
    ----------
    mean : (p,), optional
        mu0; the sample mean if None.
    mean_covariance : (p, p) or (p,), optional
        Sigma0, or its diagonal; if None diag(range_j^2), as PReMiuM computes it.
    scale : (p, p), optional
        R0; if None (p S)^-1. A diagonal T has E[T_jj] = df R0_jj, a spherical one E[T] = df r I
        with 1 / r the mean of 1 / R0_jj; of S its diagonal counts.
    df : float, optional
        kappa0 > p - 1, at most 1e8; p if None (later versions of PReMiuM use p + 2).

    Examples
    --------
    >>> from partita.mixture import Independent
    >>> Independent(df=7)
    Independent(mean=None, mean_covariance=None, scale=None, df=7)
    """

    mean: Any = None
    mean_covariance: Any = None
    scale: Any = None
    df: float | None = None

    def complete(self, X: Floats, shape: str) -> Resolved:
        """Fill in from the data what was left at None."""
        p = X.shape[1]
        spread = _spread(X) if self.mean_covariance is None else np.ones(p)
        # Products of huge columns could overflow; scales are kept apart until they are safe.
        cov = _square("mean_covariance", self.mean_covariance, p, default=np.eye(p))
        inverse = _inverse_scale(self.scale, X, shape, float(p))
        return _resolve(self, X, shape, inverse, spread, cov, None)


@dataclass(frozen=True, eq=False)
class Paper:
    """The prior as the paper prints it: Sigma0 = diag(range_j), R0 = S^-1 / 2, kappa0 = p.

    The range is not squared, so that the prior depends on the units of the data.
    """

    df: float | None = None

    def complete(self, X: Floats, shape: str) -> Resolved:
        """Fill in from the data."""
        p = X.shape[1]
        inverse = _inverse_scale(None, X, shape, 2.0)
        return _resolve(self, X, shape, inverse, np.sqrt(_spread(X)), np.eye(p), None)


@dataclass(frozen=True, eq=False)
class Conjugate:
    """T ~ Wishart(scale, df), mu | T ~ N(mean, (mean_weight T)^-1): normal-inverse-Wishart.

    Parameters
    ----------
    mean : (p,), optional
        mu0; the sample mean if None.
    mean_weight : float
        k0: the prior mean counts as this many items.
    scale : (p, p), optional
        R0; if None (p S)^-1. As for :class:`Independent`.
    df : float, optional
        kappa0 > p - 1; p if None.
    """

    mean: Any = None
    mean_weight: float = 0.05
    scale: Any = None
    df: float | None = None

    def complete(self, X: Floats, shape: str) -> Resolved:
        """Fill in from the data what was left at None."""
        p = X.shape[1]
        weight = validate.real("mean_weight", self.mean_weight, low=0, open_low=True)
        inverse = _inverse_scale(self.scale, X, shape, float(p))
        root = np.sqrt(np.diag(inverse[0])) * inverse[1]
        return _resolve(self, X, shape, inverse, root, np.eye(p), weight)


NAMES: dict[str, type[Independent] | type[Paper] | type[Conjugate]] = {
    "independent": Independent,
    "paper": Paper,
    "conjugate": Conjugate,
}
Prior = Independent | Paper | Conjugate


@dataclass(frozen=True, eq=False)
class Resolved:
    """A prior with every number filled in, in canonical coordinates x -> whiten @ (x - mean)/unit.

    Attributes
    ----------
    x : (n, p)
        The data in those coordinates, where mu ~ N(0, diag(mean_var)).
    mean, unit : (p,)
        Centre and scale of the columns.
    whiten : (p, p)
        Lower triangular; what else makes Sigma0 the identity.
    mean_var : (p,)
        Ones, except for spherical covariances.
    inverse_scale : (p, p)
        R0^-1 in those coordinates.
    df, mean_weight : float
        kappa0; k0, or None for the independent prior.
    """

    x: Floats
    mean: Floats
    unit: Floats
    whiten: Floats
    mean_var: Floats
    inverse_scale: Floats
    df: float
    mean_weight: float | None
    shape: str

    @property
    def log_unit(self) -> float:
        """Log determinant of the map from canonical to given coordinates."""
        return float(np.log(self.unit).sum() - np.log(np.diag(self.whiten)).sum())

    @property
    def scale_size(self) -> int:
        """Numbers in a scale matrix as the core has it: all, or those of a diagonal."""
        p = len(self.mean)
        return p * p if self.shape == "full" else p

    def transform(self, points: Floats) -> Floats:
        """Canonical coordinates of other points."""
        return np.ascontiguousarray(((points - self.mean) / self.unit) @ self.whiten.T)


def named(prior: str | Prior, df: float | None) -> Prior:
    """The prior that a name stands for, with ``df`` put in."""
    if isinstance(prior, str):
        return validate.lookup("prior", prior, NAMES)(df=df)
    if not isinstance(prior, Prior):
        raise InvalidTypeError(
            f"`prior` must be a name ({', '.join(NAMES)}) or an Independent, Paper or Conjugate "
            f"object; got {prior!r}."
        )
    if df is not None:
        raise InvalidValueError("`df` goes with a prior given by name; put it into the object.")
    return prior


def _resolve(
    prior: Any,
    X: Floats,
    shape: str,
    inverse: tuple[Floats, Floats],
    unit: Floats,
    cov: Floats,
    mean_weight: float | None,
) -> Resolved:
    p = X.shape[1]
    mean = _mean(X) if getattr(prior, "mean", None) is None else _vector("mean", prior.mean, p)
    df = float(p) if prior.df is None else float(prior.df)
    least = p - 1 if shape == "full" else 0
    validate.real("df", df, low=least, high=MOST_DF, open_low=True)
    if shape != "full" and np.any(cov != np.diag(np.diag(cov))):
        raise InvalidValueError(
            f"`mean_covariance` must be diagonal when `covariance` is {shape!r}."
        )
    if shape == "spherical":
        # One unit for all columns: a sphere must stay one.
        mean_var = (unit / unit.max()) ** 2 * np.diag(cov)
        unit, whiten = np.full(p, unit.max()), np.eye(p)
    else:
        mean_var = np.ones(p)
        whiten = np.linalg.inv(np.linalg.cholesky(cov))
    ratio = inverse[1] / unit
    scaled = whiten @ (inverse[0] * np.outer(ratio, ratio)) @ whiten.T
    if shape != "full":
        scaled = np.diag(np.diag(scaled))
    if shape == "spherical":
        scaled = np.eye(p) * np.trace(scaled) / p
    draft = Resolved(X, mean, unit, whiten, mean_var, scaled, df, mean_weight, shape)
    with np.errstate(over="ignore", invalid="ignore"):
        x = draft.transform(X)
    diagonal = np.diag(scaled)
    if not (np.abs(x).max() < _FAR and diagonal.max() < _FAR**2 and diagonal.min() > _FAR**-2):
        raise InvalidValueError(
            f"`X` and the prior must be within a factor of {_FAR:.0e} of each other, or sums of "
            "squares overflow; give the prior in the units of the data."
        )
    return Resolved(**{**draft.__dict__, "x": x})


def _mean(X: Floats) -> Floats:
    top = np.abs(X).max(axis=0)
    top[top == 0] = 1.0
    return np.asarray((X / top).mean(axis=0) * top)


def _spread(X: Floats) -> Floats:
    """The range of every column, half at a time so that it cannot overflow."""
    _needs_rows(X)
    spread = X.max(axis=0) / 2 - X.min(axis=0) / 2
    largest = np.abs(X).max(axis=0)
    flat = np.flatnonzero(spread == 0)
    if flat.size:
        raise InvalidValueError(
            f"`X` must have no constant columns; got {flat.size}: {_listed(flat)}. "
            "Drop them, or give a prior whose scales do not come from the data."
        )
    lost = np.flatnonzero(spread <= _ROUNDING * largest)
    if lost.size:
        raise InvalidValueError(
            f"`X` must have columns whose values differ by more than their rounding; got "
            f"{lost.size} that do not: {_listed(lost)}. Subtract a typical value from each before "
            "they are rounded."
        )
    return np.asarray(2.0 * spread)


def _inverse_scale(scale: Any, X: Floats, shape: str, factor: float) -> tuple[Floats, Floats]:
    """R0^-1 as a matrix M and column units u, meaning M_ij u_i u_j."""
    p = X.shape[1]
    if scale is not None:
        matrix = _square("scale", scale, p, default=None)
        if shape != "full":
            # A diagonal T has expectation df R0_jj: R0's own diagonal, not that of its inverse.
            matrix = np.diag(np.diag(matrix))
        return np.asarray(np.linalg.inv(matrix), np.float64), np.ones(p)
    unit = _spread(X)
    centred = X / unit - _mean(X / unit)
    S = centred.T @ centred / (X.shape[0] - 1)
    if shape == "full":
        values = np.linalg.eigvalsh(S / np.sqrt(np.outer(np.diag(S), np.diag(S))))
        if values[0] <= 1e-12 * p:
            rank = int((values > 1e-12 * p).sum())
            raise InvalidValueError(
                f"`X` has a singular covariance matrix (rank {rank} of {p} columns, "
                f"{X.shape[0]} rows), and full covariances need its inverse. Drop or combine "
                "columns, use covariance='diagonal', or give the prior's `scale`."
            )
    return np.asarray(factor * S, np.float64), unit


def _needs_rows(X: Floats) -> None:
    if X.shape[0] < 2:
        raise InvalidValueError(
            "`X` must have at least two rows for a prior computed from the data; got 1. "
            "Give every number of the prior to sample a single row."
        )


def _vector(name: str, value: Any, p: int) -> Floats:
    array = np.asarray(value, dtype=np.float64)
    if array.shape != (p,) or not np.isfinite(array).all():
        raise InvalidValueError(
            f"`{name}` must be one finite number for each of the {p} columns; "
            f"got shape {array.shape}."
        )
    return array


def _square(name: str, value: Any, p: int, default: Floats | None) -> Floats:
    """A positive definite matrix, from a matrix or its diagonal."""
    if value is None and default is not None:
        return default
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0 and p == 1:
        array = array.reshape(1, 1)
    if array.ndim == 1:
        array = np.diag(_vector(name, array, p))
    good = array.shape == (p, p) and np.isfinite(array).all() and np.allclose(array, array.T)
    if not good or np.linalg.eigvalsh(array)[0] <= 0:
        raise InvalidValueError(
            f"`{name}` must be a symmetric positive definite {p} x {p} matrix; "
            f"got shape {array.shape}."
        )
    return array


def _listed(indices: Any) -> str:
    shown = ", ".join(str(int(i)) for i in indices[:5])
    return shown + (", ..." if len(indices) > 5 else "")
