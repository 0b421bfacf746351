"""Where the restarts begin: at random, at given factors, at the leading eigenvectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.devices import to_host
from partita.errors import InvalidTypeError, InvalidValueError
from partita.nmf._common import Factors
from partita.nmf._target import like

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf._common import Model, Target


def starts(
    target: Target, model: Model, rank: int, n_init: int, init: Any, seed: int
) -> list[Factors]:
    """Return one set of factors for each restart, on the target's device.

    Restart r at rank K draws W, then H, then the offset from a stream of its own, so restarts
    share W and H across models, and adding a restart or a rank changes no other.
    """
    high = max(_largest(target), 1.0)
    if isinstance(init, str):
        validate.choice("init", init, ("random", "nndsvd"))
    given = None
    if not isinstance(init, str):
        given = _checked(init, target.n_items, rank)
    elif init == "nndsvd":
        given = (*nndsvd(target, rank), None)
    found = []
    for r in range(n_init if given is None else 1):
        random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(rank, r)))

        def draw(shape: tuple[int, ...], top: float, random: Any = random) -> Any:
            return like(target, random.uniform(0.0, top, size=shape))

        if given is None:
            W, H = draw((target.n_items, rank), high), draw((rank, target.n_items), high)
            found.append(model.start(W, H, draw))
            continue
        W, H, offset = (None if x is None else like(target, x) for x in given)
        begun = model.start(W, H, draw)
        if begun.offset is not None and offset is not None:
            begun = begun._replace(offset=offset)
        found.append(begun)
    return found


def _largest(target: Target) -> float:
    return 1.0 if target.array is None else float(target.xp.max(target.array))


def _checked(init: Any, n: int, rank: int) -> tuple[Any, Any, Any]:
    if not isinstance(init, tuple | list) or len(init) not in (2, 3):
        raise InvalidTypeError(
            '`init` must be "random", "nndsvd", (W, H) or (W, H, offset); '
            f"got {type(init).__name__}."
        )
    shapes = {"W": (n, rank), "H": (rank, n), "offset": (n,)}
    found: list[Any] = []
    for (name, shape), value in zip(shapes.items(), (*init, None), strict=False):
        if value is None:
            found.append(None)
            continue
        array = np.asarray(to_host(value), dtype=np.float64)
        if array.shape != shape:
            raise InvalidValueError(
                f"`init` must give {name} the shape {shape} at rank {rank}; got {array.shape}."
            )
        if not np.isfinite(array).all() or (array < 0).any():
            raise InvalidValueError(
                f"`init` must give {name} finite numbers that are not negative."
            )
        found.append(array)
    return found[0], found[1], found[2] if len(found) > 2 else None


def nndsvd(target: Target, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The larger one-signed part of each leading eigenvector (Boutsidis & Gallopoulos 2008).

    Zeros become a hundredth of the mean, since a multiplicative update never leaves zero.
    """
    if target.array is None:
        leading = target.low_rank(min(rank + 12, target.n_items))
        values, vectors = leading.values[:rank], leading.vectors[:rank]
    else:
        values, vectors = np.linalg.eigh(to_host(target.array).astype(np.float64))
        top = np.argsort(-np.abs(values), kind="stable")[:rank]
        values, vectors = values[top], vectors[:, top].T
    H = np.zeros((rank, target.n_items))
    for k, (value, vector) in enumerate(zip(values, vectors, strict=True)):
        up, down = np.maximum(vector, 0.0), np.maximum(-vector, 0.0)
        part = up if up @ up >= down @ down else down
        H[k] = np.sqrt(abs(value)) * part
    mean = H.mean()
    H[H == 0] = mean / 100 if mean > 0 else 1e-2
    return np.ascontiguousarray(H.T), H
