// Contingency tables of draws against candidates, and what is summed over them. `cell` tabulates what a cell of x items
// counts; cell[0] is 0. Labels are checked here: one beyond its limit is an exception.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "labels.hpp"
#include "matrix.hpp"

namespace partita {

// Rows of labels, those of row r below sizes[r]. Label is uint8_t, uint16_t or uint32_t.
template <class Label>
struct Partitions {
    Matrix<const Label> labels;
    std::span<const std::int64_t> sizes;

    std::size_t most_clusters() const {
        return sizes.empty() ? 0 : static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()));
    }

    // Throw unless labels are below their sizes, and sizes between 1 and the number of items.
    void check() const {
        if (sizes.size() != labels.rows)
            throw std::invalid_argument("There must be a number of clusters for each partition.");
        for (std::size_t r = 0; r < labels.rows; ++r) {
            if (sizes[r] < 1 || sizes[r] > static_cast<std::int64_t>(labels.cols))
                throw std::invalid_argument("A partition has from 1 to n clusters; got " + std::to_string(sizes[r]) +
                                            ".");
            check_below(labels.row(r), static_cast<std::uint64_t>(sizes[r]));
        }
    }
};
using Candidates = Partitions<std::uint32_t>;

// Tables of four draws at a time: counting one is a chain of increments that wait for each other, and four chains
// fill the wait.
constexpr std::size_t kTogether = 4;

template <class Label>
class FourTables {
 public:
    using Rows = std::array<const Label*, kTogether>;

    explicit FourTables(std::size_t most_cells) {
        for (auto& table : counts_) table.resize(most_cells);
    }

    // The sums of cell over the tables of four rows, of at most `width` clusters, with a candidate.
    std::array<double, kTogether> sums(const Rows& rows, std::size_t width, std::span<const std::uint32_t> candidate,
                                       std::size_t n_clusters, const double* cell) {
        for_each_item(rows, width, candidate, Count{});
        Take take{cell};
        // where clusters are many, the cells that items are in are fewer than all
        if (width * n_clusters > candidate.size()) take = for_each_item(rows, width, candidate, take);
        else take = for_each_cell(width * n_clusters, take);
        return {take.s, take.t, take.u, take.v};
    }

 private:
    using Cell = std::uint32_t&;
    struct Count {
        void operator()(Cell a, Cell b, Cell c, Cell d) { ++a, ++b, ++c, ++d; }
    };
    struct Take {
        const double* cell;
        double s = 0, t = 0, u = 0, v = 0;
        void operator()(Cell a, Cell b, Cell c, Cell d) {
            s += cell[a], t += cell[b], u += cell[c], v += cell[d];
            a = b = c = d = 0;
        }
    };

    // A function of its own, so that all its pointers are in registers.
    template <class Work>
    [[gnu::noinline]] Work for_each_item(const Rows& rows, std::size_t width, std::span<const std::uint32_t> candidate,
                                         Work work) {
        const auto [w, x, y, z] = rows;
        std::uint32_t *a = counts_[0].data(), *b = counts_[1].data(), *c = counts_[2].data(), *d = counts_[3].data();
        for (std::size_t i = 0; i < candidate.size(); ++i) {
            const std::size_t row = candidate[i] * width;
            work(a[row + w[i]], b[row + x[i]], c[row + y[i]], d[row + z[i]]);
        }
        return work;
    }
    template <class Work>
    Work for_each_cell(std::size_t n_cells, Work work) {
        std::uint32_t *a = counts_[0].data(), *b = counts_[1].data(), *c = counts_[2].data(), *d = counts_[3].data();
        for (std::size_t x = 0; x < n_cells; ++x) work(a[x], b[x], c[x], d[x]);
        return work;
    }

    std::array<std::vector<std::uint32_t>, kTogether> counts_;
};

// out[q][r]: the sum of cell over the contingency table of candidate q with draw r.
template <class Label>
void joint_sums(const Partitions<Label>& draws, const Candidates& candidates, std::span<const double> cell,
                Matrix<double> out) {
    // A table of more cells is counted a cluster of the candidate at a time, in memory that does not grow with it.
    constexpr std::size_t kMostCells = std::size_t{1} << 20;
    const std::size_t n_draws = draws.labels.rows, most = draws.most_clusters();
    FourTables<Label> tables(std::min(most * candidates.most_clusters(), kMostCells));
    std::vector<std::uint32_t> counts(most);
    for (std::size_t q = 0; q < candidates.labels.rows; ++q) {
        const auto candidate = candidates.labels.row(q);
        const auto n_clusters = static_cast<std::size_t>(candidates.sizes[q]);
        if (most * n_clusters > kMostCells) {
            const Members members(candidate, n_clusters);
            for (std::size_t r = 0; r < n_draws; ++r) {
                const auto draw = draws.labels.row(r);
                out(q, r) = 0;
                for (std::size_t k = 0; k < n_clusters; ++k) {
                    for (auto i : members[k]) ++counts[draw[i]];
                    for (auto i : members[k]) out(q, r) += cell[std::exchange(counts[draw[i]], 0)];
                }
            }
            continue;
        }
        for (std::size_t first = 0; first < n_draws; first += kTogether) {
            // the last row is repeated where fewer than four are left
            std::array<const Label*, kTogether> rows;
            std::size_t width = 0;
            const auto at = [&](std::size_t d) { return std::min(first + d, n_draws - 1); };
            for (std::size_t d = 0; d < kTogether; ++d) {
                rows[d] = draws.labels.row(at(d)).data();
                width = std::max(width, static_cast<std::size_t>(draws.sizes[at(d)]));
            }
            const auto sums = tables.sums(rows, width, candidate, n_clusters, cell.data());
            for (std::size_t d = 0; d < kTogether; ++d) out(q, at(d)) = sums[d];
        }
    }
}

}  // namespace partita
