#include "nmf_squares.hpp"

#include <algorithm>
#include <vector>

#include "nmf_kernels.hpp"

namespace partita {

namespace {

struct Owned : Matrix<double> {
    Owned(std::size_t rows, std::size_t cols) : Matrix<double>{nullptr, rows, cols}, numbers(rows * cols) {
        data = numbers.data();
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

    std::vector<double> numbers;
};

double inner(Matrix<const double> X, Matrix<const double> Y) {
    double sums[8] = {};
    std::size_t x = 0;
    for (; x + 8 <= X.size(); x += 8)
        for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += X.data[x + lane] * Y.data[x + lane];
    for (; x < X.size(); ++x) sums[0] += X.data[x] * Y.data[x];
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace

void sweep(Matrix<const double> P, Matrix<const double> G, Matrix<double> B, std::size_t free, int n_sweeps,
           Stop& stop) {
    std::vector<double> scratch(2 * B.rows * kSwept);
    for (std::size_t first = 0; first < B.cols; first += kSwept) {
        if (first % (32 * kSwept) == 0 && stop.is_up()) return;
        nmf_kernels().sweep(P, G, B, free, n_sweeps, first, std::min(kSwept, B.cols - first), scratch.data());
    }
}

double alternate(Matrix<const double> V, double norm2, std::size_t fixed, int n_sweeps, Matrix<double> A,
                 Matrix<double> B, Stop& stop) {
    Owned P(A.rows, A.cols), of_a(A.rows, A.rows), of_b(A.rows, A.rows);
    nmf_kernels().multiply(A, V, P);
    nmf_kernels().multiply_rows(A, A, of_a);
    sweep(P, of_a, B, B.rows - fixed, n_sweeps, stop);
    nmf_kernels().multiply(B, V, P);
    nmf_kernels().multiply_rows(B, B, of_b);
    sweep(P, of_b, A, A.rows, n_sweeps, stop);
    nmf_kernels().multiply_rows(A, A, of_a);
    return 0.5 * (norm2 - 2.0 * inner(P, A) + inner(of_a, of_b));
}

}  // namespace partita
