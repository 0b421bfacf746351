// How often two items share a label, for every pair. Without weights labels are taken apart into bits, 64 draws in a
// word: two labels differ where any of their bits do, so 64 draws of a pair take an exclusive or for each bit of a
// label and one count of ones. With weights labels are compared draw by draw.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "labels.hpp"
#include "matrix.hpp"
#include "similarity_kernels.hpp"
#include "stop.hpp"
#include "tasks.hpp"

namespace partita {

// Bits of labels: [panel of 16 items][word of 64 draws][plane][item].
struct BitPlanes {
    const std::uint64_t* data = nullptr;
    std::size_t n_panels = 0, n_words = 0, n_planes = 0;

    std::size_t panel_size() const { return n_words * n_planes * kPanel; }
    const std::uint64_t* panel(std::size_t k) const { return data + k * panel_size(); }
};

// Take apart the labels, each below 2^n_planes, of panels `first` to `last` - 1; what is beyond the draws or the
// items is 0. `out` is as BitPlanes say.
template <class Label>
void take_apart(Matrix<const Label> labels, std::size_t n_planes, std::size_t first, std::size_t last,
                std::uint64_t* out) {
    const std::size_t n_words = (labels.rows + kWord - 1) / kWord;
    std::uint32_t some[kWord * kPanel] = {};
    for (std::size_t word = 0; word < n_words; ++word)
        for (std::size_t panel = first; panel < last; ++panel) {
            const std::size_t left = panel * kPanel, width = std::min(kPanel, labels.cols - left);
            const std::size_t top = word * kWord, depth = std::min(kWord, labels.rows - top);
            if (width < kPanel || depth < kWord) std::fill_n(some, kWord * kPanel, 0);
            for (std::size_t d = 0; d < depth; ++d) std::copy_n(&labels(top + d, left), width, some + d * kPanel);
            const std::uint64_t seen =
                similarity_kernels().take_apart(some, n_planes, out + (panel * n_words + word) * n_planes * kPanel);
            if (seen >> n_planes) refuse_label(seen, std::uint64_t{1} << n_planes);
        }
}

// A part of the matrix to fill; its columns begin at a multiple of 16. If it is symmetric, rows and columns are the
// same items, the strip begins on the diagonal or to its right, and pairs are written both ways round.
template <class Real>
struct Strip {
    std::size_t top, bottom, left, right;
    bool is_symmetric;
    Matrix<Real> out;

    std::size_t first_column(std::size_t row) const { return is_symmetric ? std::max(left, row) : left; }

    // Rows from a block's first on that have a pair in the panel that ends at `end`.
    std::size_t rows_above(std::size_t first, std::size_t end) const {
        const std::size_t last = std::min(first + kBlock, bottom);
        return (is_symmetric ? std::min(last, end) : last) - first;
    }

