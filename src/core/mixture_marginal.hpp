// A cluster seen through its sums: its log marginal, and draws of its mean and precision.
//
// The data enter through A = R0^-1 + scatter: for full covariances in its eigenbasis, with values lambda_j; for
// diagonal ones through its diagonal; for spherical ones through its trace, the same for every coordinate. With the
// conjugate prior the marginal is a formula. With mu ~ N(0, I) and T ~ Wishart(R0, df) independent, integrating T out
// of a cluster of N items with mean z leaves a multivariate t in mu; as a gamma mixture over a scale g, mu can then be
// integrated in closed form, and what remains is
//
//     I = 1/Gamma(nu) int_0^inf g^(nu-1) e^-g prod_j (1 + a_j g)^(-1/2) exp(-1/2 sum_j z_j^2 a_j g / (1 + a_j g)) dg
//
// with a_j = 2N / lambda_j: one integral, or for diagonal covariances one for each coordinate. In t = log g the
// integrand is analytic and falls off on both sides, so the trapezoid rule converges exponentially, wherever its nodes
// begin: its error is about |Gamma(nu + 2 pi i / step)| / Gamma(nu), and the step is chosen to keep that near 1e-9 for
// every nu. Hence also an exact draw of g: shift the nodes at random, then take one in proportion to the integrand.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "mixture_kernels.hpp"
#include "mixture_linalg.hpp"
#include "mixture_model.hpp"
#include "mixture_random.hpp"

namespace partita {

// Holds scratch: one for each thread.
class Marginals {
 public:
    Marginals(const Model& model, Watch& watch)
        : model_(model), watch_(watch), is_full_(model.prior.shape == Shape::full), scale_(model.cells()),
          vectors_(model.cells()), scratch_(model.cells()), lambda_(model.p), rate_(model.p), centre_(model.p),
          square_(model.p) {}

    // log m(S): the density of the cluster's items with (mu, T) integrated out.
    double log_marginal(const Sums& sums) {
        const auto& prior = model_.prior;
        watch_.spend(400 * model_.p);
        double value = log_constant(sums.size);
        set_scale(sums);
        value -= nu(sums.size) * decompose(sums);
        if (prior.is_conjugate()) return value;
        for (int j = 0; j < model_.p; j += group()) value += log_integral(sums, j, 0);
        return value;
    }

    // A draw of (mu, T) given the items.
    void draw(const Sums& sums, Rng& rng, Parameters& out) {
        watch_.spend(400 * model_.p);
        set_scale(sums);
        if (!model_.prior.is_conjugate()) draw_mean(sums, rng, out.mean);
        draw_precision(sums.size, rng, out.root);
        if (model_.prior.is_conjugate()) draw_mean_given_precision(sums, rng, out);
    }

 private:
    // half the degrees of freedom of T given so many items
    double nu(int size) const {
        const double repeats = model_.prior.shape == Shape::spherical ? model_.p : 1;
        return 0.5 * (model_.prior.df + size * repeats);
    }
    // coordinates that share a scale
    int group() const { return model_.prior.shape == Shape::diagonal ? 1 : model_.p; }
    Matrix<double> matrix(std::vector<double>& a) const {
        return {a.data(), static_cast<std::size_t>(model_.p), static_cast<std::size_t>(model_.p)};
    }

    // What the marginal owes to the size alone.
    double log_constant(int size) {
        if (std::isnan(empty_)) {
            empty_ = 0;
            set_scale(Sums(model_));
            const double log_det = is_full_ ? cholesky(matrix(scale_), watch_) : decompose(Sums(model_));
            empty_ = nu(0) * log_det - log_gammas(0);
        }
        constexpr double kLogPi = 1.14472988584940017414;
        const double half = nu(size), p = model_.p, k0 = model_.prior.mean_weight;
        const double value = empty_ + log_gammas(size) - 0.5 * size * p * kLogPi;
        if (model_.prior.is_conjugate()) return value + 0.5 * p * log(k0 / (k0 + size));
        return value + p / group() * (half * log(half) - half - lgamma(half));  // those of the scale integrals
    }

    double log_gammas(int size) const {
        double value = 0;
        for (int j = 0; j < (is_full_ ? model_.p : 1); ++j) value += lgamma(nu(size) - 0.5 * j);
        return model_.prior.shape == Shape::diagonal ? model_.p * value : value;
    }

    // A; for the conjugate prior with the pull of the prior mean.
    void set_scale(const Sums& sums) {
        const auto& prior = model_.prior;
        const auto &total = sums.total, &cross = sums.cross;
        const int p = model_.p;
        const double share = sums.size > 0 ? 1 / (sums.size + prior.mean_weight) : 0;
        if (is_full_) {
            const auto a = matrix(scale_);
            for (int i = 0; i < p; ++i)
                for (int j = 0; j <= i; ++j)
                    a(i, j) = a(j, i) = prior.scale[i * p + j] + cross[i * p + j] - share * total[i] * total[j];
            return;
        }
        double trace = 0;
        for (int i = 0; i < p; ++i) {
            const double scatter = std::max(cross[i] - share * total[i] * total[i], 0.0);
            scale_[i] = prior.scale[i] + scatter;
            trace += scatter;
        }
        if (prior.shape == Shape::spherical) std::ranges::fill(scale_, prior.scale[0] + trace);
    }

