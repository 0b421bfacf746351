// Label vectors, a row a draw.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "matrix.hpp"

namespace partita {

// How far labels are from the least of them, whatever integers they are.
template <class T>
std::uint64_t code_of(T label, std::int64_t low) {
    return static_cast<std::uint64_t>(label) - static_cast<std::uint64_t>(low);
}

[[noreturn]] inline void refuse_label(std::uint64_t label, std::uint64_t limit) {
    throw std::out_of_range("A label must be below " + std::to_string(limit) + "; got " + std::to_string(label) + ".");
}

// Of labels that are numbered from 0 on.
template <class Label>
std::size_t n_clusters_of(std::span<const Label> row) {
    return row.empty() ? 0 : std::size_t{*std::max_element(row.begin(), row.end())} + 1;
}

// Throw unless all labels are below a limit: one pass that vectorises, before loops that index by them.
template <class T>
void check_below(std::span<const T> labels, std::uint64_t limit) {
    T most = 0;
    for (T x : labels) most = x > most ? x : most;
    if (!labels.empty() && most >= limit) refuse_label(most, limit);
}

// Write each row's clusters numbered by first appearance to `out`, and how many they are to `counts`. Labels are
// from `low` to low + span - 1. A row of more clusters than `out` has numbers for is the last to be looked at.
template <class T, class Number>
void renumber(Matrix<const T> labels, std::int64_t low, std::uint64_t span, Matrix<Number> out,
              std::span<std::int64_t> counts) {
    const auto most =
        static_cast<std::int64_t>(std::min<std::uint64_t>(std::numeric_limits<Number>::max(), INT64_MAX - 1)) + 1;
    std::vector<std::int64_t> number(span, -1);  // less than where a row begins: not seen in that row
    for (std::size_t r = 0; r < labels.rows; ++r) {
        const auto begin = static_cast<std::int64_t>(r * labels.cols);
        std::int64_t following = begin;
        const auto from = labels.row(r);
        const auto to = out.row(r);
        for (std::size_t i = 0; i < labels.cols; ++i) {
            const std::uint64_t c = code_of(from[i], low);
            if (c >= span) refuse_label(c, span);
            if (number[c] < begin) number[c] = following++;
            to[i] = static_cast<Number>(number[c] - begin);
        }
        counts[r] = following - begin;
        if (counts[r] > most) return;
    }
}

// The items of each cluster, in their order.
struct Members {
    std::vector<std::int64_t> items, starts;  // cluster k has items[starts[k]] to items[starts[k + 1] - 1]

    std::span<const std::int64_t> operator[](std::size_t k) const {
        return std::span(items).subspan(starts[k], starts[k + 1] - starts[k]);
    }

    template <class T>
    Members(std::span<const T> labels, std::size_t n_clusters) : items(labels.size()), starts(n_clusters + 1) {
        check_below(labels, n_clusters);
        for (T k : labels) ++starts[k + 1];
        for (std::size_t k = 0; k < n_clusters; ++k) starts[k + 1] += starts[k];
        auto following = starts;
        for (std::size_t i = 0; i < labels.size(); ++i) items[following[labels[i]]++] = static_cast<std::int64_t>(i);
    }
};

}  // namespace partita
