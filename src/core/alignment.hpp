// Draws held against one partition: clusters that reappear, and pairs of cells of a picture that draws put together.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "labels.hpp"
#include "matrix.hpp"

namespace partita {

// Add to out[k] the weight of the draws in which cluster k of `labels`, of sizes[k] items, is a cluster as it is.
template <class Label>
void intact(Matrix<const Label> draws, std::span<const double> weights, std::span<const std::int64_t> labels,
            std::span<const std::int64_t> sizes, std::span<double> out) {
    constexpr std::int64_t kNobody = -1, kSeveral = -2;
    std::vector<std::int64_t> size, owner;
    for (std::size_t m = 0; m < draws.rows; ++m) {
        const auto row = draws.row(m);
        size.assign(n_clusters_of(row), 0), owner.assign(size.size(), kNobody);
        for (std::size_t i = 0; i < row.size(); ++i) {
            auto& whose = owner[row[i]];
            ++size[row[i]];
            if (whose == kNobody) whose = labels[i];
            else if (whose != labels[i]) whose = kSeveral;
        }
        for (std::size_t c = 0; c < size.size(); ++c)
            if (owner[c] >= 0 && size[c] == sizes[owner[c]]) out[owner[c]] += weights[m];
    }
}

// Add to total[a][b], a <= b, the weighted pairs of items of cells a and b that a draw puts together. cell_of are the
// cells of the items in `order`, not decreasing; of each cluster only the cells that it has items in are looked at.
template <class Label>
void cell_pairs(Matrix<const Label> draws, std::span<const float> weights, std::span<const std::int64_t> order,
                std::span<const std::int64_t> cell_of, Matrix<float> total) {
    std::vector<std::size_t> starts, ends;
    std::vector<std::int64_t> cells(draws.cols);
    std::vector<float> counts(draws.cols);
    for (std::size_t m = 0; m < draws.rows; ++m) {
        const auto row = draws.row(m);
        const std::size_t n_clusters = n_clusters_of(row);
        starts.assign(n_clusters + 1, 0);
        for (auto c : row) ++starts[c + 1];
        for (std::size_t c = 0; c < n_clusters; ++c) starts[c + 1] += starts[c];
        ends.assign(starts.begin(), starts.end() - 1);
        for (std::size_t i = 0; i < row.size(); ++i) {
            const auto c = row[order[i]];
            if (ends[c] > starts[c] && cells[ends[c] - 1] == cell_of[i]) {
                counts[ends[c] - 1] += 1.0f;
            } else {
                cells[ends[c]] = cell_of[i];
                counts[ends[c]++] = 1.0f;
            }
        }
        for (std::size_t c = 0; c < n_clusters; ++c)
            for (std::size_t a = starts[c]; a < ends[c]; ++a) {
                const float mine = weights[m] * counts[a];
                for (std::size_t b = a; b < ends[c]; ++b) total(cells[a], cells[b]) += mine * counts[b];
            }
    }
}

}  // namespace partita
