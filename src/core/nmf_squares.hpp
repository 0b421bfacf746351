// Least squares: coordinate descent for V ~ A^T B, a factor at a time (HALS).
#pragma once
#include <span>

#include "matrix.hpp"
#include "stop.hpp"

namespace partita {

// What is factorised: V itself; or U diag(values) U^T + diag(residual) with `matrix` holding U^T.
struct SquaresTarget {
    Matrix<const double> matrix;
    std::span<const double> values{}, residual{};
    double norm2 = 0;  // the squared norm of V

    bool is_whole() const { return values.empty(); }
};

// Lowers 1/2 tr(B^T G B) - tr(P^T B) over B >= 0 by sweeps over its rows; those from `free` on stay.
void sweep(Matrix<const double> P, Matrix<const double> G, Matrix<double> B, std::size_t free, int n_sweeps,
           Stop& stop);

// B given A, then A given B, in place; the last `fixed` rows of B stay. Half the squared distance after it.
double alternate(const SquaresTarget& target, std::size_t fixed, int n_sweeps, Matrix<double> A, Matrix<double> B,
                 Stop& stop);

}  // namespace partita
