// CHIPS (Page, Barrientos, Dahl & Dunson 2025): partitions of some of the items, and the draws that hold them. They
// grow an item at a time, the best few side by side.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "matrix.hpp"
#include "pace.hpp"
#include "random.hpp"
#include "vectors.hpp"

namespace partita {

// A way to grow a sub-partition: an item, and the place it goes to. Place 0 opens a cluster, place k is cluster k - 1.
struct Growth {
    std::size_t parent, item, place;
    double weight;      // of the draws that hold it then
    std::uint64_t key;  // the same for the same sub-partition, whatever the order in which it grew
};

// The draws that hold a sub-partition, and what each further item would leave of their weight. Weights are whole
// numbers, so that sums of them are exact.
template <class Label>
class Holders {
 public:
    Holders(Matrix<const Label> draws, std::span<const double> weights, std::size_t n_labels)
        : draws_(draws), weights_(weights), n_labels_(n_labels), held_by_(draws.rows), places_(draws.rows * n_labels),
          left_(draws.cols) {
        std::iota(held_by_.begin(), held_by_.end(), std::uint32_t{0});
        std::fill(left_.begin(), left_.end(), std::accumulate(weights.begin(), weights.end(), 0.0));
    }

    // What is left when an item goes to a place, by place and item; below zero if it is taken.
    std::span<const double> left() const { return left_; }

    std::uint64_t key_after(std::size_t item, std::size_t place) const {
        const std::uint64_t own = Rng::mix(item + 1);
        return place == 0 ? key_ + Rng::mix(own) : key_ - Rng::mix(keys_[place - 1]) + Rng::mix(keys_[place - 1] ^ own);
    }

    // Let go of the draws that do not have the item in that place. False if the stop came.
    bool add(std::size_t item, std::size_t place, Pace& pace) {
        key_ = key_after(item, place);
        if (place == 0) {
            keys_.push_back(0);
            left_.resize(left_.size() + draws_.cols);
        }
        const std::size_t cluster = place == 0 ? keys_.size() : place;
        keys_[cluster - 1] ^= Rng::mix(item + 1);
        std::size_t kept = 0;
        for (auto m : held_by_) {
            if (pace.is_up(draws_.cols)) return false;
            const auto row = draws_.row(m);
            auto* its = &places_[m * n_labels_];
            if (its[row[item]] != place) {
                for (std::size_t i = 0; i < row.size(); ++i) of_place(its[row[i]])[i] -= weights_[m];
                continue;
            }
            held_by_[kept++] = m;
            if (place == 0) open(row, row[item], cluster, weights_[m]), its[row[item]] = cluster;
        }
        held_by_.resize(kept);
        for (std::size_t p = 0; p <= keys_.size(); ++p) of_place(p)[item] = -1;
        return true;
    }

 private:
    double* of_place(std::size_t place) { return &left_[place * draws_.cols]; }

    // In this draw, items of this label could join the new cluster from now on.
    void open(std::span<const Label> row, Label label, std::size_t cluster, double weight) {
        double *none = of_place(0), *own = of_place(cluster);
        for (std::size_t i = 0; i < row.size(); ++i) {
            const double moved = row[i] == label ? weight : 0.0;
            none[i] -= moved;
            own[i] += moved;
        }
    }

    Matrix<const Label> draws_;
    std::span<const double> weights_;
    std::size_t n_labels_;
    std::vector<std::uint32_t> held_by_;  // the draws that hold it
    std::vector<std::uint32_t> places_;   // by draw and its label
    std::vector<double> left_;
    std::vector<std::uint64_t> keys_;  // of each cluster
    std::uint64_t key_ = 0;
};

// The best few ways to grow, no two of them to the same sub-partition.
class BestGrowths {
 public:
    explicit BestGrowths(std::size_t width) : width_(width) {}

    double least() const { return found_.size() < width_ ? 0 : found_.front().weight; }

    void offer(const Growth& one) {
        if (std::any_of(found_.begin(), found_.end(), [&](const auto& f) { return f.key == one.key; })) return;
        if (found_.size() == width_) {
            std::pop_heap(found_.begin(), found_.end(), heavier);
            found_.pop_back();
        }
        found_.push_back(one);
        std::push_heap(found_.begin(), found_.end(), heavier);
    }