    // log det A, a spherical one's only once; for the independent prior also the terms of the scale integrals.
    double decompose(const Sums& sums) {
        const auto& prior = model_.prior;
        const int p = model_.p;
        if (is_full_) {
            scratch_ = scale_;
            if (prior.is_conjugate()) return cholesky(matrix(scratch_), watch_);
            eigen(matrix(scratch_), matrix(vectors_), watch_);
        }
        double value = 0;
        for (int j = 0; j < p; ++j) {
            lambda_[j] = is_full_ ? scratch_[j * p + j] : scale_[j];
            if (prior.shape != Shape::spherical || j == 0) value += log(lambda_[j]);
            double z = sums.total[j];
            if (is_full_) {
                z = 0;
                for (int i = 0; i < p; ++i) z += vectors_[i * p + j] * sums.total[i];
            }
            centre_[j] = z / std::max(sums.size, 1);
            rate_[j] = 2.0 * sums.size * prior.mean_var[j] / lambda_[j];
            square_[j] = centre_[j] * centre_[j] / prior.mean_var[j];
        }
        return value;
    }

    ScaleTerms terms(int size, int j, double shift) const {
        constexpr double kCut = 25;  // e^-25 of the largest value is left out on the right, where the density falls
        const double half = nu(size), step = 1 / std::sqrt(1.3 * half + 5), c = kCut / half, root = std::sqrt(2 * c);
        // e^s - 1 - s >= c from here on
        const double right = std::min(root, log(1 + c + root));
        return {half, step, std::ceil(right / step) + shift, &rate_[j], &square_[j], group()};
    }

    // log I of the coordinates from j on, less nu log nu - nu - log Gamma(nu).
    double log_integral(const Sums& sums, int j, double shift) {
        const auto t = terms(sums.size, j, shift);
        double log_sum;
        mixture_kernels().integrate(t, nodes_.data(), log_sum);
        return log_sum + log(t.step);
    }

    double draw_scale(const Sums& sums, int j, Rng& rng) {
        const auto t = terms(sums.size, j, rng.uniform());
        double log_sum;
        const int n = mixture_kernels().integrate(t, nodes_.data(), log_sum);
        return t.nu * exp((t.right - draw_index(rng, nodes_.data(), n)) * t.step);
    }

    // mu given the items, T integrated out. Leaves in `scale_` the scale of T given mu.
    void draw_mean(const Sums& sums, Rng& rng, std::vector<double>& mean) {
        const auto& prior = model_.prior;
        const int p = model_.p;
        decompose(sums);
        double g = 0;
        for (int j = 0; j < p; ++j) {  // N(0, variance) times N(centre, variance / (rate g))
            if (j % group() == 0) g = draw_scale(sums, j, rng);
            const double ag = rate_[j] * g;
            mean[j] = ag / (1 + ag) * centre_[j] + std::sqrt(prior.mean_var[j] / (1 + ag)) * draw_normal(rng);
        }
        if (is_full_) {
            std::swap(mean, lambda_);
            for (int i = 0; i < p; ++i) {
                mean[i] = 0;
                for (int j = 0; j < p; ++j) mean[i] += vectors_[i * p + j] * lambda_[j];
            }
        }
        const auto away = [&](int j) { return mean[j] - sums.total[j] / sums.size; };
        double trace = 0;
        for (int i = 0; i < p; ++i) {
            if (is_full_)
                for (int j = 0; j < p; ++j) scale_[i * p + j] += sums.size * away(i) * away(j);
            else {
                const double square = sums.size * away(i) * away(i);
                trace += square;
                if (prior.shape == Shape::diagonal) scale_[i] += square;
            }
        }
        if (prior.shape == Shape::spherical)
            for (double& s : scale_) s += trace;
    }

    // T ~ Wishart(A^-1, 2 nu) as R: with A = LL' and Bartlett's C upper triangular, R = C' L^-1.
    void draw_precision(int size, Rng& rng, std::vector<double>& root) {
        const int p = model_.p;
        const double half = nu(size);
        if (!is_full_) {
            for (int j = 0; j < p; ++j)
                root[j] = j % group() == 0 ? std::sqrt(2 * draw_gamma(rng, half) / scale_[j]) : root[j - 1];
            return;
        }
        const auto a = matrix(scale_), c = matrix(scratch_);
        cholesky(a, watch_);
        invert_lower(a, watch_);
        for (int j = 0; j < p; ++j) {
            c(j, j) = std::sqrt(2 * draw_gamma(rng, half - 0.5 * (p - 1 - j)));
            for (int i = 0; i < j; ++i) c(i, j) = draw_normal(rng);
        }
        for (int i = 0; i < p; ++i) {
            for (int j = 0; j <= i; ++j) {
                double s = 0;
                for (int k = j; k <= i; ++k) s += c(k, i) * a(k, j);
                root[i * p + j] = s;
            }
            watch_.spend(static_cast<std::int64_t>(i) * i);
        }
    }

    // mu ~ N(total / k, (k T)^-1), k = k0 + size: solve R d = e / sqrt(k) with e standard normal.
    void draw_mean_given_precision(const Sums& sums, Rng& rng, Parameters& out) {
        const int p = model_.p;
        const double k = model_.prior.mean_weight + sums.size;
        for (int i = 0; i < p; ++i) {
            double d = draw_normal(rng) / std::sqrt(k);
            for (int j = 0; is_full_ && j < i; ++j) d -= out.root[i * p + j] * centre_[j];
            centre_[i] = d / out.root[is_full_ ? i * p + i : i];
            out.mean[i] = sums.total[i] / k + centre_[i];
        }
    }

    const Model& model_;
    Watch& watch_;
    const bool is_full_;
    double empty_ = std::nan("");                 // see log_constant
    std::vector<double> scale_;                   // A (p, p), or its diagonal (p)
    std::vector<double> vectors_, scratch_;       // (p, q)
    std::vector<double> lambda_, rate_, centre_;  // (p): lambda_j, a_j, z_j
    std::vector<double> square_;                  // (p): z_j^2
    std::array<double, kMostNodes + kDoubles> nodes_;
};

}  // namespace partita
