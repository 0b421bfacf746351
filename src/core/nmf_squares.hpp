// Least squares: coordinate descent for V ~ A^T B, a factor at a time (HALS).
#pragma once
#include <algorithm>
#include <vector>

#include "matrix.hpp"
#include "nmf_kernels.hpp"
#include "stop.hpp"

namespace partita {

// Lowers 1/2 tr(B^T G B) - tr(P^T B) over B >= 0 by sweeps over its rows; those from `free` on stay.
inline void sweep(Matrix<const double> P, Matrix<const double> G, Matrix<double> B, std::size_t free, int n_sweeps,
                  Stop& stop) {
    std::vector<double> scratch(2 * B.rows * kSwept);
    for (std::size_t first = 0; first < B.cols; first += kSwept) {
        if (first % (32 * kSwept) == 0 && stop.is_up()) return;
        nmf_kernels().sweep(P, G, B, free, n_sweeps, first, std::min(kSwept, B.cols - first), scratch.data());
    }
}

// X V for X of few rows.
inline void multiply(Matrix<const double> X, Matrix<const double> V, Matrix<double> out, Stop& stop) {
    constexpr std::size_t kColumns = 256;
    for (std::size_t first = 0; first < V.cols && !stop.is_up(); first += kColumns)
        nmf_kernels().multiply(X, V, out, first, std::min(first + kColumns, V.cols));
}

}  // namespace partita
