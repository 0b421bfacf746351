"""R's ``.rds`` and ``.RData``, inside the sandbox: matrices, data frames, lists of these.

The file is parsed by the package ``rdata`` and its plain vectors are taken as they are; no class
is converted and nothing in the file is called.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdata import parser

from partita.errors import FileError
from partita.io._choose import CHAIN_DIMS, DRAW_DIMS

_DEEPEST = 6
_MOST = 10_000
_MISSING_INT = -(2**31)


class RdataReader:
    """The vectors of one file, by the R expression that gives them, such as ``fit$clust``."""

    def __init__(self, path: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            root = parser.parse_file(path, extension=None).object
        self._arrays: dict[str, tuple[NDArray[Any], list[str] | None, str]] = {}
        for name, node in _roots(root):
            self._visit(name, node, 0)

    def _visit(self, name: str, node: Any, depth: int) -> None:
        if len(self._arrays) > _MOST:
            raise FileError(f"it holds more than {_MOST} objects.")
        kind, attributes = _type(node), _attributes(node)
        classes = _strings(attributes.get("class"))
        if kind == "VEC":
            if "mcmc.list" in classes:
                names = _column_names(node.value[0]) if node.value else None
                self._chains(name, [_matrix(part) for part in node.value], names)
            elif "data.frame" in classes:
                self._frame(name, node, _strings(attributes.get("names")))
            elif depth < _DEEPEST:
                self._list(name, node, _strings(attributes.get("names")), depth)
            return
        array = _matrix(node)
        if array is None:
            return
        axes = ["iteration", "chain", "variable"] if "draws_array" in classes else _axis_names(node)
        array, names = _ordered(array, axes), _column_names(node, axes)
        if array.ndim == 3 and CHAIN_DIMS.intersection(axes):
            self._chains(name, list(array), names)
            return
        self._arrays[name] = (array, names if array.ndim > 1 else None, "")

    def _list(self, name: str, node: Any, names: list[str], depth: int) -> None:
        for i, part in enumerate(node.value):
            below = names[i] if i < len(names) and names[i] else str(i + 1)
            self._visit(f"{name}${below}" if name else below, part, depth + 1)

    def _frame(self, name: str, node: Any, names: list[str]) -> None:
        columns = [_factor(part) for part in node.value]
        good = [i for i, column in enumerate(columns) if column is not None and column.ndim == 1]
        kept = [columns[i] for i in good]
        if kept and len({column.shape for column in kept if column is not None}) == 1:
            named = [names[i] if i < len(names) else str(i + 1) for i in good]
            stacked = np.stack([column for column in kept if column is not None], axis=1)
            self._arrays[name] = (stacked, named, "")

    def _chains(
        self, name: str, parts: Sequence[NDArray[Any] | None], names: list[str] | None
    ) -> None:
        """Chains side by side; where columns have names, one below the other with a number."""
        kept = [part for part in parts if part is not None and part.ndim == 2]
        if not kept or len(kept) < len(parts) or len({part.shape for part in kept}) > 1:
            return
        if names is None:
            self._arrays[name] = (np.stack(kept), None, "chains")
            return
        numbers = np.repeat(np.arange(len(kept)), len(kept[0]))[:, None]
        self._arrays[name] = (np.hstack([np.vstack(kept), numbers]), [*names, ".chain"], "")

    def describe(self) -> dict[str, Any]:
        """The arrays: name, shape, NumPy kind, bytes of a value, column names, layout."""
        return {
            "entries": [
                (name, array.shape, array.dtype.kind, array.dtype.itemsize, names, layout)
                for name, (array, names, layout) in self._arrays.items()
            ]
        }

    def read(self, request: Mapping[str, Any]) -> NDArray[Any]:
        """One array, with rows first as R prints it."""
        return np.ascontiguousarray(self._arrays[str(request["name"])][0])


def _type(node: Any) -> str:
    return str(node.info.type.name)


def _roots(root: Any) -> Iterator[tuple[str, Any]]:
    """The objects of an ``.RData``, by name, or the one of an ``.rds``, which has none."""
    if _type(root) != "LIST":
        yield "", root
        return
    for _ in range(_MOST):
        if _type(root) != "LIST":
            return
        tag = root.tag
        yield (_symbol(tag) if tag is not None else ""), root.value[0]
        root = root.value[1]


def _symbol(node: Any) -> str:
    if node.referenced_object is not None:
        node = node.referenced_object
    value = node.value
    value = value.value if hasattr(value, "value") else value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _attributes(node: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    cell = node.attributes
    for _ in range(_MOST):
        if cell is None or _type(cell) != "LIST":
            break
        found[_symbol(cell.tag)] = cell.value[0]
        cell = cell.value[1]
    return found


def _strings(node: Any) -> list[str]:
    if node is None or _type(node) != "STR":
        return []
    return ["" if one.value is None else one.value.decode("utf-8", "replace") for one in node.value]


def _vector(node: Any) -> NDArray[Any] | None:
    """A vector of numbers or strings, flat; logical and missing values as they are in R."""
    kind = _type(node)
    if kind == "STR":
        return np.array(_strings(node), dtype=np.str_)
    if kind not in ("INT", "REAL", "LGL"):
        return None
    value = node.value
    if isinstance(value, np.ma.MaskedArray):
        if value.mask is not np.ma.nomask and np.any(value.mask):
            return np.where(np.ma.getmaskarray(value), np.nan, value.data.astype(np.float64))
        value = value.data
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        return None
    if kind == "INT" and (array == _MISSING_INT).any():
        return np.where(array == _MISSING_INT, np.nan, array.astype(np.float64))
    return array


def _factor(node: Any) -> NDArray[Any] | None:
    """A vector, a factor as its levels."""
    array, attributes = _vector(node), _attributes(node)
    levels = _strings(attributes.get("levels"))
    if array is None or "factor" not in _strings(attributes.get("class")) or not levels:
        return array
    if array.dtype.kind not in "iu" or array.min() < 1 or array.max() > len(levels):
        return None
    return np.asarray(np.array(levels, dtype=np.str_)[array - 1])


def _matrix(node: Any) -> NDArray[Any] | None:
    """A vector with its ``dim``, if it has one that fits; R stores the first axis quickest."""
    array, dim = _factor(node), _attributes(node).get("dim")
    if array is None or dim is None:
        return array
    sizes = _vector(dim)
    if sizes is None or sizes.dtype.kind not in "iuf" or (sizes < 0).any() or sizes.size > 8:
        return None
    shape = tuple(int(size) for size in sizes)
    return array.reshape(shape, order="F") if int(np.prod(sizes)) == array.size else None


def _axis_names(node: Any) -> list[str]:
    """What the names of ``dimnames`` call the axes, in small letters; nothing if they do not."""
    names = _attributes(node).get("dimnames")
    if names is None or _type(names) != "VEC":
        return []
    return [name.lower() for name in _strings(_attributes(names).get("names"))]


def _order(axes: Sequence[str]) -> list[int]:
    """The axes with chains first, draws then, where one of each at most is named; else as is."""
    chain = [i for i, name in enumerate(axes) if name in CHAIN_DIMS]
    draw = [i for i, name in enumerate(axes) if name in DRAW_DIMS]
    if len(chain) > 1 or len(draw) != 1:
        return list(range(len(axes)))
    return [*chain, *draw, *(i for i in range(len(axes)) if i not in (*chain, *draw))]


def _ordered(array: NDArray[Any], axes: Sequence[str]) -> NDArray[Any]:
    return array.transpose(_order(axes)) if len(axes) == array.ndim else array


def _column_names(node: Any, axes: Sequence[str] = ()) -> list[str] | None:
    """The names along the axis that comes last."""
    names = _attributes(node).get("dimnames")
    if names is None or _type(names) != "VEC" or not names.value:
        return None
    last = _order(axes)[-1] if len(axes) == len(names.value) else -1
    return _strings(names.value[last]) or None
