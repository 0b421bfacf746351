"""The checks, in one place, so that one mistake gets the same words everywhere."""

from __future__ import annotations

import math
import operator
import os
import secrets
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path as _Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from partita.errors import InvalidTypeError, InvalidValueError, OutOfMemoryError, PartitaWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import FloatArray, IntArray, Seed

T = TypeVar("T")
FEW_BYTES = 1 << 24  # a process that has come so far has these; to ask takes its time
_FEW_CELLS = 12  # so few may be labels even where most of them differ


def integer(name: str, value: Any, *, least: int | None = None, most: int | None = None) -> int:
    """Check that ``value`` is a whole number within bounds and return it as an int."""
    if isinstance(value, bool | np.bool_):
        raise InvalidTypeError(f"`{name}` must be a whole number; got {value!r}.")
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidTypeError(f"`{name}` must be a whole number; got {value!r}.") from None
    if least is not None and number < least:
        raise InvalidValueError(f"`{name}` must be at least {least}; got {number}.")
    if most is not None and number > most:
        raise InvalidValueError(f"`{name}` must be at most {most}; got {number}.")
    return number


def real(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """Check that ``value`` is a finite number in an interval and return it as a float."""
    try:
        if isinstance(value, str | bytes | bool | np.bool_):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidTypeError(f"`{name}` must be a number; got {value!r}.") from None
    below = number <= low if open_low else number < low
    above = number >= high if open_high else number > high
    if not math.isfinite(number) or below or above:
        left = "(" if open_low or low == -math.inf else "["
        right = ")" if open_high or high == math.inf else "]"
        raise InvalidValueError(
            f"`{name}` must lie in {left}{low:g}, {high:g}{right}; got {value!r}."
        )
    return number


def float_dtype(name: str, value: Any) -> np.dtype[Any]:
    """Check that ``value`` names float32 or float64; None is float64."""
    try:
        dtype = np.dtype(np.float64 if value is None else value)
    except TypeError:
        raise InvalidTypeError(f"`{name}` must be float32 or float64; got {value!r}.") from None
    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InvalidValueError(f"`{name}` must be float32 or float64; got {dtype}.")
    return dtype


def choice(name: str, value: T, options: Collection[T]) -> T:
    """Check that ``value`` is one of ``options``."""
    if value not in options:
        raise _unknown(name, value, options)
    return value


def lookup(name: str, value: str, table: Mapping[str, T]) -> T:
    """Return the entry of ``table`` that the string ``value`` names, in capitals or not."""
    try:
        return table[value.lower()]
    except (KeyError, AttributeError):
        raise _unknown(name, value, table) from None


def _unknown(name: str, value: Any, options: Collection[Any]) -> InvalidValueError:
    listed = ", ".join(map(repr, options))
    meant = did_you_mean(value, options)
    return InvalidValueError(f"`{name}` must be one of {listed}; got {value!r}.{meant}")


def did_you_mean(value: Any, options: Collection[Any]) -> str:
    """A question that names the option most like ``value``, or nothing where none is like it.

    >>> did_you_mean("bindr", ["vi", "binder"])
    " Did you mean 'binder'?"
    """
    from difflib import get_close_matches

    words = [option for option in options if isinstance(option, str)]
    near = get_close_matches(str(value).lower(), words, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def labels(name: str, value: Any, *, n_items: int | None = None) -> IntArray:
    """Return one partition as a 1-D integer array; integers, whole floats or strings come in."""
    array = whole_numbers(name, value)
    if array.ndim != 1:
        raise InvalidValueError(
            f"`{name}` must be one label per item, a 1-D array; got shape {array.shape}."
        )
    if array.size == 0:
        raise InvalidValueError(f"`{name}` must label at least one item; got none.")
    if n_items is not None and array.size != n_items:
        raise InvalidValueError(
            f"`{name}` must have one label for each of the {n_items} items; got {array.size}."
        )
    return array


def is_masked(value: Any) -> bool:
    """Whether it is an array of ``numpy.ma``, which takes long to import and is there if one is."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def whole_numbers(name: str, value: Any) -> IntArray:
    """Return labels of any shape as integers: whole floats are cast, strings are numbered.

    The numbers stand for equality alone; which string got which number means nothing.
    """
    try:
        array = np.asarray(value)
    except ValueError:
        raise InvalidValueError(
            f"`{name}` must be rectangular: every draw needs a label for every item; "
            "got rows of different lengths."
        ) from None
    if is_masked(value) and np.ma.is_masked(value):
        raise InvalidValueError(f"`{name}` must have no missing labels; got masked entries.")
    kind = array.dtype.kind
    if kind == "b":
        return array.astype(np.uint8)
    if kind in "iu":
        return array
    if kind == "f":
        return _whole_floats(name, array)
    if kind in "UST":
        return _numbered(name, array)
    if kind == "O":
        return _from_objects(name, array)
    raise InvalidTypeError(f"`{name}` must hold integers or strings; got dtype {array.dtype}.")


def labels_by_chain(name: str, array: Any) -> None:
    """Refuse an array of three axes that cannot be labels (chains, draws, items).

    Memberships (draws, items, clusters) have three axes too: they are fractions, or one 1 among
    zeros for every item.
    """
    if array.dtype.kind == "f" and array.size:
        _whole_floats(name, array)
    one_hot = array.dtype.kind in "biuf" and array.shape[2] > 1 and array.size
    if one_hot and array.min() == 0 and array.max() == 1 and (array.sum(axis=2) == 1).all():
        raise InvalidValueError(
            f"`{name}` must be labels (chains, draws, items) if it has three axes; got one 1 among "
            "zeros along the last, as memberships (draws, items, clusters) have. Pass "
            "array.argmax(axis=2), or see Similarity.from_responsibilities."
        )


def _whole_floats(name: str, array: Any) -> IntArray:
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidValueError(
            f"`{name}` must have no missing or infinite labels; got {array[where].item()!r} at "
            f"{where}."
        )
    bad = array != np.round(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidValueError(
            f"`{name}` must be whole numbers; got {array[where].item()!r} at {where}."
            + _float_hint(array)
        )
    largest = max(abs(float(array.max())), abs(float(array.min()))) if array.size else 0.0
    if largest >= 2**53:
        raise InvalidValueError(
            f"`{name}` must be below 2**53, where floats still tell whole numbers apart; got "
            f"{largest:.0f}. Pass integers of one dtype, or strings."
        )
    return np.asarray(array.astype(np.int64))


def _float_hint(array: Any) -> str:
    """What a user who passes such floats may have meant."""
    if array.ndim == 2 and array.shape[0] == array.shape[1] and (np.diagonal(array) == 1).all():
        return " This looks like a similarity matrix: wrap it, Similarity(P)."
    if array.ndim == 3:
        return " For probabilities, see Similarity.from_responsibilities."
    if array.ndim == 2:
        return " If these are data to cluster, `sample_mixture` draws partitions of them."
    return ""


def _numbered(name: str, array: Any) -> IntArray:
    words, inverse = np.unique(array, return_inverse=True)
    if array.ndim > 1:
        repeated_words(f"`{name}`", words, array.size, len(array))
    return np.asarray(inverse.reshape(array.shape), dtype=np.int64)


def repeated_words(what: str, words: Any, n_cells: int, n_rows: int) -> None:
    """Refuse text that is no table of labels: labels repeat, from draw to draw or within one.

    Parameters
    ----------
    what : str
        What holds the text, for the message.
    words : sequence of str
        The distinct ones.
    n_cells, n_rows : int
        Of the table.
    """
    if n_rows < 2 or 2 * len(words) <= n_cells:
        return
    shown = ", ".join(repr(str(word)[:30]) for word in words[:3])
    said = (
        f"{what} holds text that does not repeat as names of clusters do: {len(words):,} different "
        f"ones in {n_cells:,} cells, such as {shown}. Draws are a table, a row a draw, a column an "
        "item, a cell the item's cluster"
    )
    is_prose = any(" " in str(word) or str(word).endswith((".", ",", "!", "?")) for word in words)
    if is_prose or (n_cells >= _FEW_CELLS and len(words) > 0.8 * n_cells):
        raise InvalidValueError(f"{said}; is this the right file? Write labels as whole numbers.")
    if len(words) == n_cells:
        warnings.warn(f"{said}.", PartitaWarning, stacklevel=2)


def _from_objects(name: str, array: Any) -> IntArray:
    flat = array.ravel().tolist()
    kinds = {type(x) for x in flat}
    if any(issubclass(k, list | tuple | np.ndarray) for k in kinds):
        raise InvalidValueError(
            f"`{name}` must be rectangular: every draw needs a label for every item; "
            "got rows of different lengths."
        )
    if all(issubclass(k, str) for k in kinds):
        return _numbered(name, array.astype(str))
    if all(issubclass(k, int | np.integer | bool | np.bool_) for k in kinds):
        try:
            return np.asarray(array.astype(np.int64))
        except OverflowError:
            return _numbered(name, array.astype(str))
    if all(issubclass(k, int | float | np.number | bool | np.bool_) for k in kinds):
        return _whole_floats(name, array.astype(np.float64))
    listed = ", ".join(sorted(k.__name__ for k in kinds))
    raise InvalidTypeError(
        f"`{name}` must hold labels of one kind, integers or strings; got {listed}."
    )


def names(name: str, value: Any, n: int) -> tuple[str, ...]:
    """Return ``n`` names as strings."""
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise InvalidTypeError(f"`{name}` must be a list of one name per item; got {value!r}.")
    found = tuple(str(one) for one in value)
    if len(found) != n:
        raise InvalidValueError(
            f"`{name}` must be one name for each of the {n} items; got {len(found)}."
        )
    return found


def positions(name: str, index: Any, n: int) -> NDArray[np.intp]:
    """Return the positions among ``n`` that a slice, a mask or positions select."""
    try:
        return np.asarray(np.arange(n)[index])
    except (IndexError, TypeError, ValueError):
        raise InvalidValueError(
            f"`{name}` must be a slice, a mask or positions below {n}; got {index!r}."
        ) from None


def weights(name: str, value: Any, n: int) -> FloatArray:
    """Return ``n`` non-negative weights, not all zero."""
    given = np.asarray(value)
    if given.dtype.kind not in "buif":  # of complex numbers NumPy drops a part, text it reads
        raise InvalidTypeError(f"`{name}` must be real numbers; got {given.dtype}.")
    array = given.astype(np.float64)
    if array.shape != (n,):
        raise InvalidValueError(
            f"`{name}` must be one number for each of the {n} draws; got shape {array.shape}."
        )
    bad = array[~(np.isfinite(array) & (array >= 0))]
    if bad.size:
        raise InvalidValueError(f"`{name}` must be finite and not negative; got {bad[0]}.")
    with np.errstate(over="ignore"):
        total = array.sum()
    if not 0 < total < math.inf:
        raise InvalidValueError(f"`{name}` must have a positive, finite sum; got {total}.")
    return array


def factorizable(name: str, array: Any, xp: Any) -> Any:
    """Check, in any array library, that a matrix is square, symmetric, finite and not negative."""
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] == 0:
        raise InvalidValueError(
            f"`{name}` must be square, items by items; got shape {tuple(array.shape)}. For draws, "
            "pass posterior_similarity(draws)."
        )
    if not bool(xp.all(xp.isfinite(array))):
        raise InvalidValueError(f"`{name}` must be finite; got NaN or infinity.")
    least = float(xp.min(array))
    if least < 0:
        raise InvalidValueError(f"`{name}` must not be negative; got {least:g}.")
    other = xp.permute_dims(array, (1, 0))
    gap = float(xp.max(xp.abs(array - other)))
    if gap > 1e-6 * max(1.0, float(xp.max(array))):
        raise InvalidValueError(
            f"`{name}` must be symmetric; got entries that differ from their mirror by {gap:g}."
        )
    return array if gap == 0 else 0.5 * (array + other)


def seed(value: Seed) -> int:
    """Return the one whole number that stands for ``rng``; recorded, it gives the answer again."""
    if value is None:
        return secrets.randbits(53)  # which JSON and spreadsheets keep whole
    if isinstance(value, np.random.Generator):
        return int(value.integers(2**63))
    if isinstance(value, np.random.SeedSequence):
        if isinstance(value.entropy, int) and not value.spawn_key:
            return value.entropy
        return int.from_bytes(value.generate_state(4, np.uint32).tobytes(), "little")
    return integer("rng", value, least=0)


def n_jobs(value: int | None) -> int:
    """Return how many threads to use: None and -1 mean every core this process may use."""
    if value is None or (isinstance(value, int) and value == -1):
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    number = integer("n_jobs", value)
    if number < 1:
        raise InvalidValueError(f"`n_jobs` must be at least 1, or -1 for every core; got {number}.")
    return number


def free_memory(system: str = "/") -> int:
    """Bytes that can be allocated now: the machine, its control groups and the process allow them.

    ``system`` is where ``/proc`` and ``/sys`` are found.
    """
    import psutil

    free = int(psutil.virtual_memory().available)
    for limit, used in _group_limits(_Path(system)):
        with suppress(OSError, ValueError):  # no such file, or no limit ("max")
            free = min(free, int(limit.read_text()) - int(used.read_text()))
    with suppress(ImportError):  # Windows
        import resource

        limit_of_process, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit_of_process != resource.RLIM_INFINITY:
            free = min(free, limit_of_process - psutil.Process().memory_info().vms)
    return max(free, 0)


def _group_limits(system: _Path) -> Iterator[tuple[_Path, _Path]]:
    """Files of the limit and the use of this process's control group and of those around it."""
    with suppress(OSError):
        for line in (system / "proc/self/cgroup").read_text().splitlines():
            _, kinds, name = line.split(":", 2)
            top, names = system / "sys/fs/cgroup", ("memory.max", "memory.current")
            if "memory" in kinds.split(","):  # version 1
                top, names = top / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
            elif kinds:
                continue
            group = top / name.strip("/")
            for place in (group, *group.parents):
                if place.is_relative_to(top):
                    yield place / names[0], place / names[1]


def fits_in_memory(what: str, n_bytes: int, instead: str) -> None:
    """Refuse an allocation larger than the memory that is free, saying what to do instead."""
    if n_bytes <= FEW_BYTES:
        return
    free = free_memory()
    if n_bytes > free:
        raise OutOfMemoryError(
            f"{what} would take {bytes_text(n_bytes)} and {bytes_text(free)} are free; {instead}"
        )


def count_text(count: int, noun: str) -> str:
    """A count in words: ``count_text(1, 'item')`` is ``'1 item'``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def bytes_text(n_bytes: float) -> str:
    """A size in words: ``bytes_text(3 * 2**30)`` is ``'3.0 GiB'``."""
    size = float(n_bytes)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
