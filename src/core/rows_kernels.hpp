// The loops over wide rows, compiled for every instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "isa.hpp"

namespace partita {

struct RowsKernels {
    // sums[k] becomes the sum over m of weights[m] table[rows[m] width + k], k < width, a multiple of 8. Sums of 1,024
    // terms are taken in single precision and added up in double.
    void (*weighted_rows)(const float* table, std::size_t width, const std::uint32_t* rows, const float* weights,
                          std::size_t n, double* sums);

    // Add row i of x to row rows[i] of out, i < n.
    void (*gather)(const double* x, std::size_t width, const std::uint32_t* rows, std::size_t n, double* out);

    // Add the sum over four draws d of weights[d] table[d][rows[d][i]] to row i of out, i < n.
    void (*spread)(const double* const* table, std::size_t width, const std::uint32_t* const* rows,
                   const double* weights, std::size_t n, double* out);
};

namespace baseline {
extern const RowsKernels rows_kernels;
}
namespace avx2 {
extern const RowsKernels rows_kernels;
}
namespace avx512 {
extern const RowsKernels rows_kernels;
}

inline const RowsKernels& rows_kernels() {
    return pick(baseline::rows_kernels, avx2::rows_kernels, avx512::rows_kernels);
}

}  // namespace partita