    // Of one sub-partition: all that leave more than the least of those found so far.
    template <class Label>
    void offer_all(const Holders<Label>& from, std::size_t parent, std::size_t n_items) {
        constexpr std::size_t kRun = 8 * kDoubles;
        const auto left = from.left();
        for (std::size_t at = 0; at < left.size(); at += kRun) {
            const auto end = std::min(left.size(), at + kRun);
            if (end - at == kRun) {
                auto most = load<Doubles>(&left[at]);
                for (std::size_t x = at + kDoubles; x < end; x += kDoubles) {
                    const auto these = load<Doubles>(&left[x]);
                    most = these > most ? these : most;
                }
                double largest = most[0];
                for (int lane = 1; lane < kDoubles; ++lane) largest = std::max(largest, most[lane]);
                if (largest <= least()) continue;
            }
            for (std::size_t x = at; x < end; ++x)
                if (left[x] > least())
                    offer({parent, x % n_items, x / n_items, left[x], from.key_after(x % n_items, x / n_items)});
        }
    }

    std::vector<Growth> sorted() {
        std::sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) {
            return a.weight != b.weight ? a.weight > b.weight : a.key < b.key;
        });
        return std::move(found_);
    }

 private:
    static bool heavier(const Growth& a, const Growth& b) { return a.weight > b.weight; }

    std::size_t width_;
    std::vector<Growth> found_;
};

// How sub-partitions grew. Node x added items[x] to that of node parents[x] (-1 for none); best[s] is the node of the
// most weight with s + 1 items more than the start.
struct GrownTree {
    std::vector<std::int64_t> parents, items, places, best;
    std::vector<double> weights;

    std::int64_t add(std::int64_t parent, const Growth& one) {
        parents.push_back(parent);
        items.push_back(static_cast<std::int64_t>(one.item));
        places.push_back(static_cast<std::int64_t>(one.place));
        weights.push_back(one.weight);
        return static_cast<std::int64_t>(parents.size()) - 1;
    }
};

// From each of the first items or, if `start` has labels that are not -1, from that sub-partition, until every item is
// in it or no draw holds it. Labels lie below `n_labels`.
template <class Label>
GrownTree grow_sub_partitions(Matrix<const Label> draws, std::span<const double> weights, std::size_t n_labels,
                              std::span<const std::int64_t> start, std::span<const std::int64_t> firsts,
                              std::size_t width, Stop& stop) {
    struct Lane {
        Holders<Label> holders;
        std::int64_t node;
    };
    Pace pace(stop);
    GrownTree tree;
    Lane begin{Holders<Label>(draws, weights, n_labels), -1};
    std::vector<std::size_t> place_of(start.size() + 1, 0);
    std::size_t n_opened = 0, n_placed = 0;
    for (std::size_t i = 0; i < start.size(); ++i) {
        if (start[i] < 0) continue;
        auto& place = place_of[static_cast<std::size_t>(start[i])];
        if (!begin.holders.add(i, place, pace)) return tree;
        if (place == 0) place = ++n_opened;
        ++n_placed;
    }
    std::vector<Lane> lanes;
    if (n_placed > 0) lanes.push_back(begin);
    for (std::size_t x = 0; n_placed == 0 && x < firsts.size(); ++x) {
        const auto item = static_cast<std::size_t>(firsts[x]);
        lanes.push_back(begin);
        lanes.back().node = tree.add(-1, {0, item, 0, begin.holders.left()[item], 0});
        if (!lanes.back().holders.add(item, 0, pace)) return tree;
    }
    if (n_placed == 0) tree.best.push_back(0), n_placed = 1;
    for (; n_placed < draws.cols; ++n_placed) {
        BestGrowths best(width);
        for (std::size_t x = 0; x < lanes.size(); ++x) best.offer_all(lanes[x].holders, x, draws.cols);
        const auto chosen = best.sorted();
        if (chosen.empty()) break;
        std::vector<std::size_t> n_children(lanes.size());
        for (const auto& one : chosen) ++n_children[one.parent];
        std::vector<Lane> next;
        for (const auto& one : chosen) {
            const auto node = tree.add(lanes[one.parent].node, one);
            if (&one == &chosen.front()) tree.best.push_back(node);
            if (--n_children[one.parent] > 0) next.push_back(lanes[one.parent]);
            else next.push_back(std::move(lanes[one.parent]));
            next.back().node = node;
            if (!next.back().holders.add(one.item, one.place, pace)) return tree;
        }
        lanes = std::move(next);
    }
    return tree;
}

}  // namespace partita
