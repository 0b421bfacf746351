"""The decorators that kernels wear."""

from __future__ import annotations

from numba import njit

jit = njit(cache=True, nogil=True, error_model="numpy")

# Sums in any order, fused multiply-adds, no NaN: what lets a reduction vectorise. For kernels
# whose callers have checked their input and whose answers do not hang on the last bit.
fast_jit = njit(
    cache=True,
    nogil=True,
    error_model="numpy",
    fastmath={"reassoc", "contract", "nsz", "arcp", "nnan"},
)

# Fused multiply-adds alone. Where sums may be reordered, a kernel compiled afresh and the same
# kernel from the disk cache were seen to differ in the last bit.
fused_jit = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})

# For functions that other kernels alone call: without the wrappers that Python would need, which
# for records of many arrays take longer to compile than the function. Their callers' cache holds
# them too.
inner = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)

# The same for what loops of few steps call: a call that takes many arrays copies all that is known
# of each, which can take longer than what it does.
hot = njit(
    nogil=True,
    error_model="numpy",
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
    forceinline=True,
)
