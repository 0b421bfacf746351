// The data and the priors; nothing here changes during a run. Coordinates are canonical: the data centred at the prior
// mean and scaled so that the prior covariance of a cluster mean is the identity (for spherical covariances it is
// diagonal, `mean_var`).
#pragma once
#include <cstdint>
#include <vector>

#include "maths.hpp"
#include "matrix.hpp"
#include "mixture_kernels.hpp"

namespace partita {

enum class Shape { full, diagonal, spherical };

// The prior of a cluster's mean and precision T ~ Wishart(R0, df). Matrices are (p, q): q is p for full covariances
// and 1 for the others, which have only a diagonal.
struct ClusterPrior {
    Shape shape = Shape::full;
    double df = 0;                 // kappa0
    double mean_weight = 0;        // k0 of the conjugate prior; 0 for the independent one
    std::vector<double> mean_var;  // (p) prior variance of a cluster mean
    std::vector<double> scale;     // (p, q) inverse of R0

    bool is_conjugate() const { return mean_weight > 0; }
};

// The prior of the partition, p(c) = V(t) prod_k W(n_k) for t clusters of sizes n_k, and of its concentration.
struct PartitionPrior {
    double offset = 0;             // W(m + 1) / W(m) = m + offset: minus the discount, or gamma of the finite mixture
    double shape = 0, rate = 0;    // gamma prior of the concentration; shape 0: fixed
    std::vector<double> log_size;  // log W(m)
    std::vector<double> log_more;  // of the finite mixture: log V(t + 1) / V(t); empty for the others

    bool is_finite() const { return !log_more.empty(); }
    // log V(t + 1) / V(t)
    double log_new(double concentration, int t) const {
        return is_finite() ? log_more[t] : log(concentration - offset * t);
    }
};

constexpr int kBlock = 256;  // items whose weights are computed together

// The columns of a matrix, each padded to whole blocks, for vector units.
struct PaddedColumns {
    std::size_t stride;
    std::vector<double> values;  // (p, stride)

    explicit PaddedColumns(Matrix<const double> x)
        : stride((x.rows + kBlock - 1) / kBlock * kBlock), values(stride * x.cols) {
        for (std::size_t i = 0; i < x.rows; ++i)
            for (std::size_t j = 0; j < x.cols; ++j) values[j * stride + i] = x(i, j);
    }
};

struct Model {
    Model(Matrix<const double> data, ClusterPrior cluster_prior, PartitionPrior partition_prior)
        : n(static_cast<int>(data.rows)), p(static_cast<int>(data.cols)), q(cluster_prior.shape == Shape::full ? p : 1),
          prior(std::move(cluster_prior)), partition(std::move(partition_prior)), x(data.data, data.data + data.size()),
          columns(data) {}

    const double* item(int i) const { return x.data() + static_cast<std::size_t>(i) * p; }
    std::size_t cells() const { return static_cast<std::size_t>(p) * q; }

    int n, p, q;
    ClusterPrior prior;
    PartitionPrior partition;
    std::vector<double> x;  // (n, p)
    PaddedColumns columns;
};

// What a cluster's items add up to.
struct Sums {
    int size = 0;
    std::vector<double> total;  // (p)
    std::vector<double> cross;  // (p, q): products, the lower triangle; squares only when q is 1

    explicit Sums(const Model& model) : total(model.p), cross(model.cells()) {}

    void clear() {
        size = 0;
        total.assign(total.size(), 0);
        cross.assign(cross.size(), 0);
    }

    void add(const double* x) {
        const std::size_t p = total.size();
        const bool is_full = cross.size() == p * p;
        ++size;
        for (std::size_t a = 0; a < p; ++a) {
            total[a] += x[a];
            if (!is_full) cross[a] += x[a] * x[a];
            else
                for (std::size_t b = 0; b <= a; ++b) cross[a * p + b] += x[a] * x[b];
        }
    }

    void add(const Sums& other, int sign) {
        size += sign * other.size;
        for (std::size_t a = 0; a < total.size(); ++a) total[a] += sign * other.total[a];
        for (std::size_t a = 0; a < cross.size(); ++a) cross[a] += sign * other.cross[a];
    }
};

// A drawn mean, and the lower triangular R with T = R'R.
struct Parameters {
    std::vector<double> mean;  // (p)
    std::vector<double> root;  // (p, q)

    explicit Parameters(const Model& model) : mean(model.p), root(model.cells()) {}

    // What the density is computed from.
    NormalTerms terms() const {
        constexpr double kLog2Pi = 1.83787706640934548356;
        const int p = static_cast<int>(mean.size()), q = static_cast<int>(root.size()) / p;
        NormalTerms out{p, q, mean.data(), root.data(), -0.5 * p * kLog2Pi};
        for (int a = 0; a < p; ++a) out.log_const += log(root[q == p ? a * p + a : a]);
        return out;
    }
};

}  // namespace partita
