"""Types shared by every room; no numerics."""

from __future__ import annotations

from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.integer[Any]]
Doubles: TypeAlias = NDArray[np.float64]
FloatArray: TypeAlias = NDArray[np.floating[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
Seed: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None
Path: TypeAlias = str | PathLike[str]
Needs: TypeAlias = Literal["draws", "similarity", "either"]
