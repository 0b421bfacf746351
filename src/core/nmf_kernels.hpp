// The loops in which factorisations of the similarity spend their time, compiled for every instruction set.
// Factors are (rank, n) arrays, so that what runs innermost runs along memory.
#pragma once
#include <cstddef>
#include <cstdint>

#include "isa.hpp"
#include "matrix.hpp"

namespace partita {

constexpr std::size_t kBlock = 16;  // items of a block of `BlockRows`

// The columns of V (or its rows, V being symmetric) in blocks of items, without the blocks that are all 0.
template <class T>
struct BlockColumns {
    const std::size_t* starts;    // of column j: blocks starts[j] to starts[j + 1] of
    const std::uint32_t* blocks;  // where they are: items kBlock * blocks[q] and on
    const T* values;              // kBlock of each
};

// A factor that is multiplied with these: kBlock items of each row, then the next kBlock, zeros at the end.
template <class T>
struct BlockFactor {
    std::size_t rank;
    const T* values;
    const T* mass;  // the sums of its rows
};

// A step for some columns of B, A being fixed, under the generalised Kullback-Leibler divergence.
template <class T>
struct DivergenceStep {
    BlockFactor<T> A;
    BlockColumns<T> V;
    Matrix<double> B;  // (rank, n), changed in place
    int n_sweeps;      // of coordinate descent over the quadratic; 0 for a multiplicative step
    T* scratch;        // as many numbers as `scratch_size` says
};

template <class T>
constexpr std::size_t kLanes = 64 / sizeof(T);

// For `longest` blocks in a column.
template <class T>
constexpr std::size_t scratch_size(std::size_t rank, std::size_t longest) {
    return kLanes<T> * (3 * kBlock * longest + 4 * rank + rank * rank) + rank;
}

constexpr std::size_t kSwept = 32;  // items that a call of `sweep` works on

struct NmfKernels {
    // Columns `first` to `last` - 1 of X V, for X of few rows: BLAS takes twice as long.
    void (*multiply)(Matrix<const double> X, Matrix<const double> V, Matrix<double> out, std::size_t first,
                     std::size_t last);
    // Lowers 1/2 tr(B^T G B) - tr(P^T B) over B >= 0 by coordinates, a row at a time; rows from `free` on stay.
    // For the `count` items from `first` on, at most kSwept.
    void (*sweep)(Matrix<const double> P, Matrix<const double> G, Matrix<double> B, std::size_t free, int n_sweeps,
                  std::size_t first, std::size_t count, double* scratch);
    // One step for `count` columns from `first` on; at most as many as a vector has lanes.
    void (*step)(const DivergenceStep<double>& step, std::size_t first, std::size_t count);
    void (*step_single)(const DivergenceStep<float>& step, std::size_t first, std::size_t count);
    // Sum over columns `first` to `last` of t - V log t with t = A^T B; `scratch` has room for `rank` numbers.
    double (*divergence)(BlockFactor<double> A, BlockColumns<double> V, Matrix<const double> B, std::size_t first,
                         std::size_t last, double* scratch);
};

namespace baseline {
extern const NmfKernels nmf_kernels;
}
namespace avx2 {
extern const NmfKernels nmf_kernels;
}
namespace avx512 {
extern const NmfKernels nmf_kernels;
}

inline const NmfKernels& nmf_kernels() { return pick(baseline::nmf_kernels, avx2::nmf_kernels, avx512::nmf_kernels); }

}  // namespace partita
