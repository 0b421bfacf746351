// The sampler's loops over items and over nodes, compiled for every instruction set.
#pragma once
#include <cstddef>

#include "isa.hpp"

namespace partita {

// Normal densities with precision R'R, R lower triangular (p, q), or with q = 1 its diagonal.
struct NormalTerms {
    int p, q;
    const double* mean;
    const double* root;
    double log_const;
};

// The scale integral of mixture_marginal.hpp: `size` factors, and nodes `step` apart from `right` steps on.
struct ScaleTerms {
    double nu, step, right;
    const double* rate;
    const double* square;
    int size;
};

constexpr int kMostNodes = 1024;  // some 20 to 60 are used

// Lengths are whole blocks of eight, and so are the arrays that are read or written.
struct MixtureKernels {
    // Log densities of `m` items, whose coordinates are `stride` apart.
    void (*log_density)(const double* x, std::size_t stride, const NormalTerms& terms, std::size_t m, double* out);
    // out = e^(x - less)
    void (*exponentials)(const double* x, const double* less, std::size_t m, double* out);
    // The integrand at up to kMostNodes nodes from right to left, relative to the largest value; how many there are.
    // `log_sum` becomes the logarithm of the sum of the integrand at the nodes.
    int (*integrate)(const ScaleTerms& terms, double* weight, double& log_sum);
};

namespace baseline {
extern const MixtureKernels mixture_kernels;
}
namespace avx2 {
extern const MixtureKernels mixture_kernels;
}
namespace avx512 {
extern const MixtureKernels mixture_kernels;
}

inline const MixtureKernels& mixture_kernels() {
    return pick(baseline::mixture_kernels, avx2::mixture_kernels, avx512::mixture_kernels);
}

}  // namespace partita
