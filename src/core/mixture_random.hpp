// What the sampler draws beside uniform numbers.
#pragma once
#include <cmath>

#include "maths.hpp"
#include "random.hpp"

namespace partita {

// A standard normal, by the polar method; its second number is dropped.
inline double draw_normal(Rng& rng) {
    for (;;) {
        const double a = 2 * rng.uniform() - 1, b = 2 * rng.uniform() - 1, r = a * a + b * b;
        if (0 < r && r < 1) return a * std::sqrt(-2 * log(r) / r);
    }
}

// A gamma variable of the given shape and rate 1 (Marsaglia & Tsang 2000).
inline double draw_gamma(Rng& rng, double shape) {
    double boost = 1;
    if (shape < 1) {
        boost = exp(log(1 - rng.uniform()) / shape);
        shape += 1;
    }
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    // One in twenty is refused. The end of the loop is for shapes that are no numbers.
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const double x = draw_normal(rng), root = 1 + c * x;
        if (root <= 0) continue;
        const double v = root * root * root, u = 1 - rng.uniform();
        if (u < 1 - 0.0331 * x * x * x * x || log(u) < 0.5 * x * x + d * (1 - v + log(v))) return d * v * boost;
    }
    return d * boost;
}

// One of 0, ..., weights.size() - 1, in proportion to its weight, none of which is negative.
inline int draw_index(Rng& rng, const double* weights, int n) {
    double total = 0;
    for (int k = 0; k < n; ++k) total += weights[k];
    double at = rng.uniform() * total;
    int last = 0;
    for (int k = 0; k < n; ++k) {
        if (at < weights[k]) return k;
        at -= weights[k];
        if (weights[k] > 0) last = k;
    }
    return last;
}

}  // namespace partita
