"""The data of the simulation: the paper's eight Gaussian mixtures, and other readings of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import partita as pt
from partita.errors import InvalidValueError

#: Separated, balanced, spherical: T or F each. The paper calls them a-TTT to h-FFF.
NAMES = ("TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT", "FFF")
PRIORS = ("independent", "paper")
#: "gibbs" reassigns one item at a time and nothing else.
MOVES = {"default": None, "gibbs": pt.mixture.Moves(split_merge=0, reallocate=0)}
STARTS = ("kmeans", "one", "singletons", "random")

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


@dataclass(frozen=True, eq=False)
class Mixture:
    """Four Gaussians in the plane with fixed sizes.

    Parameters
    ----------
    means : ndarray, shape (4, 2)
    covariances : ndarray, shape (4, 2, 2)
    sizes : tuple of int
    """

    means: NDArray[np.float64]
    covariances: NDArray[np.float64]
    sizes: tuple[int, ...]

    @property
    def truth(self) -> NDArray[np.int64]:
        """The component of each item."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def sample(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return one data set, shape (n, 2), items in the order of their components."""
        each = zip(self.means, self.covariances, self.sizes, strict=True)
        return np.concatenate([rng.multivariate_normal(*one) for one in each])

    def classify(self, data: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the likeliest component of each item for one who knows all the parameters.

        No method that has to learn the parameters can be expected to do better on average, so
        what this scores against the truth is a ceiling.
        """
        apart = data[:, None, :] - self.means
        precisions = np.linalg.inv(self.covariances)
        distance = np.einsum("nki,kij,nkj->nk", apart, precisions, apart)
        volume = np.linalg.slogdet(self.covariances)[1]
        return np.asarray(np.argmax(np.log(self.sizes) - 0.5 * (volume + distance), axis=1))


def mixture(name: str, reading: str = "printed") -> Mixture:
    """Return one of the eight, the paper's table of settings read in one way.

    Parameters
    ----------
    name : str
    reading : str
        ``"printed"``, or some of these joined by +: ``scale=X`` multiplies the non-spherical
        covariances, ``correlation=X`` their off-diagonal entries, ``order=3021`` says which
        printed one each component has, ``precision`` takes them for precisions, and ``overlap=X``
        is the distance of overlapping means from either axis, printed as 1.5.

    Examples
    --------
    >>> mixture("FFT").sizes, mixture("FFT").means[0].tolist()
    ((150, 50, 100, 30), [1.5, 1.5])
    """
    if name not in NAMES:
        raise InvalidValueError(
            f"`configurations` must be among {', '.join(NAMES)}; got {name!r}. Choose one of these."
        )
    words = dict(part.partition("=")[::2] for part in reading.split("+") if part != "printed")
    precision = words.pop("precision", None)
    try:
        order = [int(k) for k in words.pop("order", "0123")]
        scale, turn, overlap = (
            float(words.pop(key, usual))
            for key, usual in (("scale", 1), ("correlation", 1), ("overlap", 1.5))
        )
        known = not words and precision in (None, "") and sorted(order) == [0, 1, 2, 3]
        if not (known and 0 < scale < np.inf and abs(turn) <= 1 and 0 < overlap < np.inf):
            raise ValueError(reading)
    except ValueError:
        raise InvalidValueError(
            "`reading` must be 'printed' or some of scale=X, correlation=X, order=3021 (each of 0 "
            f"to 3 once), overlap=X and precision, joined by +; got {reading!r}."
        ) from None
    separate, balanced, spherical = tuple(name)
    at = 3.0 if separate == "T" else overlap
    shapes = _COVARIANCES * np.where(np.eye(2, dtype=bool), 1.0, turn)
    shapes = scale * (np.linalg.inv(shapes) if precision is not None else shapes)[order]
    round_ones = np.broadcast_to(np.eye(2), (4, 2, 2))
    return Mixture(at * _CORNERS, round_ones if spherical == "T" else shapes, _SIZES[balanced])


def data(
    name: str, number: int, seed: int, reading: str = "printed"
) -> tuple[Mixture, NDArray[np.float64], int, int]:
    """Return a mixture, the data of one replicate, and the seeds of its draws and methods."""
    chosen = mixture(name, reading)
    words = np.random.SeedSequence([seed, NAMES.index(name), number]).generate_state(3)
    for_data, for_draws, for_methods = map(int, words)
    return chosen, chosen.sample(np.random.default_rng(for_data)), for_draws, for_methods
