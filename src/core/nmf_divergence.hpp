// Generalised Kullback-Leibler divergence of V from A^T B: damped Newton steps for every column of B, K x K at a time.
//
// For fixed A the divergence splits over the columns of B, each a convex problem in K numbers. Its Hessian costs little
// more than the gradient, and the bounded quadratic is minimised by coordinates. The step is halved until a bound says
// that the divergence does not rise, so that no logarithm is taken and every step descends.
#pragma once
#include <cstdint>
#include <vector>

#include "matrix.hpp"
#include "nmf_kernels.hpp"
#include "stop.hpp"

namespace partita {

// The columns of a matrix as blocks of neighbouring rows, without those that are all 0.
class SparseColumns {
 public:
    explicit SparseColumns(Matrix<const double> V);

    std::size_t n_rows() const { return n_rows_; }
    std::size_t n_columns() const { return starts_.size() - 1; }
    std::size_t longest() const { return longest_; }  // blocks of a column, at most
    BlockColumns<double> columns(double) const { return {starts_.data(), blocks_.data(), values_.data()}; }
    BlockColumns<float> columns(float) const { return {starts_.data(), blocks_.data(), single_.data()}; }

 private:
    std::size_t n_rows_;
    std::vector<std::size_t> starts_;
    std::vector<std::uint32_t> blocks_;
    std::vector<double> values_;
    std::vector<float> single_;
    std::size_t longest_ = 0;
};

struct StepOptions {
    bool is_newton;  // else a multiplicative step
    bool is_single;  // precision of the sums over rows
};

// One step for every column of B, in place, A being fixed.
void step_divergence(const SparseColumns& V, StepOptions options, Matrix<const double> A, Matrix<double> B, Stop& stop);

// Sum of t - V log t with t = A^T B: the divergence but for what V alone decides.
double cross_entropy(const SparseColumns& V, Matrix<const double> A, Matrix<const double> B, Stop& stop);

}  // namespace partita
