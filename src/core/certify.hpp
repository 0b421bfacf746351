// Lower bounds of clique partitioning, by inequalities that every partition meets.
//
// Binder's loss of a partition is a constant plus a multiple of the sum of d_ij over the pairs that are together. With
// x_ij = 1 for these, x_ij + x_jk - x_ik <= 1 holds for all triples. Inequalities with multipliers y >= 0 charge the
// pairs, c = d + charges, and the sum of min(0, c) less the sum of y is a lower bound, whatever y is.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "matrix.hpp"
#include "pace.hpp"

namespace partita {

constexpr std::size_t kMostCertified = 65'535;  // items: places of pairs have 32 bits

// x_ij + x_jk - x_ik <= 1, with j in the middle; its multiplier, or by how much it is violated.
struct Triangle {
    std::size_t j, i, k;
    double value;
};

// Triangles that pay debts. A pair's slack is what it would cost to treat it otherwise than the partition does, d_ij
// apart and -d_ij together; if negative, it is a debt. A triangle that is tight at the partition moves slack: one of
// its pairs gains what the two others give. The bound is the partition's cost less all debts, whose squares are made
// least, a triangle at a time.
//
// Items come in the order of their clusters, so that a cluster is a range.
class Book {
 public:
    Book(Matrix<const double> d, std::span<const std::int64_t> labels, Stop& stop)
        : n_(labels.size()), order_(n_), first_(n_), last_(n_), slack_(n_ * n_), pace_(stop) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::stable_sort(order_.begin(), order_.end(), [&](auto a, auto b) { return labels[a] < labels[b]; });
        for (std::size_t a = 0; a < n_; ++a)
            first_[a] = a > 0 && labels[order_[a]] == labels[order_[a - 1]] ? first_[a - 1] : a;
        for (std::size_t a = n_; a-- > 0;) last_[a] = a + 1 < n_ && first_[a] == first_[a + 1] ? last_[a + 1] : a + 1;
        for (std::size_t a = 0; a < n_; ++a)
            for (std::size_t b = 0; b < n_; ++b) {
                const double cost = d(order_[a], order_[b]);
                slack_[a * n_ + b] = first_[a] == first_[b] ? -cost : cost;
            }
    }

    // Drops the triangles that no longer pay, copies slacks below the diagonal and adds up what is owed.
    double close() {
        std::erase_if(charges_, [](const Charge& charge) { return charge.paid <= 0; });
        owed_ = 0;
        n_owing_ = 0;
        for (std::size_t i = 0; i < n_; ++i)
            for (std::size_t k = i + 1; k < n_; ++k) {
                const double value = slack_[i * n_ + k];
                slack_[k * n_ + i] = value;
                if (value < 0) owed_ -= value, ++n_owing_;
            }
        return owed_;
    }

    // Every pair that owes much is paid by the triangles that can most. False if the stop came.
    bool pay() {
        const double least = kShare * owed_ / static_cast<double>(n_owing_);
        for (std::size_t i = 0; i < n_; ++i) {
            if (pace_.is_up(n_)) return false;
            for (std::size_t k = i + 1; k < n_; ++k)
                for (int times = 0; times < kTimes && slack_[i * n_ + k] < -least; ++times) {
                    if (pace_.is_up(last_[i] - first_[i] + last_[k] - first_[k])) return false;
                    if (!pay_one(i, k, least)) break;
                }
        }
        return true;
    }

    // Every triangle pays more, or takes back, as is best now; again and again. False if the stop came.
    bool balance() {
        for (int pass = 0; pass < kPasses; ++pass)
            for (auto& [pairs, paid] : charges_) {
                if (pace_.is_up(4)) return false;
                const double best = payment(slack_[pairs[0]], slack_[pairs[1]], slack_[pairs[2]]);
                const double amount = std::max(best, -paid);
                if (amount == 0) continue;
                paid += amount;
                move(pairs, amount);
            }
        return true;
    }

