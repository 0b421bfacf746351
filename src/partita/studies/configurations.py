"""The eight Gaussian mixtures of the paper's simulation (its table of settings), and rereadings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from partita import validate

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

    def covariances(self) -> FloatArray:
        """Return the four non-spherical covariances, shape (4, 2, 2)."""
        bent = _COVARIANCES * np.where(np.eye(2, dtype=bool), 1.0, self.correlation)
        bent = np.linalg.inv(bent) if self.precision else bent
        return self.scale * bent[list(self.order)]


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
    separate, balanced, spherical = tuple(validate.choice("name", name, NAMES))
    at = 3.0 if separate == "T" else reading.overlap
    round_ones = np.broadcast_to(np.eye(2), (4, 2, 2))
    shapes = round_ones if spherical == "T" else reading.covariances()
    return Configuration(at * _CORNERS, shapes, _SIZES[balanced])
