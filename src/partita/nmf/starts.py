"""Where the restarts begin: at random, at given factors, at the leading eigenvectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.devices import to_host
from partita.errors import InvalidTypeError, InvalidValueError
from partita.nmf.model import Factors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf.model import Model


def starts(
    model: Model, rank: int, n_init: int, init: Any, seed: int, n_items: int,
    matrix: Callable[[], Any], high: float = 1.0,
) -> list[Factors]:  # fmt: skip
    """Return one set of factors for each restart, on the host.

    Restart r at rank K draws W, then H, then the offset from a stream of its own, so restarts
    share W and H across models, and adding a restart or a rank changes no other. ``matrix()`` is
    the similarity, for ``"nndsvd"``.
    """
    if isinstance(init, str):
        validate.choice("init", init, ("random", "nndsvd"))
    given = None
    if not isinstance(init, str):
        given = _checked(init, rank)
    elif init == "nndsvd":
        given = (*nndsvd(np.asarray(matrix(), dtype=np.float64), rank), None)
    found = []
    for r in range(n_init if given is None else 1):
        random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(rank, r)))

        def draw(shape: Any, top: float, random: Any = random) -> NDArray[np.float64]:
            return np.asarray(random.uniform(0.0, top, size=shape))

        W, H, offset = given or (draw((n_items, rank), high), draw((rank, n_items), high), None)
        begun = model.start(W, H, draw)
        if begun.offset is not None and offset is not None:
            begun = begun._replace(offset=offset)
        found.append(begun)
    return found


def _checked(init: Any, rank: int) -> tuple[Any, Any, Any]:
    if not isinstance(init, tuple | list) or len(init) not in (2, 3):
        raise InvalidTypeError(
            '`init` must be "random", "nndsvd", (W, H) or (W, H, offset); '
            f"got {type(init).__name__}."
        )
    found = [None if x is None else np.asarray(to_host(x), dtype=np.float64) for x in init]
    n = found[0].shape[0] if found[0] is not None and found[0].ndim else 0
    shapes = {"W": (n, rank), "H": (rank, n), "offset": (n,)}
    for (name, shape), array in zip(shapes.items(), found, strict=False):
        if array is None:
            continue
        if array.shape != shape:
            raise InvalidValueError(
                f"`init` must give {name} the shape {shape} at rank {rank}; got {array.shape}."
            )
        if not np.isfinite(array).all() or (array < 0).any():
            raise InvalidValueError(
                f"`init` must give {name} finite numbers that are not negative."
            )
    return found[0], found[1], found[2] if len(found) > 2 else None


def nndsvd(
    matrix: NDArray[np.float64], rank: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The larger one-signed part of each leading eigenvector (Boutsidis & Gallopoulos 2008).

    Zeros become a hundredth of the mean, since a multiplicative update never leaves zero.
    """
    values, vectors = np.linalg.eigh(matrix)
    H = np.zeros((rank, matrix.shape[0]))
    for k, at in enumerate(np.argsort(-np.abs(values), kind="stable")[:rank]):
        up, down = np.maximum(vectors[:, at], 0.0), np.maximum(-vectors[:, at], 0.0)
        H[k] = np.sqrt(abs(values[at])) * (up if up @ up >= down @ down else down)
    mean = H.mean()
    H[H == 0] = mean / 100 if mean > 0 else 1e-2
    return np.ascontiguousarray(H.T), H
