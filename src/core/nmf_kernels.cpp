#include "nmf_kernels.hpp"

#include "lanes.hpp"

namespace partita::PARTITA_ISA {

namespace {

using std::size_t;

constexpr double kTiny = 1e-150;    // keeps logarithms finite where nothing is fitted
constexpr double kLeast = 1e-15;    // of a fitted number or a curvature: in single precision, its square is one too
constexpr double kSteepest = 1e-6;  // of 1 + x where a step would go beyond 0
constexpr int kHalvings = 8;        // of a step, before it is given up

// ---- least squares ----

// Four rows of V at a time, and so few columns that those of the result stay in the cache.
void multiply(Matrix<const double> X, Matrix<const double> V, Matrix<double> out, size_t first, size_t last) {
    const size_t n = V.cols, m = V.rows;
    for (size_t k = 0; k < X.rows; ++k)
        for (size_t i = first; i < last; ++i) out.data[k * n + i] = 0;
    for (size_t j = 0; j < m; j += 4) {
        const size_t left = m - j, b = left > 1 ? n : 0, c = left > 2 ? 2 * n : 0, d = left > 3 ? 3 * n : 0;
        const double* __restrict v = V.data + j * n;
        for (size_t k = 0; k < X.rows; ++k) {
            const double* x = X.data + k * m + j;
            const double x0 = x[0], x1 = b ? x[1] : 0, x2 = c ? x[2] : 0, x3 = d ? x[3] : 0;
            double* __restrict a = out.data + k * n;
            for (size_t i = first; i < last; ++i) a[i] += (x0 * v[i] + x1 * v[i + b]) + (x2 * v[i + c] + x3 * v[i + d]);
        }
    }
}

// Columns `first` and on of a few rows, copied into rows of kSwept numbers that end in zeros, and back.
void take(const double* from, size_t rows, size_t n, size_t first, size_t count, double* to) {
    for (size_t k = 0; k < rows; ++k)
        for (size_t i = 0; i < kSwept; ++i) to[k * kSwept + i] = i < count ? from[k * n + first + i] : 0.0;
}

void give(const double* from, size_t rows, size_t n, size_t first, size_t count, double* to) {
    for (size_t k = 0; k < rows; ++k)
        for (size_t i = 0; i < count; ++i) to[k * n + first + i] = from[k * kSwept + i];
}

void sweep(Matrix<const double> P, Matrix<const double> G, Matrix<double> B, size_t free, int n_sweeps, size_t first,
           size_t count, double* scratch) {
    using Vector = Lanes<double>;
    constexpr size_t kVectors = kSwept / kDoubles;
    const size_t rank = B.rows, n = B.cols;
    double *p = scratch, *b = scratch + rank * kSwept;
    take(P.data, rank, n, first, count, p);
    take(B.data, rank, n, first, count, b);
    for (int done = 0; done < n_sweeps; ++done)
        for (size_t k = 0; k < free; ++k) {
            const double* g = G.data + k * rank;
            if (g[k] <= 1e-300) continue;
            const double inverse = 1.0 / g[k];
            Vector rest[kVectors];
            for (size_t v = 0; v < kVectors; ++v) rest[v] = Vector::load(p + k * kSwept + v * kDoubles);
            size_t m = 0;
            for (; m + 4 <= rank; m += 4)
                for (size_t v = 0; v < kVectors; ++v) {
                    const double* at = b + m * kSwept + v * kDoubles;
                    rest[v] -= (Vector::load(at) * g[m] + Vector::load(at + kSwept) * g[m + 1]) +
                               (Vector::load(at + 2 * kSwept) * g[m + 2] + Vector::load(at + 3 * kSwept) * g[m + 3]);
                }
            for (; m < rank; ++m)
                for (size_t v = 0; v < kVectors; ++v) rest[v] -= Vector::load(b + m * kSwept + v * kDoubles) * g[m];
            for (size_t v = 0; v < kVectors; ++v) {
                double* at = b + k * kSwept + v * kDoubles;
                larger(Vector::load(at) + rest[v] * inverse, Vector{}).store(at);
            }
        }
    give(b, rank, n, first, count, B.data);
}

// ---- divergences ----

// Sum over k of a[k * kBlock] b[k] + start.
template <class T>
[[gnu::always_inline]] inline Lanes<T> mixed(const T* a, const T* b, size_t rank, T start) {
    using Vector = Lanes<T>;
    Vector t = Vector::all(start);
    size_t k = 0;
    for (; k + 4 <= rank; k += 4, a += 4 * kBlock)
        t += (Vector::load(a) * b[k] + Vector::load(a + kBlock) * b[k + 1]) +
             (Vector::load(a + 2 * kBlock) * b[k + 2] + Vector::load(a + 3 * kBlock) * b[k + 3]);
    for (; k < rank; ++k, a += kBlock) t += Vector::load(a) * b[k];
    return t;
}

template <class T>
class Stepper {
    using Vector = Lanes<T>;
    static constexpr size_t kLane = kLanes<T>, kParts = kBlock / kLane;
    static constexpr size_t kWide = kRegister == 64 ? 4 : 2;  // columns of the Hessian whose sums are in registers

