"""The decorators that kernels wear."""

from __future__ import annotations

from numba import njit

jit = njit(cache=True, nogil=True, error_model="numpy")

# For functions that other kernels alone call: without the wrappers that Python would need, which
# for records of many arrays take longer to compile than the function. Their callers' cache holds
# them too.
inner = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
