#include "search_kernels.hpp"

#include "vectors.hpp"

namespace partita::PARTITA_ISA {

namespace {

void sum_rows(const float* table, std::size_t stride, const std::uint32_t* rows, const float* weight, int m,
              float* out) {
    Floats a{}, b{};
    int x = 0;
    for (; x + 1 < m; x += 2) {
        a += weight[x] * load<Floats>(table + rows[x] * stride);
        b += weight[x + 1] * load<Floats>(table + rows[x + 1] * stride);
    }
    if (x < m) a += weight[x] * load<Floats>(table + rows[x] * stride);
    store(a + b, out);
}

void bound_joins(const JoinBound& of, const float* sums, std::size_t stride, const int* sizes, int width, double* out) {
    const float last = static_cast<float>(of.n - 1);
    for (int k = 0; k < width; ++k) {
        const float sum = (sums[k * stride] + of.within) * of.share, x = sum < 0 ? 0 : sum > last ? last : sum;
        const int below = static_cast<int>(x), size = sizes[k];
        const int joined = size + of.u < of.n ? size + of.u : of.n;  // its own cluster may hold all
        const float step = of.step[below] + (x - static_cast<float>(below)) * (of.step[below + 1] - of.step[below]);
        out[k] = of.by_j * static_cast<double>(step) - of.by_e * (of.cell[joined] - of.cell[size]);
    }
}

double sum_own(const Count* counts, std::size_t stride, const std::uint32_t* rows, const float* weight, int m,
               const float* step) {
    float a = 0, b = 0, c = 0, d = 0;
    int x = 0;
    for (; x + 3 < m; x += 4) {
        a += weight[x] * step[counts[rows[x] * stride] - 1];
        b += weight[x + 1] * step[counts[rows[x + 1] * stride] - 1];
        c += weight[x + 2] * step[counts[rows[x + 2] * stride] - 1];
        d += weight[x + 3] * step[counts[rows[x + 3] * stride] - 1];
    }
    for (; x < m; ++x) a += weight[x] * step[counts[rows[x] * stride] - 1];
    return (a + b) + (c + d);
}

void shift(Count* counts, float* steps, std::size_t stride, const std::uint32_t* rows, int m, int sign,
           const float* step, const double* cell, double* j) {
    for (int x = 0; x < m; ++x) {
        const std::size_t at = rows[x] * stride;
        const Count before = counts[at], now = before + sign;
        j[x] += cell[now] - cell[before];
        counts[at] = now;
        steps[at] = step[now];
    }
}

void add(const float* row, float scale, std::size_t n, float* total) {
    for (std::size_t x = 0; x < n; ++x) total[x] += scale * row[x];
}

float weigh_equal(const std::uint32_t* a, const std::uint32_t* b, const float* weight, int m) {
    Floats sums{};
    int x = 0;
    for (; x + kFloats <= m; x += kFloats) {
        const Ints is_same = load<Ints>(a + x) == load<Ints>(b + x);
        sums += (Floats)(is_same & (Ints)load<Floats>(weight + x));
    }
    float total = sum(sums);
    for (; x < m; ++x) total += a[x] == b[x] ? weight[x] : 0;
    return total;
}

double mean_loss(const Loss::AtSize& loss, const double* t, const double* p, const double* j, int m) {
    Doubles sums{};
    int x = 0;
    for (; x + kDoubles <= m; x += kDoubles)
        sums += load<Doubles>(p + x) * loss.value(load<Doubles>(t + x), load<Doubles>(j + x));
    double total = sum(sums);
    for (; x < m; ++x) total += p[x] * loss.value(t[x], j[x]);
    return total;
}

}  // namespace

const SearchKernels search_kernels{sum_rows, bound_joins, sum_own, shift, add, weigh_equal, mean_loss};

}  // namespace partita::PARTITA_ISA
