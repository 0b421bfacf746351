"""The one decorator every kernel wears."""

from __future__ import annotations

from numba import njit

jit = njit(cache=True, nogil=True, error_model="numpy")
