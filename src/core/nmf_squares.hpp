// Least squares: coordinate descent for V ~ A^T B, a factor at a time (HALS).
#pragma once
#include "matrix.hpp"
#include "stop.hpp"

namespace partita {

// Lowers 1/2 tr(B^T G B) - tr(P^T B) over B >= 0 by sweeps over its rows; those from `free` on stay.
void sweep(Matrix<const double> P, Matrix<const double> G, Matrix<double> B, std::size_t free, int n_sweeps,
           Stop& stop);

// B given A, then A given B, in place; the last `fixed` rows of B stay. Half the squared distance after it, `norm2`
// being the squared norm of V.
double alternate(Matrix<const double> V, double norm2, std::size_t fixed, int n_sweeps, Matrix<double> A,
                 Matrix<double> B, Stop& stop);

}  // namespace partita
