#include "rows_kernels.hpp"

#include "vectors.hpp"

namespace partita::PARTITA_ISA {

namespace {

constexpr std::size_t kLanes = 8, kTerms = 1024;
typedef float Eight __attribute__((vector_size(kLanes * sizeof(float))));

// N vectors of columns at once, and four sums of each that do not wait for each other.
template <std::size_t N>
[[gnu::always_inline]] inline void sum_columns(const float* table, std::size_t width, const std::uint32_t* rows,
                                               const float* weights, std::size_t n, double* sums) {
    constexpr std::size_t kChains = 8 / N;
    Eight total[kChains][N] = {};
    std::size_t m = 0;
    for (; m + kChains <= n; m += kChains)
        for (std::size_t c = 0; c < kChains; ++c)
            for (std::size_t v = 0; v < N; ++v)
                total[c][v] += weights[m + c] * load<Eight>(table + rows[m + c] * width + v * kLanes);
    for (; m < n; ++m)
        for (std::size_t v = 0; v < N; ++v)
            total[0][v] += weights[m] * load<Eight>(table + rows[m] * width + v * kLanes);
    for (std::size_t v = 0; v < N; ++v) {
        Eight sum = total[0][v];
        for (std::size_t c = 1; c < kChains; ++c) sum += total[c][v];
        for (std::size_t k = 0; k < kLanes; ++k) sums[v * kLanes + k] += sum[k];
    }
}

void weighted_rows(const float* table, std::size_t width, const std::uint32_t* rows, const float* weights,
                   std::size_t n, double* sums) {
    for (std::size_t k = 0; k < width; ++k) sums[k] = 0;
    for (std::size_t first = 0; first < n; first += kTerms) {
        const std::size_t some = n - first < kTerms ? n - first : kTerms;
        std::size_t k = 0;
        for (; k + 4 * kLanes <= width; k += 4 * kLanes)
            sum_columns<4>(table + k, width, rows + first, weights + first, some, sums + k);
        for (; k + 2 * kLanes <= width; k += 2 * kLanes)
            sum_columns<2>(table + k, width, rows + first, weights + first, some, sums + k);
        if (k < width) sum_columns<1>(table + k, width, rows + first, weights + first, some, sums + k);
    }
}

void gather(const double* x, std::size_t width, const std::uint32_t* rows, std::size_t n, double* out) {
    for (std::size_t i = 0; i < n; ++i) {
        double* __restrict to = out + rows[i] * width;
        const double* __restrict from = x + i * width;
        for (std::size_t j = 0; j < width; ++j) to[j] += from[j];
    }
}

void spread(const double* const* table, std::size_t width, const std::uint32_t* const* rows, const double* weights,
            std::size_t n, double* out) {
    const double e = weights[0], f = weights[1], g = weights[2], h = weights[3];
    for (std::size_t i = 0; i < n; ++i) {
        const double *a = table[0] + rows[0][i] * width, *b = table[1] + rows[1][i] * width;
        const double *c = table[2] + rows[2][i] * width, *d = table[3] + rows[3][i] * width;
        double* __restrict to = out + i * width;
        for (std::size_t j = 0; j < width; ++j) to[j] += (e * a[j] + f * b[j]) + (g * c[j] + h * d[j]);
    }
}

}  // namespace

const RowsKernels rows_kernels{weighted_rows, gather, spread};

}  // namespace partita::PARTITA_ISA