    std::vector<Triangle> triangles() const {
        std::vector<Triangle> out;
        for (const auto& [pairs, paid] : charges_) {
            const std::size_t i = pairs[0] / n_, k = pairs[0] % n_, j = pairs[1] / n_ + pairs[1] % n_ - i;
            // the item in the middle is the one that is with both, or with one of two that are apart
            if (first_[i] == first_[k]) out.push_back({order_[j], order_[i], order_[k], paid});
            else if (first_[j] == first_[i]) out.push_back({order_[i], order_[k], order_[j], paid});
            else out.push_back({order_[k], order_[i], order_[j], paid});
        }
        return out;
    }

 private:
    static constexpr int kTimes = 4;       // triangles that a pair may be paid by in a round
    static constexpr int kPasses = 10;     // over all triangles, a round
    static constexpr double kShare = 0.3;  // debts below this share of the mean wait

    using Pairs = std::array<std::uint32_t, 3>;  // places of ik, ij and jk in the matrix of slacks
    struct Charge {
        Pairs pairs;  // above the diagonal
        double paid;
    };

    std::uint32_t above(std::size_t a, std::size_t b) const {
        return static_cast<std::uint32_t>(std::min(a, b) * n_ + std::max(a, b));
    }
    std::uint32_t below(std::size_t a, std::size_t b) const {
        return static_cast<std::uint32_t>(std::max(a, b) * n_ + std::min(a, b));
    }

    // The first pair gains what the two others give.
    void move(const Pairs& pairs, double amount) {
        slack_[pairs[0]] += amount;
        slack_[pairs[1]] -= amount;
        slack_[pairs[2]] -= amount;
    }

    // What a triangle should move so that the squares of its pairs' debts are least: of all payments that leave no
    // debt, the one nearest to none.
    static double payment(double gainer, double one, double other) {
        const double poorer = std::min(one, other);
        if (poorer >= -gainer) return std::min(std::max(-gainer, 0.0), poorer);
        return std::min(0.5 * (poorer - gainer), (one + other - gainer) / 3.0);
    }

    // The item of a cluster that can pay most to (i, k): of those who can pay it all, the one with most left to do so.
    void find_payer(std::size_t i, std::size_t k, std::size_t cluster, double& room, std::size_t& payer) const {
        const double *of_i = &slack_[i * n_], *of_k = &slack_[k * n_], debt = -of_i[k];
        for (std::size_t j = first_[cluster]; j < last_[cluster]; ++j) {
            const double most = std::min(0.5 * (std::min(of_i[j], of_k[j]) + debt), (of_i[j] + of_k[j] + debt) / 3.0);
            if (most > room && j != i && j != k) room = most, payer = j;
        }
    }

    bool pay_one(std::size_t i, std::size_t k, double least) {
        double room = -std::numeric_limits<double>::infinity();
        std::size_t j = n_;
        find_payer(i, k, i, room, j);
        if (first_[k] != first_[i]) find_payer(i, k, k, room, j);
        if (j == n_) return false;
        const double amount = payment(slack_[i * n_ + k], slack_[i * n_ + j], slack_[j * n_ + k]);
        if (!(amount > 0.1 * least)) return false;
        charges_.push_back({{above(i, k), above(i, j), above(j, k)}, amount});
        move(charges_.back().pairs, amount);
        move({below(i, k), below(i, j), below(j, k)}, amount);
        return true;
    }

    std::size_t n_;
    std::vector<std::size_t> order_, first_, last_;
    std::vector<double> slack_;
    std::vector<Charge> charges_;
    double owed_ = 0;
    std::size_t n_owing_ = 0;
    Pace pace_;
};

