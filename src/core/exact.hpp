// The partition of least loss, by visiting every partition of a few items.
//
// Partitions are made an item at a time, in lexicographic order of their canonical labels, so that what the first
// items contribute is found once for all partitions that begin with them. A cluster is a mask of items.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "loss.hpp"
#include "matrix.hpp"
#include "pace.hpp"
#include "vectors.hpp"

namespace partita {

constexpr std::size_t kMostVisited = 16;  // items: a mask has 16 bits

using Mask = std::uint16_t;

inline std::size_t count(Mask items) { return static_cast<std::size_t>(std::popcount(items)); }
inline Mask with(Mask items, std::size_t item) { return static_cast<Mask>(items | 1u << item); }

// What the sum of cell gains when one more item joins a cluster, by the items that are in it.
inline std::vector<double> gains_of(const Loss& loss, std::size_t n) {
    std::vector<double> gain(std::size_t{1} << n);
    for (std::size_t mask = 0; mask + 1 < gain.size(); ++mask) {
        const std::size_t size = count(static_cast<Mask>(mask));
        gain[mask] = loss.cell[size + 1] - loss.cell[size];
    }
    return gain;
}

// j of the partitions that are being made.
template <class T>
concept Joint = requires(T joint, std::size_t item, Mask others, double e) {
    joint.put(item, others);                                          // note that an item joins these others
    { joint.value(item, others, e) } -> std::convertible_to<double>;  // the loss, if it is the last to join
    { joint.work() } -> std::convertible_to<std::size_t>;             // steps that finding a value takes
};

// Where j is a sum over clusters: joint[mask] is what the cluster of these items adds to it, 0 for none.
struct OverClusters {
    std::span<const double> joint;
    double t;
    const Loss& loss;
    std::array<double, kMostVisited + 1> sums{};  // over the clusters of the first 0, 1, ... items

    double after(std::size_t item, Mask others) const { return sums[item] - joint[others] + joint[with(others, item)]; }
    void put(std::size_t item, Mask others) { sums[item + 1] = after(item, others); }
    double value(std::size_t item, Mask others, double e) const { return loss.at(t, e, after(item, others)).value; }
    std::size_t work() const { return 1; }
};

// Where every draw has its own j. Draws are filled up to a multiple of eight with some of no weight.
struct OverDraws {
    const Loss& loss;
    std::size_t n, size;
    std::vector<Mask> together;  // together[i * size + m]: the items that draw m has in the cluster of item i
    std::vector<double> t, p, gain;
    std::vector<double> sums;  // sums[i * size + m]: j of the first i items in draw m

    OverDraws(Matrix<const std::uint32_t> labels, std::span<const double> given, const Loss& its_loss)
        : loss(its_loss), n(labels.cols), size((labels.rows + kDoubles - 1) / kDoubles * kDoubles), together(n * size),
          t(size), p(given.begin(), given.end()), gain(gains_of(loss, n)), sums(n * size) {
        p.resize(size);
        for (std::size_t m = 0; m < labels.rows; ++m) {
            const auto row = labels.row(m);
            for (std::size_t i = 0; i < n; ++i) {
                Mask& mask = together[i * size + m];
                for (std::size_t k = 0; k < n; ++k)
                    if (row[k] == row[i]) mask = with(mask, k);
                const auto is_first = (mask & ((1u << i) - 1)) == 0;
                if (is_first) t[m] += loss.cell[count(mask)];
            }
        }
    }

    // What eight draws from m on gain.
    Doubles gains(std::size_t item, std::size_t m, Mask others) const {
        const Mask* mask = &together[item * size + m];
        Doubles out;
        for (int lane = 0; lane < kDoubles; ++lane) out[lane] = gain[mask[lane] & others];
        return out;
    }

    void put(std::size_t item, Mask others) {
        for (std::size_t m = 0; m < size; m += kDoubles)
            store(load<Doubles>(&sums[item * size + m]) + gains(item, m, others), &sums[(item + 1) * size + m]);
    }

    double value(std::size_t item, Mask others, double e) const {
        const auto of = loss.at_size(e);
        Doubles total{};
        for (std::size_t m = 0; m < size; m += kDoubles) {
            const Doubles j = load<Doubles>(&sums[item * size + m]) + gains(item, m, others);
            total += load<Doubles>(&p[m]) * of.value(load<Doubles>(&t[m]), j);
        }
        return sum(total);
    }

