"""Decoded parts of a store that are wanted again soon, up to so many bytes of them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

MOST_BYTES = 1 << 28  # kept by one store


@dataclass(eq=False)
class _Part:
    lock: threading.Lock = field(default_factory=threading.Lock)
    value: Any = None
    is_there: bool = False


class Kept:
    """The parts used last, each made once however many threads ask for it at a time.

    Parameters
    ----------
    part_bytes : int
        The size of a part; the last one is kept however large, since it was made anyway.
    """

    def __init__(self, part_bytes: int) -> None:
        self._bytes = part_bytes
        self._lock = threading.Lock()
        self._parts: OrderedDict[Hashable, _Part] = OrderedDict()

    def __reduce__(self) -> Any:
        """Sent to another process, it begins with nothing."""
        return Kept, (self._bytes,)

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the part of this key, made now if it is not there."""
        with self._lock:
            part = self._parts.setdefault(key, _Part())
            self._parts.move_to_end(key)
            while len(self._parts) > max(1, MOST_BYTES // max(1, self._bytes)):
                self._parts.popitem(last=False)
        with part.lock:
            if not part.is_there:
                part.value, part.is_there = make(), True
            return part.value

    def drop(self, key: Hashable) -> None:
        """Forget a part, if it is there."""
        with self._lock:
            self._parts.pop(key, None)
