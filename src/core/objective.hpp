// What a search asks of an objective. Items may be single, or blocks of items that move as one.
#pragma once
#include <concepts>
#include <limits>

#include "partition.hpp"

namespace partita {

struct Limits {  // numbers of clusters that are allowed
    int least = 1, most = std::numeric_limits<int>::max();
};

struct Proposal {
    int column;    // -1 if none seems better than where the item is
    bool is_sure;  // whether it is better for sure, so that the loss need not be looked at
};

// A move is proposed by what it gains on a linear function, the slopes of the loss in its sums e and j.
template <class O>
concept Objective = requires(O o, const O& fixed, const Labels& labels, int item, int column) {
    { fixed.size() } -> std::convertible_to<int>;              // items, or blocks
    { fixed.n_steps() } -> std::convertible_to<std::size_t>;   // of some nanoseconds, that a proposal takes
    { fixed.labels() } -> std::convertible_to<const Labels&>;  // the column of each
    { fixed.value() } -> std::convertible_to<double>;          // the loss, exactly
    { fixed.limits() } -> std::convertible_to<Limits>;
    { fixed.n_missing() } -> std::convertible_to<int>;          // clusters, until there are as many as must be
    { fixed.like(item, item) } -> std::convertible_to<double>;  // how similar two items are, on average
    {o.load(labels)};                                           // begin at a partition
    {o.clear()};                                                // no item in a cluster; slopes stay
    { o.propose(item) } -> std::same_as<Proposal>;              // the column that seems best for an item
    { o.change(item, column) } -> std::convertible_to<double>;  // of the loss, exactly, for the item proposed last
    {o.move(item, column)};                                     // -1 takes it out of all clusters
    { o.empty_column() } -> std::convertible_to<int>;
    {o.settle()};                    // slopes are those of the present state again
    {o.group(fixed, labels, item)};  // become blocks of the other's items
};

}  // namespace partita