// Triangles whose multipliers go as far as they can to prove a partition optimal: until what is owed is within
// `tolerance` or no longer falls.
inline std::vector<Triangle> settle(Matrix<const double> d, std::span<const std::int64_t> labels, double tolerance,
                                    Stop& stop) {
    constexpr std::size_t kLook = 20;  // rounds in which the debt must fall to this share, or no more is tried
    constexpr double kFall = 0.7;
    Book book(d, labels, stop);
    std::vector<double> owed{book.close()};
    while (owed.back() > tolerance && !stop.is_up()) {
        if (owed.size() > kLook && owed.back() >= kFall * owed[owed.size() - 1 - kLook]) break;
        const bool is_done = book.pay() && book.balance();
        owed.push_back(book.close());
        if (!is_done) break;
    }
    return book.triangles();
}

// For every pair (i, k), i < k, the triangle violated most, if by more than `tolerance`, in the order of the pairs. A
// triangle whose two joining pairs both cost something to join cannot bind and is passed over. None if the stop came.
inline std::vector<Triangle> violated(Matrix<const double> x, Matrix<const double> d, double tolerance, Stop& stop) {
    struct Neighbour {  // an item that x puts near another, and whether these gain from being together
        std::size_t item;
        double x;
        bool gains;
    };
    const std::size_t n = x.rows;
    std::vector<std::vector<Neighbour>> near(n);
    for (std::size_t j = 0; j < n; ++j)
        for (std::size_t i = 0; i < n; ++i)
            if (i != j && x(j, i) > tolerance) near[j].push_back({i, x(j, i), d(j, i) < 0});
    Pace pace(stop);
    std::vector<Triangle> out, best(n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = i + 1; k < n; ++k) best[k] = {n, i, k, tolerance};
        for (const auto& [j, of_ij, first_gains] : near[i]) {
            const auto after = std::upper_bound(near[j].begin(), near[j].end(), i,
                                                [](std::size_t a, const Neighbour& b) { return a < b.item; });
            if (pace.is_up(static_cast<std::size_t>(near[j].end() - after) + 8)) return {};
            for (auto next = after; next != near[j].end(); ++next) {
                const double by = of_ij + next->x - x(i, next->item) - 1.0;
                if (by > best[next->item].value && (first_gains || next->gains))
                    best[next->item] = {j, i, next->item, by};
            }
        }
        std::copy_if(best.begin() + static_cast<std::ptrdiff_t>(i + 1), best.end(), std::back_inserter(out),
                     [&](const Triangle& one) { return one.j < n; });
    }
    return out;
}

// A star is a centre c and leaves T: sum of x_cj over T - sum of x_jk over pairs of T <= 1. A row of `leaves` becomes
// the star found that is violated most around that centre, -1 where it has fewer leaves, if it has at least three and
// is violated by more than `least`. The stop ends it early.
inline void find_stars(Matrix<const double> x, double tolerance, double least, Matrix<std::int64_t> leaves,
                       Stop& stop) {
    const std::size_t n = x.rows;
    Pace pace(stop);
    std::vector<std::size_t> near, own;
    std::fill_n(leaves.data, leaves.size(), -1);
    for (std::size_t centre = 0; centre < n; ++centre) {
        const auto of_centre = x.row(centre);
        near.clear();
        for (std::size_t j = 0; j < n; ++j)
            if (j != centre && tolerance < of_centre[j] && of_centre[j] < 1 - tolerance) near.push_back(j);
        std::stable_sort(near.begin(), near.end(), [&](auto a, auto b) { return of_centre[a] > of_centre[b]; });
        double worst = 1.0 + least;
        for (const auto first : near) {
            // leaves are added in the order of their nearness to the centre, as long as the sum rises
            own.assign(1, first);
            double total = of_centre[first];
            for (const auto j : near) {
                if (own.size() == leaves.cols) break;
                if (pace.is_up(own.size() + 1)) return;
                double gain = of_centre[j];
                for (const auto leaf : own) gain -= x(leaf, j);
                if (j == first || gain <= tolerance) continue;
                own.push_back(j);
                total += gain;
            }
            if (own.size() < 3 || total <= worst) continue;
            worst = total;
            std::fill_n(&leaves(centre, 0), leaves.cols, -1);
            std::copy(own.begin(), own.end(), &leaves(centre, 0));
        }
    }
}

}  // namespace partita