    std::size_t work() const { return size; }

    // Where the loss is linear in t and j, their means are enough: j becomes a sum over clusters.
    std::vector<double> means(Pace& pace) const {
        std::vector<double> joint(std::size_t{1} << n);
        for (std::size_t item = 0; item < n; ++item)
            for (std::size_t others = 0; others < std::size_t{1} << item; ++others) {
                if (pace.is_up(size)) return {};
                Doubles mean{};
                for (std::size_t m = 0; m < size; m += kDoubles)
                    mean += load<Doubles>(&p[m]) * gains(item, m, static_cast<Mask>(others));
                joint[others | std::size_t{1} << item] = joint[others] + sum(mean);
            }
        return joint;
    }
};

template <Joint J>
class Visit {
 public:
    Visit(J& joint, const Loss& loss, std::size_t max_clusters, std::span<std::int64_t> best, Stop& stop)
        : joint_(joint), gain_(gains_of(loss, best.size())), max_clusters_(max_clusters), best_(best), pace_(stop),
          labels_(best.size()) {
        std::array<Mask, kMostVisited> clusters{};
        double e = 0;
        for (std::size_t item = 0; item < best.size(); ++item) {
            Mask& own = clusters[static_cast<std::size_t>(best[item])];
            e += gain_[own];
            if (item + 1 == best.size()) least_ = joint_.value(item, own, e);
            else joint_.put(item, own);
            own = with(own, item);
        }
    }

    // Puts an item, and all after it, wherever it can go; false if the stop came.
    bool place(std::size_t item, std::size_t n_clusters, double e) {
        for (std::size_t k = 0; k < std::min(n_clusters + 1, max_clusters_); ++k) {
            const Mask others = clusters_[k];
            labels_[item] = static_cast<std::int64_t>(k);
            if (item + 1 == labels_.size()) {
                if (pace_.is_up(joint_.work())) return false;
                keep_if_better(joint_.value(item, others, e + gain_[others]));
                continue;
            }
            joint_.put(item, others);
            clusters_[k] = with(others, item);
            if (!place(item + 1, std::max(n_clusters, k + 1), e + gain_[others])) return false;
            clusters_[k] = others;
        }
        return true;
    }

 private:
    void keep_if_better(double value) {
        // a difference this small is rounding, and then the first is kept
        if (value >= least_ - 1e-13 * std::max(1.0, std::abs(value))) return;
        least_ = value;
        std::copy(labels_.begin(), labels_.end(), best_.begin());
    }

    J& joint_;
    std::vector<double> gain_;
    std::size_t max_clusters_;
    std::span<std::int64_t> best_;
    double least_ = 0;
    Pace pace_;
    std::vector<std::int64_t> labels_;
    std::array<Mask, kMostVisited + 1> clusters_{};
};

// `best` holds a partition and becomes the first that is better than all before it, t and j being as OverClusters say.
// Only partitions into at most `max_clusters` are visited. False if the stop came first.
inline bool visit_clusters(std::span<const double> joint, double t, const Loss& loss, std::size_t max_clusters,
                           std::span<std::int64_t> best, Stop& stop) {
    OverClusters sums{joint, t, loss};
    return Visit(sums, loss, max_clusters, best, stop).place(0, 0, 0.0);
}

// The same for the expected loss over draws with probabilities p.
inline bool visit_draws(Matrix<const std::uint32_t> labels, std::span<const double> p, const Loss& loss,
                        std::size_t max_clusters, std::span<std::int64_t> best, Stop& stop) {
    OverDraws draws(labels, p, loss);
    if (!loss.is_linear() || loss.bottom[0] != 0) return Visit(draws, loss, max_clusters, best, stop).place(0, 0, 0.0);
    Pace pace(stop);
    const auto joint = draws.means(pace);
    double t = 0;
    for (std::size_t m = 0; m < draws.size; ++m) t += draws.p[m] * draws.t[m];
    return !joint.empty() && visit_clusters(joint, t, loss, max_clusters, best, stop);
}

}  // namespace partita
