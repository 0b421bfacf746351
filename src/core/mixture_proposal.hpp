// Two seeds and a queue: items sent to the side of one of two seeds, one after another, by a conjugate model of their
// own, as in Dahl's (2005) sequentially allocated merge-split sampler. Any function of the data may propose, if the way
// there and the way back are by the same one: what is accepted is decided by exact marginals.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "mixture_linalg.hpp"
#include "mixture_model.hpp"
#include "random.hpp"

namespace partita {

constexpr double kProxyWeight = 0.01;  // the prior mean of a side counts as this many items

class SeedProposal {
 public:
    explicit SeedProposal(const Model& model)
        : model_(model), df_(model.prior.shape == Shape::full ? model.p + 4.0 : 4.0), log2_const_(model.n + 1) {
        const auto& log_size = model.partition.log_size;
        const int p = model.p;
        for (int n = 0; n <= model.n; ++n) {
            const double k = kProxyWeight + n, half = 0.5 * (df_ + n + 1);
            double value = 0.5 * p * log(k / (k + 1));
            if (model.q == p) value += lgamma(half) - lgamma(half - 0.5 * p);
            else value += p * (lgamma(half) - lgamma(half - 0.5));
            if (n > 0) value += log_size[n + 1] - log_size[n];
            log2_const_[n] = 2 * maths::kLog2E * value;
        }
    }

    // Make (p, q) `covariance` the expected covariance of a side; whether it is positive definite.
    bool set_covariance(const std::vector<double>& covariance, Watch& watch) {
        inverse_ = covariance;
        if (model_.prior.shape == Shape::full) {
            for (double& v : inverse_) v *= df_ - model_.p - 1;
            return invert(inverse_, model_.p, watch);
        }
        for (double& v : inverse_) v = 1 / ((df_ - 2) * v);
        return std::ranges::all_of(inverse_, [](double v) { return v > 0 && std::isfinite(v); });
    }

    // Send the queued items to sides 0 and 1, which begin with the seeds. With `rng` sides are drawn and written (by
    // item), else they are followed. The log probability; stops early once it is no higher than `floor`.
    double allocate(const int (&seeds)[2], const std::vector<int>& queue, std::vector<char>& side, Rng* rng,
                    double floor) const {
        if (model_.p == 2 && model_.q == 2) return allocate_by<2>(seeds, queue, side, rng, floor);
        return allocate_by<0>(seeds, queue, side, rng, floor);
    }

 private:
    // A side's posterior with n items, and how well the item that was looked at fits: the mean, and the inverse of the
    // scale matrix, (p, q), each brought up to date with one item by a rank-one formula.
    template <int P>
    struct Side {
        explicit Side(const SeedProposal& by)
            : by(by), p_(by.model_.p), width_(by.model_.q), mean(p_), away(p_), pull(p_), inverse(by.inverse_) {}

        // Known when this is compiled for full matrices of two columns, which takes half the time.
        int p() const { return P > 0 ? P : p_; }
        int width() const { return P > 0 ? P : width_; }

        // Twice the logarithm (base 2) of the predictive density, a t density: of all coordinates or of each.
        double look(const double* x) {
            fit = 1;
            for (int i = 0; i < p(); ++i) away[i] = x[i] - mean[i];
            const double* row = inverse.data();
            for (int i = 0; i < p(); ++i, row += width()) {
                double s = 0;
                if (width() == 1) s = row[0] * away[i];
                else
                    for (int j = 0; j < width(); ++j) s += row[j] * away[j];
                pull[i] = s;
                const double part = share * s * away[i];
                fit = width() == 1 ? fit * (1 + part) : fit + part;
            }
            fit = std::min(fit, 1e300);  // cut where it would overflow: the way back is cut alike
            log_fit = log2(fit);
            return by.log2_const_[n] - log_det - (by.df_ + n + 1) * log_fit;
        }

        // Take in the item that `look` looked at.
        void take() {
            const double c = share / fit;
            double* row = inverse.data();
            for (int i = 0; i < p(); ++i, row += width()) {
                mean[i] += (1 - share) * away[i];
                if (width() == 1) row[0] /= 1 + share * pull[i] * away[i];
                else {
                    const double own = c * pull[i];
                    for (int j = 0; j < width(); ++j) row[j] -= own * pull[j];
                }
            }
            log_det += log_fit;
            ++n;
            share = (kProxyWeight + n) / (kProxyWeight + n + 1);
        }

        const SeedProposal& by;
        const int p_, width_;  // of `mean`; of a row of `inverse`
        int n = 0;
        double log_det = 0;  // base 2, of the scale matrix, relative to that of no items
        double share = kProxyWeight / (kProxyWeight + 1), fit = 1, log_fit = 0;  // share: k / (k + 1)
        std::vector<double> mean, away, pull, inverse;
    };

    template <int P>
    double allocate_by(const int (&seeds)[2], const std::vector<int>& queue, std::vector<char>& side, Rng* rng,
                       double floor) const {
        Side<P> left(*this), right(*this);
        left.look(model_.item(seeds[0]));
        left.take();
        right.look(model_.item(seeds[1]));
        right.take();
        // One logarithm for many factors: the product is moved into the sum every 16th time.
        double log_q = 0, product = 1;
        Rng random = rng ? *rng : Rng(0);
        for (std::size_t a = 0; a < queue.size(); ++a) {
            const double* x = model_.item(queue[a]);
            const double log_odds = std::clamp(0.5 * (right.look(x) - left.look(x)), -400.0, 400.0);
            const double odds = exp2(log_odds), chance = 1 / (1 + odds);
            char& to = side[queue[a]];
            if (rng) to = random.uniform() >= chance;
            if (to) {
                product *= odds * chance;
                right.take();
            } else {
                product *= chance;
                left.take();
            }
            if (product < 1e-150 || a % 16 == 15) {
                log_q += log(product);
                product = 1;
                if (log_q <= floor) break;
            }
        }
        if (rng) *rng = random;
        return log_q + log(product);
    }

    // Base 2 logarithm and exponential to five digits, without branches.
    static double log2(double x) {
        const auto bits = std::bit_cast<std::int64_t>(x);
        const double m = std::bit_cast<double>((bits & 0xfffffffffffff) | (std::int64_t{1023} << 52)) - 1, m2 = m * m;
        const double series =
            (1.442683 - m * 0.720443) + m2 * ((0.469304 - m * 0.303394) + m2 * (0.146437 - m * 0.034596));
        return static_cast<double>((bits >> 52) - 1023) + m * series;
    }
    static double exp2(double x) {
        const double shifted = x + maths::kRound, r = x - (shifted - maths::kRound), r2 = r * r;
        const double series = (1 + r * 0.693147) + r2 * ((0.240221 + r * 0.055503) + r2 * (0.009676 + r * 0.00134));
        return series * std::bit_cast<double>((std::bit_cast<std::int64_t>(shifted) + 1023) << 52);
    }

    const Model& model_;
    const double df_;                 // of the prior of a side's precision: the least with some finite moments
    std::vector<double> log2_const_;  // of a squared predictive by size, the weight of one more item included
    std::vector<double> inverse_;     // (p, q) of the scale matrix
};

}  // namespace partita
