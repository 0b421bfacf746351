"""What an estimate is, and how it is kept in a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, losses, search, validate
from partita.errors import FileError, PartitaError
from partita.io import Layout, Shown
from partita.partitions import canonical

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from numpy.typing import NDArray

    from partita.losses import Loss
    from partita.search import Search
    from partita.typing import FloatArray, IntArray, Path

_FORMAT = 1
_STEP_ARRAYS = ("labels", "memberships", "restart_labels", "restart_objectives")
_DAMAGED = (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
_NOT_KEPT = object()  # stands for a field that JSON does not keep
_WHAT = "an estimate that partita saved"
_LAYOUTS = {
    "about": Layout("U", (), required=True),
    "labels": Layout("iu", ("items",), required=True),
    "memberships": Layout("f", ("items", "*")),
    "membership_spread": Layout("f", ("items",)),
    "history": Layout("f", ("*", 3)),
    "item_names": Layout("U", ("items",)),
    "path/*/labels": Layout("iu", ("items",)),
    "path/*/memberships": Layout("f", ("items", "*")),
    "path/*/restart_labels": Layout("iu", ("*", "*")),
    "path/*/restart_objectives": Layout("f", ("*",)),
}


@dataclass(frozen=True, eq=False)
class Step:
    """One row of an estimate's path: the best that was found at one rank.

    Parameters
    ----------
    rank : int
        The number of clusters that was asked for.
    n_clusters : int
        The number that came out.
    expected_loss : float
    objective : float, optional
        The search's own objective, such as NMF's.
    labels : ndarray, shape (n,), optional
        None where keeping the labels of every step would take too much memory.
    memberships : ndarray, shape (n, rank), optional
    restart_labels : ndarray, shape (n_restarts, n), optional
        Of the landmarks alone where the restarts were of them (``info["landmarks"]``).
    restart_objectives : ndarray, shape (n_restarts,), optional
    """

    rank: int
    n_clusters: int
    expected_loss: float
    objective: float | None = None
    labels: IntArray | None = None
    memberships: FloatArray | None = None
    restart_labels: IntArray | None = None
    restart_objectives: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Estimate(Shown):
    """The partition to report, and how it was found.

    Parameters
    ----------
    labels : ndarray of int64, shape (n,)
        Canonical: clusters are numbered 0, 1, ... by first appearance.
    expected_loss : float
        The expected ``loss`` of ``labels``.
    loss : Loss
        What was minimised; for a method without a loss (``medv``), what is reported.
    search : Search
        What supplied the winning candidate. Read from a file, the repr of one that partita does
        not know; the same goes for ``loss``.
    memberships : ndarray, shape (n, K), optional
        Column k belongs to label k.
    membership_spread : ndarray, shape (n,), optional
        How far a factorisation leaves each item's memberships open
        (:attr:`partita.Factorization.membership_spread`).
    path : tuple of Step
        One row for each rank that the winning search tried, if it goes by rank.
    seed : int
        Given as ``rng``, it gives this estimate again.
    item_names : tuple of str, optional
    info : mapping
        What the search had to say about the winner; ``info["evidence"]`` is how the draws were gone
        over, whether the similarity was a matrix, and why.
    history : ndarray, shape (n_kept, 3), optional
        How the search went: seconds since it began, the loss of what it came upon then, and the
        share of the draws which that loss was taken on.
    """

    labels: NDArray[np.int64]
    expected_loss: float
    loss: Loss | str
    search: Search | str
    memberships: FloatArray | None = None
    path: tuple[Step, ...] = ()
    seed: int = 0
    item_names: tuple[str, ...] | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    history: FloatArray | None = None
    membership_spread: FloatArray | None = None

    @cached_property
    def n_clusters(self) -> int:
        """The number of clusters, K."""
        return int(self.labels.max()) + 1

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of items in each cluster, shape (K,)."""
        return np.bincount(self.labels, minlength=self.n_clusters)

    @property
    def loss_name(self) -> str:
        """The public name of the loss, or its repr."""
        return self.loss if isinstance(self.loss, str) else losses.name_of(self.loss)

    @property
    def search_name(self) -> str:
        """The public name of the search, or its repr."""
        return self.search if isinstance(self.search, str) else search.name_of(self.search)

    def __repr__(self) -> str:
        return (
            f"Estimate({validate.count_text(self.n_clusters, 'cluster')} of "
            f"{validate.count_text(self.labels.size, 'item')}, expected "
            f"{self.loss_name} {self.expected_loss:.6g}, search {self.search_name})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item: its cluster and, where there are any, its memberships."""
        import pandas as pd

        columns: dict[str, Any] = {"cluster": self.labels}
        if self.memberships is not None:
            for k in range(self.memberships.shape[1]):
                columns[f"membership_{k}"] = self.memberships[:, k]
        return pd.DataFrame(columns, index=io.item_index(self.item_names, self.labels.size))

    def to_xarray(self) -> xr.Dataset:
        """Return labels, sizes and memberships with the dimensions ``item`` and ``cluster``."""
        variables: dict[str, Any] = {
            "labels": (["item"], self.labels),
            "sizes": (["cluster"], self.sizes),
        }
        if self.memberships is not None:
            # Those that go by rank may have more columns than there are clusters.
            columns = "cluster" if self.memberships.shape[1] == self.n_clusters else "factor"
            variables["memberships"] = (["item", columns], self.memberships)
        if self.membership_spread is not None:
            variables["membership_spread"] = (["item"], self.membership_spread)
        about = {"expected_loss": self.expected_loss, "loss": self.loss_name}
        about |= {"search": self.search_name, "seed": str(self.seed)}
        return io.to_dataset(variables, about, self.item_names)

    def save(self, path: Path) -> None:
        """Write everything to an ``.npz`` file that :meth:`load` reads back; no pickle."""
        arrays: dict[str, NDArray[Any]] = {"labels": self.labels}
        if self.memberships is not None:
            arrays["memberships"] = self.memberships
        if self.membership_spread is not None:
            arrays["membership_spread"] = self.membership_spread
        if self.history is not None:
            arrays["history"] = self.history
        if self.item_names is not None:
            arrays["item_names"] = np.array(self.item_names, dtype=np.str_)
        for i, step in enumerate(self.path):
            for name in _STEP_ARRAYS:
                value = getattr(step, name)
                if value is not None:
                    arrays[f"path/{i}/{name}"] = value
        about = {
            "format": _FORMAT,
            "expected_loss": self.expected_loss,
            "loss": _describe(self.loss),
            "search": _describe(self.search),
            "seed": str(self.seed),
            "info": {k: v for k, v in self.info.items() if _is_plain(v)},
            "path": [
                {
                    "rank": step.rank,
                    "n_clusters": step.n_clusters,
                    "expected_loss": step.expected_loss,
                    "objective": step.objective,
                }
                for step in self.path
            ],
        }
        arrays["about"] = np.array(json.dumps(about))
        io.write_npz(path, arrays)

    @classmethod
    def load(cls, path: Path) -> Estimate:
        """Read what :meth:`save` wrote."""
        arrays = io.read_npz(path, _LAYOUTS, what=_WHAT)
        try:
            about = json.loads(str(arrays["about"]))
            if about["format"] != _FORMAT:
                raise FileError(f"{path} was written by another version of partita.")
            steps = []
            for i, row in enumerate(about["path"]):
                found: dict[str, Any] = {n: arrays.get(f"path/{i}/{n}") for n in _STEP_ARRAYS}
                steps.append(Step(**row, **found))
            names = arrays.get("item_names")
            made = cls(
                labels=arrays["labels"],
                expected_loss=float(about["expected_loss"]),
                loss=_restore(about["loss"], losses),
                search=_restore(about["search"], search),
                memberships=arrays.get("memberships"),
                path=tuple(steps),
                seed=int(about["seed"]),
                item_names=None if names is None else tuple(names.tolist()),
                info=dict(about["info"]),
                history=arrays.get("history"),
                membership_spread=arrays.get("membership_spread"),
            )
        except _DAMAGED as error:
            raise FileError(f"{path} does not hold {_WHAT}.") from error
        _check(made, path)
        return made


def _check(made: Estimate, path: Path) -> None:
    """Refuse labels that are not canonical, and memberships and steps that do not fit them."""
    if not made.labels.size or not np.array_equal(canonical(made.labels), made.labels):
        raise FileError(f"{path} does not hold {_WHAT}: labels are not numbered in order.")
    steps = [(s.labels, s.memberships) for s in made.path if s.labels is not None]
    for labels, memberships in [(made.labels, made.memberships), *steps]:
        most = labels.size if memberships is None else memberships.shape[1]
        if labels.min() < 0 or labels.max() >= most:
            raise FileError(f"{path} does not hold {_WHAT}: memberships lack a cluster.")
    of_steps = ((s.rank, s.n_clusters, s.expected_loss, s.objective or 0.0) for s in made.path)
    plain = all(isinstance(value, int | float) for row in of_steps for value in row)
    if not plain or not all(map(_is_plain, made.info.values())):
        raise FileError(f"{path} does not hold {_WHAT}: what it says of itself is not plain.")


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _describe(value: Any) -> dict[str, Any]:
    """A loss or a search as its class name and fields, or as its repr if JSON does not keep them.

    Fields may be losses and searches themselves.
    """
    if is_dataclass(value):
        content = {f.name: _field(getattr(value, f.name)) for f in fields(value)}
        if _NOT_KEPT not in content.values():
            return {"class": type(value).__name__, "fields": content, "repr": repr(value)}
    return {"repr": value if isinstance(value, str) else repr(value)}


def _field(value: Any) -> Any:
    """A field as JSON keeps it: a tuple as a list, a loss or a search as its description.

    Labels are a list under their own name.
    """
    if isinstance(value, list | np.ndarray):
        return _as_list(value)
    if isinstance(value, tuple):
        parts = [_field(one) for one in value]
        return _NOT_KEPT if _NOT_KEPT in parts else parts
    if _is_plain(value):
        return value
    about = _describe(value)
    return about if "class" in about else _NOT_KEPT


def _as_list(value: Any) -> Any:
    """Labels, as those of a start, in a list of numbers; nothing else is kept."""
    try:
        return {"labels": validate.labels("labels", value).tolist()}
    except PartitaError:
        return _NOT_KEPT


def _restore(about: dict[str, Any], room: Any) -> Any:
    """The value that was described, if its class is one of the room's, else its repr."""
    name = str(about.get("class"))
    if name in room.__all__ and is_dataclass(getattr(room, name)):
        content = {k: _restored(v, room) for k, v in about["fields"].items()}
        return getattr(room, name)(**content)
    return about["repr"]


def _restored(value: Any, room: Any) -> Any:
    if isinstance(value, list):
        return tuple(_restored(one, room) for one in value)
    if isinstance(value, dict) and set(value) == {"labels"}:
        if not all(type(one) is int for one in value["labels"]):
            raise ValueError("labels must be whole numbers")
        return np.array(value["labels"], dtype=np.int64)
    return _restore(value, room) if isinstance(value, dict) else value
