// Two seeds and a queue: items sent to the side of one of two seeds, one after another, by a conjugate model of their
// own, as in Dahl's (2005) sequentially allocated merge-split sampler. Any function of the data may propose, if the way
// there and the way back are by the same one: what is accepted is decided by exact marginals.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "mixture_linalg.hpp"
#include "mixture_model.hpp"
#include "random.hpp"

namespace partita {

constexpr double kProxyWeight = 0.01;  // the prior mean of a side counts as this many items

class SeedProposal {
 public:
    explicit SeedProposal(const Model& model)
        : model_(model), df_(model.prior.shape == Shape::full ? model.p + 4.0 : 4.0), log_const_(model.n + 1) {
        const auto& log_size = model.partition.log_size;
        const int p = model.p;
        for (int n = 0; n <= model.n; ++n) {
            const double k = kProxyWeight + n, half = 0.5 * (df_ + n + 1);
            double value = 0.5 * p * log(k / (k + 1));
            if (model.q == p) value += lgamma(half) - lgamma(half - 0.5 * p);
            else value += p * (lgamma(half) - lgamma(half - 0.5));
            if (n > 0) value += log_size[n + 1] - log_size[n];
            log_const_[n] = value;
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

        // The logarithm of the predictive density, a t density: of all coordinates or of each.
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
            log_fit = log(fit);
            return by.log_const_[n] - 0.5 * (log_det + (by.df_ + n + 1) * log_fit);
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
        double log_det = 0;  // of the scale matrix, relative to that of no items
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
        for (std::size_t a = 0; a < queue.size(); ++a) {
            const double* x = model_.item(queue[a]);
            const double odds = exp(std::clamp(right.look(x) - left.look(x), -300.0, 300.0)), chance = 1 / (1 + odds);
            char& to = side[queue[a]];
            if (rng) to = rng->uniform() >= chance;
            product *= to ? odds * chance : chance;
            (to ? right : left).take();
            if (product < 1e-150 || a % 16 == 15) {
                log_q += log(product);
                product = 1;
                if (log_q <= floor) break;
            }
        }
        return log_q + log(product);
    }

    const Model& model_;
    const double df_;                // of the prior of a side's precision: the least with some finite moments
    std::vector<double> log_const_;  // of a predictive by size, the weight of one more item included
    std::vector<double> inverse_;    // (p, q) of the scale matrix
};

}  // namespace partita