 public:
    Stepper(const DivergenceStep<T>& step, size_t first, size_t count)
        : s_(step), rank_(step.A.rank), stride_(step.B.cols), first_(first), count_(count) {
        longest_ = 0;
        for (size_t c = 0; c < count; ++c) {
            const size_t blocks = s_.V.starts[first + c + 1] - s_.V.starts[first + c];
            longest_ = blocks > longest_ ? blocks : longest_;
        }
        T* at = s_.scratch;
        const size_t length = longest_ * kBlock;
        inverse_ = at, weight_ = inverse_ + kLane * length, delta_ = weight_ + kLane * length;
        b_ = delta_ + kLane * length, g_ = b_ + kLane * rank_, d_ = g_ + kLane * rank_, column_ = d_ + kLane * rank_;
        hessians_ = column_ + rank_ + kLane * rank_;
        for (size_t x = 0; x < 3 * kLane * rank_; ++x) b_[x] = 0;
        if (count < kLane)
            for (size_t x = 0; x < rank_ * rank_ * kLane; ++x) hessians_[x] = 0;
    }

    void run() {
        for (size_t c = 0; c < count_; ++c) differentiate(c);
        if (s_.n_sweeps == 0) return;
        descend();
        for (size_t c = 0; c < count_; ++c) damp(c);
    }

 private:
    // Of one column: the gradient, and what the Hessian and the damping need. Or the multiplicative step.
    void differentiate(size_t c) {
        const size_t j = first_ + c, begin = s_.V.starts[j], n_blocks = s_.V.starts[j + 1] - begin;
        const std::uint32_t* blocks = s_.V.blocks + begin;
        const T *A = s_.A.values, *values = s_.V.values + begin * kBlock;
        const T* column = column_;
        const size_t rank = rank_;
        T *inverse = inverse_ + c * longest_ * kBlock, *weight = weight_ + c * longest_ * kBlock;
        for (size_t k = 0; k < rank_; ++k) {
            column_[k] = static_cast<T>(s_.B.data[k * stride_ + j]);
            b_[k * kLane + c] = column_[k];
        }
        for (size_t q = 0; q < n_blocks; ++q)
            for (size_t part = 0; part < kParts; ++part) {
                const size_t at = q * kBlock + part * kLane;
                const Vector t =
                    mixed(A + rank * kBlock * blocks[q] + part * kLane, column, rank, static_cast<T>(kLeast));
                const Vector r = Vector::all(1) / t;
                r.store(inverse + at);
                (Vector::load(values + at) * r).store(weight + at);
            }
        size_t k = 0;
        for (; k + 4 <= rank_; k += 4) fill_gradient<4>(c, k, blocks, n_blocks, weight);
        for (; k < rank_; ++k) fill_gradient<1>(c, k, blocks, n_blocks, weight);
        if (s_.n_sweeps == 0) {
            for (k = 0; k < rank_; ++k) {
                const T sum = s_.A.mass[k] - g_[k * kLane + c];
                s_.B.data[k * stride_ + j] = s_.A.mass[k] > 0 ? column_[k] * sum / s_.A.mass[k] : T{0};
            }
            return;
        }
        for (size_t at = 0; at < n_blocks * kBlock; at += kLane)
            (Vector::load(weight + at) * Vector::load(inverse + at)).store(weight + at);
        for (k = 0; k < rank_; k += 2)
            for (size_t m = k; m < rank_;) {
                if (m + kWide <= rank_ && kWide > 2) {
                    fill_hessian<2, kWide>(c, k, m, blocks, n_blocks, weight);
                    m += kWide;
                    continue;
                }
                if (m + 1 < rank_) fill_hessian<2, 2>(c, k, m, blocks, n_blocks, weight);
                else if (k + 1 < rank_) fill_hessian<2, 1>(c, k, m, blocks, n_blocks, weight);
                else fill_hessian<1, 1>(c, k, m, blocks, n_blocks, weight);
                m += 2;
            }
    }

