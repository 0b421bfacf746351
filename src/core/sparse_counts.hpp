// Contingency tables of a partition with draws in which most cells are empty: only the others are kept, row after
// row. A row stands for a cluster of a draw, as in rows.hpp; a column for a cluster of the partition.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "matrix.hpp"
#include "rows.hpp"

namespace partita {

// Row r has the cells from starts[r] to starts[r + 1] - 1, its columns in increasing order.
struct SparseCounts {
    std::span<const std::int64_t> starts;
    std::span<const std::int32_t> columns, counts;
    std::size_t n_columns;

    // A cell, checked where it is read: tables are large, and few of their rows may be asked for.
    struct Cell {
        std::size_t column, count;
    };
    Cell at(std::int64_t p, std::size_t most) const {
        const Cell cell{static_cast<std::uint32_t>(columns[p]), static_cast<std::uint32_t>(counts[p])};
        if (cell.column >= n_columns || cell.count < 1 || cell.count > most)
            throw std::out_of_range("A table of counts has a cell beyond its columns or the number of items.");
        return cell;
    }
    std::size_t row(std::int64_t offset, std::uint64_t label) const {
        const std::uint64_t row = static_cast<std::uint64_t>(offset) + label;
        if (row >= starts.size() - 1) throw std::out_of_range("A label leads beyond the rows of a table of counts.");
        return row;
    }
    // Throw unless rows lie within the cells.
    void check() const {
        const bool rises = !starts.empty() && starts.front() >= 0 && std::is_sorted(starts.begin(), starts.end());
        if (!rises || starts.back() > static_cast<std::int64_t>(columns.size()) || columns.size() != counts.size())
            throw std::invalid_argument("The rows of a table of counts must lie within its cells.");
    }
};

// Count a block of items of some draws, of n_clusters each. `order` are the items in the order of the partition's
// labels, `labels` its labels in that order. Writes where each row starts, columns and counts, and returns how many
// cells are not empty.
template <class Label>
std::size_t count_sparsely(Matrix<const Label> block, std::span<const std::int64_t> n_clusters,
                           std::span<const std::int64_t> order, std::span<const std::int32_t> labels,
                           std::span<std::int64_t> starts, std::span<std::int32_t> columns,
                           std::span<std::int32_t> counts) {
    std::vector<std::size_t> following;
    std::vector<std::int32_t> sorted(block.cols);  // the labels, cluster by cluster of the draw
    std::size_t at = 0, row = 0;
    for (std::size_t m = 0; m < block.rows; ++m) {
        const auto draw = block.row(m);
        const auto k = static_cast<std::size_t>(n_clusters[m]);
        following.assign(k + 1, 0);
        for (auto c : draw) ++following[c + 1];
        for (std::size_t c = 0; c < k; ++c) following[c + 1] += following[c];
        for (std::size_t i = 0; i < draw.size(); ++i) sorted[following[draw[order[i]]]++] = labels[i];
        std::size_t i = 0;
        for (std::size_t c = 0; c < k; ++c) {
            starts[row++] = static_cast<std::int64_t>(at);
            for (std::int32_t last = -1; i < following[c]; ++i) {
                if (sorted[i] != last) columns[at] = last = sorted[i], counts[at++] = 0;
                ++counts[at - 1];
            }
        }
    }
    starts[row] = static_cast<std::int64_t>(at);
    return at;
}

// Where the rows of the sum of two tables of the same rows start.
inline void starts_of_sum(const SparseCounts& a, const SparseCounts& b, std::span<std::int64_t> starts) {
    std::int64_t at = 0;
    for (std::size_t row = 0; row + 1 < a.starts.size(); ++row) {
        starts[row] = at;
        auto p = a.starts[row], q = b.starts[row];
        const auto p_end = a.starts[row + 1], q_end = b.starts[row + 1];
        at += p_end - p + q_end - q;
        while (p < p_end && q < q_end) {
            const auto x = a.columns[p], y = b.columns[q];
            at -= x == y;
            p += x <= y;
            q += y <= x;
        }
    }
    starts.back() = at;
}

// The cells of the sum; room for those that starts_of_sum counts.
inline void add(const SparseCounts& a, const SparseCounts& b, std::span<std::int32_t> columns,
                std::span<std::int32_t> counts) {
    std::size_t at = 0;
    for (std::size_t row = 0; row + 1 < a.starts.size(); ++row) {
        auto p = a.starts[row], q = b.starts[row];
        const auto p_end = a.starts[row + 1], q_end = b.starts[row + 1];
        while (p < p_end || q < q_end) {
            const bool first = q == q_end || (p < p_end && a.columns[p] <= b.columns[q]);
            const bool second = p == p_end || (q < q_end && b.columns[q] <= a.columns[p]);
            columns[at] = first ? a.columns[p] : b.columns[q];
            counts[at++] = (first ? a.counts[p++] : 0) + (second ? b.counts[q++] : 0);
        }
    }
}

// Add to out[k] what j gains, weighted by alpha, where column k and its partner, another column or -1, are one; over
// the draws whose rows are offsets[m] to offsets[m + 1] - 1.
inline void merged(const SparseCounts& table, std::span<const std::int64_t> offsets, std::span<const double> alpha,
                   std::span<const double> cell, std::span<const std::int64_t> partner, std::span<double> out) {
    std::vector<std::size_t> here(table.n_columns);
    for (std::size_t m = 0; m + 1 < offsets.size(); ++m)
        for (auto row = offsets[m]; row < offsets[m + 1]; ++row) {
            const auto first = table.starts[row], last = table.starts[row + 1];
            for (auto p = first; p < last; ++p) {
                const auto [column, count] = table.at(p, cell.size() - 1);
                here[column] = count;
            }
            for (auto p = first; p < last; ++p) {
                const auto k = table.columns[p];
                const auto other = partner[k];
                if (other < 0 || here[other] == 0) continue;
                const std::size_t mine = table.counts[p], its = here[other];
                if (mine + its >= cell.size())
                    throw std::out_of_range("A table of counts has more items than there are.");
                out[k] += alpha[m] * (cell[mine + its] - cell[mine] - cell[its]);
            }
            for (auto p = first; p < last; ++p) here[table.columns[p]] = 0;
        }
}

// Add the sum over draws m of weights[m] values[cell of i's row in m and column labels[i]] to out[i].
template <class Label>
void own(const Block<Label>& block, std::span<const double> weights, std::span<const std::int64_t> labels,
         const SparseCounts& table, std::span<const double> values, std::span<double> out) {
    for (std::size_t m = 0; m < block.n_draws(); ++m)
        for (std::size_t i = 0; i < block.n_items(); ++i) {
            const std::size_t row = table.row(block.offsets[m], block.draw(m)[i]);
            auto first = table.starts[row], last = table.starts[row + 1];
            while (last - first > 1) {
                const auto middle = (first + last) / 2;
                (table.columns[middle] <= labels[i] ? first : last) = middle;
            }
            if (first == last || table.columns[first] != labels[i])
                throw std::out_of_range("A table of counts lacks the cell of an item.");
            out[i] += weights[m] * values[first];
        }
}

// As Moves of rows.hpp; step[x] is what a cell of x items gains by one more. Of many columns only those are visited
// that an item meets in some draw, and `cheapest`, the best to enter of those that it does not meet.
struct SparseMoves {
    std::span<const double> alpha, step, leaves, enters;
    std::size_t cheapest;
};

// Sums over columns. Where columns are many, those that were added to are remembered, and only they are visited.
class ColumnSums {
 public:
    ColumnSums(std::size_t n_columns, std::size_t n_draws)
        : sums_(n_columns), is_met_(n_columns), remembers_(n_columns > 8 * n_draws) {
        if (!remembers_)
            for (std::size_t k = 0; k < n_columns; ++k) columns_.push_back(k);
    }

