#include "nmf_divergence.hpp"

#include <algorithm>

namespace partita {

namespace {

constexpr int kSweeps = 4;  // of coordinate descent over the quadratic of a Newton step

// A in blocks of items, as the kernels take it.
template <class T>
class Blocked {
 public:
    explicit Blocked(Matrix<const double> A)
        : values_((A.cols + kBlock - 1) / kBlock * kBlock * A.rows), mass_(A.rows) {
        for (std::size_t k = 0; k < A.rows; ++k)
            for (std::size_t i = 0; i < A.cols; ++i) {
                const T value = static_cast<T>(A(k, i));
                values_[(i / kBlock * A.rows + k) * kBlock + i % kBlock] = value;
                mass_[k] += value;
            }
    }
    BlockFactor<T> factor() const { return {mass_.size(), values_.data(), mass_.data()}; }

 private:
    std::vector<T> values_, mass_;
};

template <class T>
void step_columns(const SparseColumns& V, bool is_newton, Matrix<const double> A, Matrix<double> B, Stop& stop) {
    const Blocked<T> whole(A);
    std::vector<T> scratch(scratch_size<T>(A.rows, V.longest()));
    const DivergenceStep<T> step{whole.factor(), V.columns(T{}), B, is_newton ? kSweeps : 0, scratch.data()};
    for (std::size_t first = 0; first < B.cols && !stop.is_up(); first += kLanes<T>) {
        const std::size_t count = std::min(kLanes<T>, B.cols - first);
        if constexpr (sizeof(T) == sizeof(float)) nmf_kernels().step_single(step, first, count);
        else nmf_kernels().step(step, first, count);
    }
}

}  // namespace

SparseColumns::SparseColumns(Matrix<const double> V) : n_rows_(V.rows), starts_{0} {
    const std::size_t n_blocks = (V.rows + kBlock - 1) / kBlock;
    values_.reserve(V.size()), single_.reserve(V.size());
    std::vector<double> panel(kBlock * n_blocks * kBlock);  // some columns, each along memory
    for (std::size_t first = 0; first < V.cols; first += kBlock) {
        const std::size_t count = std::min(kBlock, V.cols - first);
        for (std::size_t i = 0; i < V.rows; ++i)
            for (std::size_t c = 0; c < count; ++c) panel[c * n_blocks * kBlock + i] = V(i, first + c);
        for (std::size_t c = 0; c < count; ++c) {
            for (std::size_t b = 0; b < n_blocks; ++b) {
                const double* at = panel.data() + (c * n_blocks + b) * kBlock;
                if (std::all_of(at, at + kBlock, [](double v) { return v == 0; })) continue;
                blocks_.push_back(static_cast<std::uint32_t>(b));
                values_.insert(values_.end(), at, at + kBlock);
                single_.insert(single_.end(), at, at + kBlock);
            }
            longest_ = std::max(longest_, blocks_.size() - starts_.back());
            starts_.push_back(blocks_.size());
        }
    }
}

void step_divergence(const SparseColumns& V, StepOptions options, Matrix<const double> A, Matrix<double> B,
                     Stop& stop) {
    if (options.is_single) step_columns<float>(V, options.is_newton, A, B, stop);
    else step_columns<double>(V, options.is_newton, A, B, stop);
}

double cross_entropy(const SparseColumns& V, Matrix<const double> A, Matrix<const double> B, Stop& stop) {
    const Blocked<double> whole(A);
    std::vector<double> column(A.rows);
    double total = 0;
    for (std::size_t first = 0; first < B.cols && !stop.is_up(); first += kBlock)
        total += nmf_kernels().divergence(whole.factor(), V.columns(double{}), B, first,
                                          std::min(first + kBlock, B.cols), column.data());
    return total;
}

}  // namespace partita