    template <size_t kRows>
    [[gnu::always_inline]] void fill_gradient(size_t c, size_t k, const std::uint32_t* blocks, size_t n_blocks,
                                              const T* weight) {
        const size_t width = rank_ * kBlock;
        const T* rows = s_.A.values + k * kBlock;
        Vector sums[kRows] = {};
        for (size_t q = 0; q < n_blocks; ++q)
            for (size_t part = 0; part < kParts; ++part) {
                const Vector u = Vector::load(weight + q * kBlock + part * kLane);
                const T* a = rows + width * blocks[q] + part * kLane;
                for (size_t x = 0; x < kRows; ++x) sums[x] += Vector::load(a + x * kBlock) * u;
            }
        for (size_t x = 0; x < kRows; ++x) g_[(k + x) * kLane + c] = s_.A.mass[k + x] - sums[x].sum();
    }

    template <size_t kRows, size_t kColumns>
    [[gnu::always_inline]] void fill_hessian(size_t c, size_t k, size_t m, const std::uint32_t* blocks, size_t n_blocks,
                                             const T* weight) {
        const size_t width = rank_ * kBlock;
        const T *rows = s_.A.values + k * kBlock, *others = s_.A.values + m * kBlock;
        Vector sums[kRows][kColumns] = {};
        for (size_t q = 0; q < n_blocks; ++q)
            for (size_t part = 0; part < kParts; ++part) {
                const Vector u = Vector::load(weight + q * kBlock + part * kLane);
                const size_t at = width * blocks[q] + part * kLane;
                Vector right[kColumns];
                for (size_t y = 0; y < kColumns; ++y) right[y] = Vector::load(others + at + y * kBlock);
                for (size_t x = 0; x < kRows; ++x) {
                    const Vector left = Vector::load(rows + at + x * kBlock) * u;
                    for (size_t y = 0; y < kColumns; ++y) sums[x][y] += left * right[y];
                }
            }
        for (size_t x = 0; x < kRows; ++x)
            for (size_t y = 0; y < kColumns; ++y) {
                const T value = sums[x][y].sum();
                hessians_[((k + x) * rank_ + m + y) * kLane + c] = value;
                hessians_[((m + y) * rank_ + k + x) * kLane + c] = value;
            }
    }

    // The bounded quadratic by coordinates, all columns at once: d, and the slope along it in `column_`.
    void descend() {
        T* gradient = column_ + rank_;  // as it was at d = 0
        for (size_t x = 0; x < kLane * rank_; ++x) gradient[x] = g_[x];
        for (int done = 0; done < s_.n_sweeps; ++done)
            for (size_t k = 0; k < rank_; ++k) {
                const T* row = hessians_ + k * rank_ * kLane;
                const Vector h = Vector::load(row + k * kLane), g = Vector::load(g_ + k * kLane);
                const Vector d = Vector::load(d_ + k * kLane), floor = Vector{} - Vector::load(b_ + k * kLane) - d;
                const Vector step = where_above(h, static_cast<T>(kLeast), larger((Vector{} - g) / h, floor),
                                                where_above(g, T{0}, floor, Vector{}));
                (d + step).store(d_ + k * kLane);
                for (size_t m = 0; m < rank_; ++m)
                    (Vector::load(g_ + m * kLane) + Vector::load(row + m * kLane) * step).store(g_ + m * kLane);
            }
        Vector slope{};
        for (size_t k = 0; k < rank_; ++k) slope += Vector::load(gradient + k * kLane) * Vector::load(d_ + k * kLane);
        slope.store(slope_);
    }

