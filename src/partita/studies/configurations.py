"""The eight Gaussian mixtures of the paper's simulation (its table of settings), and rereadings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import InvalidValueError

if TYPE_CHECKING:
    from partita.typing import FloatArray, IntArray

NAMES = ("TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT", "FFF")

_CORNERS = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
_SIZES = {"T": (100, 100, 100, 100), "F": (150, 50, 100, 30)}
_COVARIANCES = np.array(
    [
        [[2.0, -0.8], [-0.8, 1.0]],
        [[1.0, 0.8], [0.8, 2.0]],
        [[1.0, 0.4], [0.4, 1.0]],
        [[2.0, 0.0], [0.0, 2.0]],
    ]
)


@dataclass(frozen=True)
class Reading:
    """How the printed table is read; the defaults are what is printed.

    Parameters
    ----------
    scale : float
        Multiplies the non-spherical covariances.
    correlation : float
        Multiplies their off-diagonal entries: -1 turns every ellipse the other way.
    order : tuple of int
        ``order[k]`` is the printed covariance that component k has.
    overlap : float
        Distance of the overlapping means from either axis, printed as 1.5.
    precision : bool
        The printed matrices are precisions.
    """

    scale: float = 1.0
    correlation: float = 1.0
    order: tuple[int, ...] = (0, 1, 2, 3)
    overlap: float = 1.5
    precision: bool = False

    @classmethod
    def parse(cls, text: str) -> Reading:
        """Return the reading that ``str`` tells: what differs from what is printed, in short.

        Examples
        --------
        >>> Reading.parse("precision+order=3021"), str(Reading(scale=0.6, correlation=-1.0))
        (Reading(scale=1.0, correlation=1.0, order=(3, 0, 2, 1), overlap=1.5, precision=True),
         'scale=0.6+correlation=-1')
        """
        words: dict[str, Any] = {}
        for part in () if text == "printed" else text.split("+"):
            key, _, value = part.partition("=")
            try:
                words[key] = _PARSERS[key](value)
            except (KeyError, ValueError):
                raise InvalidValueError(
                    "`reading` must be 'printed' or some of scale=X, correlation=X, order=3021 "
                    f"(each of 0 to 3 once), overlap=X and precision, joined by +; got {text!r}."
                ) from None
        return cls(**words)

    def __str__(self) -> str:
        told = []
        for item in fields(self):
            value = getattr(self, item.name)
            if value != item.default:
                shown = "".join(map(str, value)) if item.name == "order" else f"{value:g}"
                told.append(item.name if item.name == "precision" else f"{item.name}={shown}")
        return "+".join(told) or "printed"

    def covariances(self) -> FloatArray:
        """Return the four non-spherical covariances, shape (4, 2, 2)."""
        bent = _COVARIANCES * np.where(np.eye(2, dtype=bool), 1.0, self.correlation)
        bent = np.linalg.inv(bent) if self.precision else bent
        return self.scale * bent[list(self.order)]


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < np.inf:
        raise ValueError(text)
    return value


def _order(text: str) -> tuple[int, ...]:
    if sorted(text) != list("0123"):
        raise ValueError(text)
    return tuple(map(int, text))


def _correlation(text: str) -> float:
    value = float(text)
    if not -1 <= value <= 1:
        raise ValueError(text)
    return value


def _flag(text: str) -> bool:
    if text:
        raise ValueError(text)
    return True


_PARSERS: dict[str, Callable[[str], Any]] = {
    "scale": _positive,
    "correlation": _correlation,
    "order": _order,
    "overlap": _positive,
    "precision": _flag,
}

PRINTED = Reading()


@dataclass(frozen=True, eq=False)
class Configuration:
    """A mixture of four Gaussians in the plane with fixed sizes.

    Parameters
    ----------
    means : ndarray, shape (4, 2)
    covariances : ndarray, shape (4, 2, 2)
    sizes : tuple of int
    """

    means: FloatArray
    covariances: FloatArray
    sizes: tuple[int, ...]

    @property
    def truth(self) -> IntArray:
        """The component of each item."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Return one data set, shape (n, 2), items in the order of their components."""
        return np.concatenate(
            [
                rng.multivariate_normal(mean, covariance, size)
                for mean, covariance, size in zip(
                    self.means, self.covariances, self.sizes, strict=True
                )
            ]
        )

    def classify(self, data: FloatArray) -> IntArray:
        """Return the likeliest component of each item for one who knows all the parameters.

        No method that has to learn the parameters can be expected to do better on average, so
        what this scores against the truth is a ceiling.
        """
        apart = data[:, None, :] - self.means
        precisions = np.linalg.inv(self.covariances)
        distance = np.einsum("nki,kij,nkj->nk", apart, precisions, apart)
        volume = np.linalg.slogdet(self.covariances)[1]
        scores = np.log(self.sizes) - 0.5 * (volume + distance)
        return np.asarray(np.argmax(scores, axis=1))


def check(names: tuple[str, ...]) -> None:
    """Refuse a configuration that is none of the eight."""
    for name in names:
        validate.choice("configuration", name, NAMES)


def configuration(name: str, reading: Reading = PRINTED) -> Configuration:
    """Return the mixture of one triplet (separateness, balancedness, sphericity).

    Parameters
    ----------
    name : str
        Three letters, T or F each, such as "TTF".
    reading : Reading
        How the paper's table is read.

    Examples
    --------
    >>> configuration("FFT").sizes, configuration("FFT").means[0].tolist()
    ((150, 50, 100, 30), [1.5, 1.5])
    """
    separate, balanced, spherical = tuple(validate.choice("configuration", name, NAMES))
    at = 3.0 if separate == "T" else reading.overlap
    round_ones = np.broadcast_to(np.eye(2), (4, 2, 2))
    shapes = round_ones if spherical == "T" else reading.covariances()
    return Configuration(at * _CORNERS, shapes, _SIZES[balanced])
