// The few loops that take a search's time, compiled for every instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "isa.hpp"
#include "loss.hpp"

namespace partita {

using Count = std::uint32_t;

// What bounds the gain of an item, or of a block of u items, that joins a cluster; see OnDraws::bring_bounds.
struct JoinBound {
    const float* step;
    const double* cell;
    int n, u;
    float within, share;
    double by_j, by_e;
};

struct SearchKernels {
    // out[k] = sum over m of weight[m] table[rows[m]][k], k < 16; rows are `stride` long.
    void (*sum_rows)(const float* table, std::size_t stride, const std::uint32_t* rows, const float* weight, int m,
                     float* out);
    // out[k] is the bound for cluster k, k < width: sums[k * stride] is how similar the item is to those in it
    // together.
    void (*bound_joins)(const JoinBound& of, const float* sums, std::size_t stride, const int* sizes, int width,
                        double* out);
    // The sum over m of weight[m] step[counts[rows[m]][column] - 1].
    double (*sum_own)(const Count* counts, std::size_t stride, const std::uint32_t* rows, const float* weight, int m,
                      const float* step);
    // An item with one entry a draw comes to a column (its counts, its steps) or leaves it; j[m] changes with it.
    void (*shift)(Count* counts, float* steps, std::size_t stride, const std::uint32_t* rows, int m, int sign,
                  const float* step, const double* cell, double* j);
    // total[x] += scale row[x], x < n.
    void (*add)(const float* row, float scale, std::size_t n, float* total);
    // The sum of weight[m] where a[m] = b[m].
    float (*weigh_equal)(const std::uint32_t* a, const std::uint32_t* b, const float* weight, int m);
    // The sum over m of p[m] loss(t[m], j[m]).
    double (*mean_loss)(const Loss::AtSize& loss, const double* t, const double* p, const double* j, int m);
};

namespace baseline {
extern const SearchKernels search_kernels;
}
namespace avx2 {
extern const SearchKernels search_kernels;
}
namespace avx512 {
extern const SearchKernels search_kernels;
}

inline const SearchKernels& search_kernels() {
    static const SearchKernels& picked = pick(baseline::search_kernels, avx2::search_kernels, avx512::search_kernels);
    return picked;
}

}  // namespace partita