    // Write a block of shares, [row][kPanel], whose corner is at (first, start).
    void write(const double* shares, std::size_t first, std::size_t start, std::size_t end) const {
        const std::size_t last = std::min(first + kBlock, bottom);
        const auto share = [&](std::size_t r, std::size_t c) {
            return static_cast<Real>(shares[(r - first) * kPanel + c - start]);
        };
        if (is_symmetric && start < last) {  // across the diagonal
            for (std::size_t r = first; r < last; ++r)
                for (std::size_t c = std::max(start, r); c < end; ++c) out(r, c) = out(c, r) = r == c ? 1 : share(r, c);
            return;
        }
        for (std::size_t r = first; r < last; ++r)
            for (std::size_t c = start; c < end; ++c) out(r, c) = share(r, c);
        if (!is_symmetric) return;
        for (std::size_t c = start; c < end; ++c)
            for (std::size_t r = first; r < last; ++r) out(c, r) = share(r, c);
    }
};

// Write the share of draws in which items of `rows` and of `cols` agree, correctly rounded.
template <class Real>
void count_shares(const BitPlanes& rows, const BitPlanes& cols, std::size_t n_draws, const Strip<Real>& strip) {
    const auto& kernels = similarity_kernels();
    std::uint64_t counts[kBlock * kPanel] = {};
    double shares[kBlock * kPanel];
    for (std::size_t top = strip.top; top < strip.bottom; top += kBlock)
        for (std::size_t left = strip.first_column(top); left < strip.right; left += kPanel) {
            const std::size_t right = std::min(left + kPanel, strip.right);
            kernels.count_apart(rows.panel(top / kPanel), rows.panel_size(), cols.panel(left / kPanel), rows.n_words,
                                rows.n_planes, strip.rows_above(top, right), counts);
            kernels.divide(counts, static_cast<double>(n_draws), shares);
            strip.write(shares, top, left, right);
        }
}

// The same for the share of weight: each sum is taken in the order of the draws, as is the sum of all weights.
template <class Label, class Real>
void weigh_shares(Matrix<const Label> rows, Matrix<const Label> cols, std::span<const double> weights,
                  const Strip<Real>& strip) {
    constexpr std::size_t kDraws = 128, kPanels = 32;  // together, so that what is copied is used often enough
    std::vector<std::uint64_t> held(kDraws * kBlock), panel(kDraws * kPanel);
    std::vector<double> sums(kPanels * kBlock * kPanel);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const auto copy = [](Matrix<const Label> from, std::size_t draw, std::size_t n, std::size_t first, std::size_t last,
                         std::size_t stride, std::uint64_t* to) {
        for (std::size_t d = 0; d < n; ++d)
            for (std::size_t i = first; i < last; ++i) to[d * stride + i - first] = from(draw + d, i);
    };
    for (std::size_t top = strip.top; top < strip.bottom; top += kBlock)
        for (std::size_t left = strip.first_column(top); left < strip.right; left += kPanels * kPanel) {
            const std::size_t right = std::min(left + kPanels * kPanel, strip.right);
            const auto sums_of = [&](std::size_t at) { return sums.data() + (at - left) * kBlock; };
            const auto end_of = [&](std::size_t at) { return std::min(at + kPanel, right); };
            const auto used = std::span(sums).first((right - left + kPanel - 1) / kPanel * kPanel * kBlock);
            std::fill(used.begin(), used.end(), 0.0);
            for (std::size_t draw = 0; draw < weights.size(); draw += kDraws) {
                const std::size_t n = std::min(kDraws, weights.size() - draw);
                copy(rows, draw, n, top, std::min(top + kBlock, strip.bottom), kBlock, held.data());
                for (std::size_t at = left; at < right; at += kPanel) {
                    copy(cols, draw, n, at, end_of(at), kPanel, panel.data());
                    similarity_kernels().weigh(held.data(), panel.data(), weights.data() + draw, n,
                                               strip.rows_above(top, end_of(at)), sums_of(at));
                }
            }
            for (double& sum : used) sum /= total;
            for (std::size_t at = left; at < right; at += kPanel) strip.write(sums_of(at), top, at, end_of(at));
        }
}

// Threads that are worth their start: each gets a tenth of a millisecond of comparisons or more.
inline int worthwhile(int n_threads, std::size_t n_pairs, std::size_t n_draws) {
    const double most = 1 + static_cast<double>(n_pairs) * static_cast<double>(n_draws + 50) / 2.5e7;
    return static_cast<int>(std::min<double>(n_threads, most));
}

// The labels of all items taken apart.
template <class Label>
std::pair<std::unique_ptr<std::uint64_t[]>, BitPlanes> planes_of(Matrix<const Label> labels, std::size_t n_planes,
                                                                 int n_threads) {
    constexpr std::size_t kPanels = 16;  // taken apart together
    BitPlanes planes{nullptr, (labels.cols + kPanel - 1) / kPanel, (labels.rows + kWord - 1) / kWord, n_planes};
    auto held = std::make_unique_for_overwrite<std::uint64_t[]>(planes.n_panels * planes.panel_size());
    planes.data = held.get();
    run_tasks(static_cast<int>((planes.n_panels + kPanels - 1) / kPanels), n_threads, [&](int x, int) {
        const std::size_t first = x * kPanels;
        take_apart(labels, n_planes, first, std::min(first + kPanels, planes.n_panels), held.get());
    });
    return {std::move(held), planes};
}

// Fill `out` with the share of draws, or of weight if there are weights, in which items of `rows` and of `cols` agree.
// If it is symmetric, `rows` and `cols` are the same items.
template <class Label, class Real>
void fill_shares(Matrix<const Label> rows, Matrix<const Label> cols, std::span<const double> weights, bool is_symmetric,
                 Matrix<Real> out, int n_threads, Stop& stop) {
    constexpr std::size_t kWidth = 512;  // columns of a strip: Ctrl-C is heard between two strips
    std::vector<Strip<Real>> strips;
    for (std::size_t top = 0; top < out.rows; top += kBlock)
        for (std::size_t left = is_symmetric ? top : 0; left < out.cols; left += kWidth)
            strips.push_back(
                {top, std::min(top + kBlock, out.rows), left, std::min(left + kWidth, out.cols), is_symmetric, out});
    n_threads = worthwhile(n_threads, out.rows * out.cols, rows.rows);
    std::unique_ptr<std::uint64_t[]> held, others;
    BitPlanes of_rows, of_cols;
    if (weights.empty()) {
        const auto largest = [](Matrix<const Label> labels) {
            return labels.rows * labels.cols == 0
                       ? Label{0}
                       : *std::max_element(labels.data, labels.data + labels.rows * labels.cols);
        };
        const auto n_planes = std::max<std::size_t>(1, std::bit_width(std::max(largest(rows), largest(cols))));
        std::tie(held, of_rows) = planes_of(rows, n_planes, n_threads);
        of_cols = of_rows;
        if (!is_symmetric) std::tie(others, of_cols) = planes_of(cols, n_planes, n_threads);
    }
    std::atomic<std::size_t> n_done = 0;
    run_tasks(static_cast<int>(strips.size()), n_threads, [&](int x, int) {
        if (stop.is_up()) return;
        if (weights.empty()) count_shares(of_rows, of_cols, rows.rows, strips[x]);
        else weigh_shares(rows, cols, weights, strips[x]);
        stop.done.store(static_cast<double>(++n_done) / static_cast<double>(strips.size()));
    });
}

// Sums of the matrix over each item's own cluster.
template <class T>
void own_sums(Matrix<const T> matrix, const Members& members, std::span<double> out, int n_threads) {
    constexpr std::size_t kItems = 256;  // of a task, in the order of their clusters
    const auto sum = [&](std::size_t item, auto own) {
        const auto row = matrix.row(item);
        double sums[4] = {};  // four sums do not wait for each other
        std::size_t b = 0;
        for (; b + 4 <= own.size(); b += 4)
            for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += row[own[b + lane]];
        for (; b < own.size(); ++b) sums[0] += row[own[b]];
        return (sums[0] + sums[2]) + (sums[1] + sums[3]);
    };
    n_threads = worthwhile(n_threads, out.size() * out.size(), 0);
    run_tasks(static_cast<int>((out.size() + kItems - 1) / kItems), n_threads, [&](int x, int) {
        const std::size_t first = x * kItems, last = first + kItems;
        for (std::size_t k = 0; k + 1 < members.starts.size(); ++k) {
            const auto own = members[k];
            const auto begin = static_cast<std::size_t>(members.starts[k]);
            for (std::size_t a = std::max(begin, first); a < std::min(begin + own.size(), last); ++a)
                out[members.items[a]] = sum(members.items[a], own);
        }
    });
}

}  // namespace partita
