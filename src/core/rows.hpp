// Blocks of items of draws: what is counted and summed without seeing the other items. A row stands for a cluster of a
// draw: row offsets[m] + c for cluster c of draw m.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "labels.hpp"
#include "matrix.hpp"

namespace partita {

constexpr std::size_t kStep = 256;  // items whose numbers stay in the cache while the draws pass

// The labels of some items in some draws, and the first row of each draw.
template <class Label>
struct Block {
    Matrix<const Label> labels;  // (draws, items)
    std::span<const std::int64_t> offsets;

    std::size_t n_draws() const { return labels.rows; }
    std::size_t n_items() const { return labels.cols; }
    const Label* draw(std::size_t m) const { return labels.data + m * labels.cols; }
    // Draws are gone over four at a time: counting one is a chain of increments that wait for each other, and four
    // fill the wait.
    std::size_t n_fours() const { return labels.rows - labels.rows % 4; }

    // Throw if a label leads beyond the rows that there are.
    void check(std::size_t n_rows) const {
        if (offsets.size() < labels.rows) throw std::invalid_argument("There must be an offset for each draw.");
        for (std::size_t m = 0; m < labels.rows; ++m) {
            if (offsets[m] < 0 || static_cast<std::size_t>(offsets[m]) > n_rows)
                throw std::out_of_range("An offset is beyond the rows.");
            check_below(labels.row(m), n_rows - static_cast<std::size_t>(offsets[m]));
        }
    }
};

// Add 1 to out[row][labels[i]] for every draw and item.
template <class Label>
void count(const Block<Label>& block, std::span<const std::uint32_t> labels, Matrix<std::int32_t> out) {
    const std::size_t n = block.n_items(), width = out.cols;
    auto* cells = reinterpret_cast<std::uint32_t*>(out.data);  // so that a full cell wraps, which is defined
    const auto at = [&](std::size_t m) { return cells + block.offsets[m] * width; };
    for (std::size_t m = 0; m < block.n_fours(); m += 4) {
        std::uint32_t *p = at(m), *q = at(m + 1), *r = at(m + 2), *s = at(m + 3);
        const Label *w = block.draw(m), *x = w + n, *y = x + n, *z = y + n;
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t k = labels[i];
            ++p[w[i] * width + k], ++q[x[i] * width + k], ++r[y[i] * width + k], ++s[z[i] * width + k];
        }
    }
    for (std::size_t m = block.n_fours(); m < block.n_draws(); ++m)
        for (std::size_t i = 0; i < n; ++i) ++at(m)[block.draw(m)[i] * width + labels[i]];
}

// Add row i of x to out[row] for every draw and item.
template <class Label>
void gather(const Block<Label>& block, Matrix<const double> x, Matrix<double> out) {
    const std::size_t n = block.n_items(), width = x.cols;
    for (std::size_t start = 0; start < n; start += kStep)
        for (std::size_t m = 0; m < block.n_draws(); ++m) {
            double* base = out.data + block.offsets[m] * width;
            const Label* draw = block.draw(m);
            for (std::size_t i = start; i < std::min(n, start + kStep); ++i) {
                double* __restrict to = base + draw[i] * width;
                const double* __restrict from = x.data + i * width;
                for (std::size_t j = 0; j < width; ++j) to[j] += from[j];
            }
        }
}

// Add the sum over draws m of weights[m] table[row of i in m] to out[i], for the items `start` to `stop` - 1.
template <class Label>
void spread(const Block<Label>& block, std::span<const double> weights, Matrix<const double> table, std::size_t start,
            std::size_t stop, Matrix<double> out) {
    const std::size_t n = block.n_items(), width = table.cols;
    const auto at = [&](std::size_t m) { return table.data + block.offsets[m] * width; };
    for (std::size_t first = start; first < stop; first += kStep) {
        const std::size_t last = std::min(stop, first + kStep);
        for (std::size_t m = 0; m < block.n_fours(); m += 4) {  // what is added up is fetched once for four draws
            const double *p = at(m), *q = at(m + 1), *r = at(m + 2), *s = at(m + 3);
            const double e = weights[m], f = weights[m + 1], g = weights[m + 2], h = weights[m + 3];
            const Label *w = block.draw(m), *x = w + n, *y = x + n, *z = y + n;
            for (std::size_t i = first; i < last; ++i) {
                const double *a = p + w[i] * width, *b = q + x[i] * width, *c = r + y[i] * width, *d = s + z[i] * width;
                double* __restrict to = out.data + i * width;
                for (std::size_t j = 0; j < width; ++j) to[j] += (e * a[j] + f * b[j]) + (g * c[j] + h * d[j]);
            }
        }
        for (std::size_t m = block.n_fours(); m < block.n_draws(); ++m)
            for (std::size_t i = first; i < last; ++i) {
                const double* from = at(m) + block.draw(m)[i] * width;
                for (std::size_t j = 0; j < width; ++j) out(i, j) += weights[m] * from[j];
            }
    }
}

// Add the sum over draws m of weights[m] table[row of i in m][labels[i]] to out[i].
template <class Label>
void own(const Block<Label>& block, std::span<const double> weights, std::span<const std::uint32_t> labels,
         Matrix<const double> table, std::span<double> out) {
    for (std::size_t m = 0; m < block.n_draws(); ++m) {
        const double* base = table.data + block.offsets[m] * table.cols;
        const Label* row = block.draw(m);
        for (std::size_t i = 0; i < block.n_items(); ++i) out[i] += weights[m] * base[row[i] * table.cols + labels[i]];
    }
}

}  // namespace partita
