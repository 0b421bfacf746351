// The concentration given the number of clusters, and the probability of a partition.
#pragma once
#include <algorithm>

#include "mixture_random.hpp"
#include "mixture_state.hpp"

namespace partita {

// log p(partition | concentration) + log p(concentration), up to a constant.
inline double log_partition(const PartitionPrior& prior, const State& state) {
    const double a = state.concentration;
    double value = 0;
    for (const auto& cluster : state.clusters) value += prior.log_size[cluster.sums.size];
    for (int k = 1; k < state.n_clusters(); ++k) value += prior.log_new(a, k);
    if (prior.is_finite()) return value + prior.log_new(a, 0);
    if (prior.shape > 0) value += (prior.shape - 1) * log(a) - prior.rate * a;
    return value + lgamma(a + 1) - lgamma(a + static_cast<double>(state.labels.size()));
}

// A new concentration a given t clusters of n items. Its density is that of its prior times prod_k (a + d k), k < t,
// for a discount d, times Gamma(a + 1) / Gamma(a + n). With x ~ Beta(a + 1, n - 1), and of each factor a + d k either
// term drawn, it has a gamma density (Escobar & West 1995; Teh 2006).
inline double draw_concentration(const PartitionPrior& prior, int n, int t, double a, Rng& rng) {
    constexpr double kLeast = 1e-300;  // a concentration has a logarithm
    if (prior.shape == 0 || prior.is_finite()) return a;
    const double x = draw_gamma(rng, a + 1), y = n > 1 ? draw_gamma(rng, n - 1) : 0;
    double shape = prior.shape;
    for (int k = 1; k < t; ++k) shape += rng.uniform() * (a - prior.offset * k) < a;
    return std::max(kLeast, draw_gamma(rng, shape) / (prior.rate - log(x / (x + y))));
}

}  // namespace partita