    void add(std::size_t k, double x) {
        if (remembers_ && !is_met_[k]) is_met_[k] = true, columns_.push_back(k);
        sums_[k] += x;
    }
    // `work(k, sum)` for each column, and all sums 0 again.
    template <class Work>
    void take(Work&& work) {
        for (auto k : columns_) {
            work(k, sums_[k]);
            sums_[k] = 0, is_met_[k] = false;
        }
        if (remembers_) columns_.clear();
    }

 private:
    std::vector<double> sums_;
    std::vector<std::uint8_t> is_met_;
    std::vector<std::size_t> columns_;
    const bool remembers_;
};

// `items` is (items, draws) here.
template <class Label>
void best_moves(Matrix<const Label> items, std::span<const std::int64_t> offsets, const SparseCounts& table,
                const SparseMoves& moves, std::span<const std::int64_t> labels, std::span<std::int64_t> best,
                std::span<double> gains) {
    ColumnSums sums(moves.enters.size(), items.cols);
    const auto& step = moves.step;
    std::vector<double> lift(step.begin(), step.end());
    for (double& x : lift) x -= step[0];
    double base = 0;
    for (double alpha : moves.alpha) base += alpha * step[0];
    for (std::size_t i = 0; i < items.rows; ++i) {
        const auto here = static_cast<std::size_t>(labels[i]);
        double kept = 0;
        sums.add(moves.cheapest, 0);
        for (std::size_t m = 0; m < items.cols; ++m) {
            const std::size_t row = table.row(offsets[m], items(i, m));
            const double alpha = moves.alpha[m];
            for (auto p = table.starts[row]; p < table.starts[row + 1]; ++p) {
                const auto [k, count] = table.at(p, lift.size() - 1);
                sums.add(k, alpha * lift[count]);
                if (k == here) kept += alpha * step[count - 1];
            }
        }
        std::size_t found = here;
        double least = 0;
        const double fixed = moves.leaves[here] - base + kept;
        sums.take([&](std::size_t k, double sum) {
            const double change = fixed + moves.enters[k] - sum;
            if (k != here && (change < least || (change == least && least < 0 && k < found))) found = k, least = change;
        });
        best[i] = static_cast<std::int64_t>(found);
        gains[i] = -least;
    }
}

// The column whose items, sizes[k] of them, are together with each item most often on average; 0 for one that meets
// nobody. `items` is (items, draws).
template <class Label>
void nearest(Matrix<const Label> items, std::span<const std::int64_t> offsets, std::span<const double> weights,
             const SparseCounts& table, std::span<const double> sizes, std::span<std::int64_t> out) {
    ColumnSums sums(sizes.size(), 0);  // columns that an item does not meet are no answer
    for (std::size_t i = 0; i < items.rows; ++i) {
        for (std::size_t m = 0; m < items.cols; ++m) {
            const std::size_t row = table.row(offsets[m], items(i, m));
            for (auto p = table.starts[row]; p < table.starts[row + 1]; ++p) {
                const auto [k, count] = table.at(p, SIZE_MAX);
                sums.add(k, weights[m] * static_cast<double>(count));
            }
        }
        std::size_t best = 0;
        double most = 0;
        sums.take([&](std::size_t k, double sum) {
            const double mean = sum / sizes[k];
            if (mean > most || (mean == most && k < best)) best = k, most = mean;
        });
        out[i] = static_cast<std::int64_t>(best);
    }
}

}  // namespace partita