    // The largest of 1, 1/2, 1/4, ... of the step at which the divergence cannot rise; no logarithm is needed.
    // With x = t delta / T, -log(1 + x) + x <= x^2 / 2 / (1 + min(x, 0)), which bounds the change from above.
    void damp(size_t c) {
        const size_t j = first_ + c, begin = s_.V.starts[j], n_blocks = s_.V.starts[j + 1] - begin;
        const std::uint32_t* blocks = s_.V.blocks + begin;
        const T *inverse = inverse_ + c * longest_ * kBlock, *weight = weight_ + c * longest_ * kBlock,
                *A = s_.A.values, *column = column_;
        const size_t rank = rank_;
        T* delta = delta_;
        for (size_t k = 0; k < rank_; ++k) column_[k] = d_[k * kLane + c];
        for (size_t q = 0; q < n_blocks; ++q)
            for (size_t part = 0; part < kParts; ++part)
                mixed(A + rank * kBlock * blocks[q] + part * kLane, column, rank, T{0})
                    .store(delta + q * kBlock + part * kLane);
        T t = 1;
        for (int halved = 0; halved < kHalvings; ++halved, t *= static_cast<T>(0.5)) {
            Vector bound{};
            for (size_t at = 0; at < n_blocks * kBlock; at += kLane) {
                const Vector d = Vector::load(delta + at), x = d * t * Vector::load(inverse + at);
                const Vector fall = where_above(x, T{0}, Vector{}, x);
                const Vector y = larger(Vector::all(1) + fall, Vector::all(static_cast<T>(kSteepest)));
                bound += Vector::load(weight + at) * d * d / y;
            }
            if (!(slope_[c] + static_cast<T>(0.5) * t * bound.sum() <= 0)) continue;
            for (size_t k = 0; k < rank_; ++k) {
                const T moved = b_[k * kLane + c] + t * column_[k];
                s_.B.data[k * stride_ + j] = moved > 0 ? moved : T{0};
            }
            return;
        }
    }

    const DivergenceStep<T>& s_;
    const size_t rank_, stride_, first_, count_;
    size_t longest_;
    T *inverse_, *weight_, *delta_, *b_, *g_, *d_, *column_, *hessians_;
    T slope_[kLane];
};

template <class T>
void step(const DivergenceStep<T>& what, size_t first, size_t count) {
    Stepper<T>(what, first, count).run();
}

double divergence(BlockFactor<double> A, BlockColumns<double> V, Matrix<const double> B, size_t first, size_t last,
                  double* column) {
    const size_t rank = A.rank;
    double total = 0;
    for (size_t j = first; j < last; ++j) {
        for (size_t k = 0; k < rank; ++k) column[k] = B.data[k * B.cols + j];
        Lanes<double> sums{};
        for (size_t q = V.starts[j]; q < V.starts[j + 1]; ++q)
            for (size_t part = 0; part < kBlock; part += kDoubles) {
                const Lanes<double> t = mixed(A.values + rank * kBlock * V.blocks[q] + part, column, rank, kTiny);
                sums += Lanes<double>::load(V.values + q * kBlock + part) * log(t);
            }
        double linear = 0;
        for (size_t k = 0; k < rank; ++k) linear += column[k] * A.mass[k];
        total += linear - sums.sum();
    }
    return total;
}

}  // namespace

const NmfKernels nmf_kernels{
    multiply, sweep, step<double>, step<float>, divergence,
};

}  // namespace partita::PARTITA_ISA
