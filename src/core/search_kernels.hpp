// The few loops that take a search's time, compiled for every instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "isa.hpp"
#include "loss.hpp"

namespace partita {

using Count = std::uint32_t;

struct SearchKernels {
    // out[k] = sum over m of weight[m] table[rows[m]][k], k < 16; rows are `stride` long.
    void (*sum_rows)(const float* table, std::size_t stride, const std::uint32_t* rows, const float* weight, int m,
                     float* out);
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
