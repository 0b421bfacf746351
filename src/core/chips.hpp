// CHIPS (Page, Barrientos, Dahl & Dunson 2025): the largest partition of some of the items that holds with a given
// probability, grown an item at a time.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "matrix.hpp"
#include "pace.hpp"
#include "vectors.hpp"

namespace partita {

// The draws that hold a sub-partition, and what each further item would leave of their weight. A slot is a cluster of
// the sub-partition; the last, `n_labels`, stands for clusters that are none of its.
template <class Label>
class Holders {
 public:
    struct Place {
        std::size_t item, slot;
        double weight;  // that would be left if the item were added there
    };

    Holders(Matrix<const Label> draws, std::span<const double> weights, std::size_t n_labels)
        : draws_(draws), weights_(weights), n_labels_(n_labels), held_by_(draws.rows),
          slots_(draws.rows * n_labels, static_cast<std::uint32_t>(n_labels)), left_(draws.cols * (n_labels + 1)) {
        std::iota(held_by_.begin(), held_by_.end(), std::size_t{0});
        std::fill_n(of_slot(n_labels), draws.cols, weight());
    }

    double weight() const {
        double total = 0;
        for (auto m : held_by_) total += weights_[m];
        return total;
    }

    // The first item, and its first slot, of the most weight that would be left.
    Place best() const {
        Doubles most = Doubles{} - 1.0;
        std::size_t at = 0;
        for (; at + kDoubles <= left_.size(); at += kDoubles) {
            const auto these = load<Doubles>(&left_[at]);
            most = these > most ? these : most;
        }
        double weight = -1;
        for (; at < left_.size(); ++at) weight = std::max(weight, left_[at]);
        for (int lane = 0; lane < kDoubles; ++lane) weight = std::max(weight, most[lane]);
        Place found{draws_.cols, 0, weight};
        for (std::size_t slot = 0; slot <= n_labels_; ++slot) {
            const double* row = &left_[slot * draws_.cols];
            const auto item = static_cast<std::size_t>(std::find(row, row + found.item, weight) - row);
            if (item < found.item) found = {item, slot, weight};
        }
        return found;
    }

    // Let go of the draws that do not have an item in this slot; if that is none's, it becomes cluster `opened`.
    // False if the stop came.
    bool add(std::size_t item, std::size_t slot, std::size_t opened, Pace& pace) {
        std::size_t kept = 0;
        for (auto m : held_by_) {
            if (pace.is_up(draws_.cols)) return false;
            const auto row = draws_.row(m);
            auto* its_slots = &slots_[m * n_labels_];
            if (its_slots[row[item]] != slot) {
                for (std::size_t i = 0; i < row.size(); ++i) of_slot(its_slots[row[i]])[i] -= weights_[m];
                continue;
            }
            held_by_[kept++] = m;
            if (slot < n_labels_) continue;
            its_slots[row[item]] = static_cast<std::uint32_t>(opened);
            double *none = of_slot(n_labels_), *own = of_slot(opened);
            for (std::size_t i = 0; i < row.size(); ++i) {
                const double moved = row[i] == row[item] ? weights_[m] : 0.0;
                none[i] -= moved;
                own[i] += moved;
            }
        }
        held_by_.resize(kept);
        for (std::size_t s = 0; s <= n_labels_; ++s) of_slot(s)[item] = -1;  // taken
        return true;
    }

 private:
    double* of_slot(std::size_t slot) { return &left_[slot * draws_.cols]; }

    Matrix<const Label> draws_;
    std::span<const double> weights_;
    std::size_t n_labels_;
    std::vector<std::size_t> held_by_;  // the draws that hold it
    std::vector<std::uint32_t> slots_;  // by draw and its cluster
    std::vector<double> left_;          // by slot and item
};

// The items that were kept, in the order in which they were added, the cluster of each, and the weight of the draws
// that held the sub-partition after each.
struct SubPartition {
    std::vector<std::int64_t> items, clusters;
    std::vector<double> weight;
};

// From one item, again and again the item and the cluster, perhaps a new one, that most of the weight which holds the
// sub-partition agrees on, until that would be less than `needed`. Labels lie below `n_labels`.
template <class Label>
SubPartition grow_sub_partition(Matrix<const Label> draws, std::span<const double> weights, std::size_t n_labels,
                                std::size_t first, double needed, Stop& stop) {
    Holders<Label> holders(draws, weights, n_labels);
    Pace pace(stop);
    SubPartition found;
    std::size_t n_clusters = 0, item = first, slot = n_labels;
    while (holders.add(item, slot, n_clusters, pace)) {
        found.items.push_back(static_cast<std::int64_t>(item));
        found.clusters.push_back(static_cast<std::int64_t>(slot == n_labels ? n_clusters++ : slot));
        found.weight.push_back(holders.weight());
        const auto best = holders.best();
        if (best.item == draws.cols || best.weight < needed || found.items.size() == draws.cols) break;
        item = best.item;
        slot = best.slot;
    }
    return found;
}

}  // namespace partita
