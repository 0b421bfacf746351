// Small symmetric matrices, row-major, in place.
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "maths.hpp"
#include "matrix.hpp"
#include "mixture_watch.hpp"

namespace partita {

// Overwrite the lower triangle of `a` by L with LL' = a; log det a, or nan where `a` is not positive definite.
inline double cholesky(Matrix<double> a, Watch& watch) {
    double log_det = 0;
    for (std::size_t j = 0; j < a.rows; ++j) {
        double d = a(j, j);
        for (std::size_t k = 0; k < j; ++k) d -= a(j, k) * a(j, k);
        if (!(d > 0)) return std::numeric_limits<double>::quiet_NaN();
        log_det += log(d);
        d = std::sqrt(d);
        a(j, j) = d;
        for (std::size_t i = j + 1; i < a.rows; ++i) {
            double s = a(i, j);
            for (std::size_t k = 0; k < j; ++k) s -= a(i, k) * a(j, k);
            a(i, j) = s / d;
        }
        watch.spend(static_cast<std::int64_t>(j * (a.rows - j)));
    }
    return log_det;
}

// Overwrite the lower triangular `a` by its inverse.
inline void invert_lower(Matrix<double> a, Watch& watch) {
    for (std::size_t j = 0; j < a.rows; ++j) {
        a(j, j) = 1 / a(j, j);
        for (std::size_t i = j + 1; i < a.rows; ++i) {
            double s = 0;
            for (std::size_t k = j; k < i; ++k) s -= a(i, k) * a(k, j);
            a(i, j) = s / a(i, i);
        }
        watch.spend(static_cast<std::int64_t>((a.rows - j) * (a.rows - j)));
    }
}

// Replace the symmetric `a` by its inverse; whether it is positive definite.
inline bool invert(std::vector<double>& values, int size, Watch& watch) {
    const auto p = static_cast<std::size_t>(size);
    auto root = values;
    const Matrix<double> r{root.data(), p, p}, out{values.data(), p, p};
    if (!std::isfinite(cholesky(r, watch))) return false;
    invert_lower(r, watch);
    for (std::size_t i = 0; i < p; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            double s = 0;
            for (std::size_t k = i; k < p; ++k) s += r(k, i) * r(k, j);
            out(i, j) = out(j, i) = s;
        }
        watch.spend(static_cast<std::int64_t>(i * (p - i)));
    }
    return true;
}

// Eigenvectors (columns) and eigenvalues (the diagonal of `a`) of the symmetric `a`, by Jacobi rotations.
inline void eigen(Matrix<double> a, Matrix<double> vectors, Watch& watch) {
    const std::size_t p = a.rows;
    for (std::size_t i = 0; i < p; ++i)
        for (std::size_t j = 0; j < p; ++j) vectors(i, j) = i == j;
    for (int round = 0; round < 60; ++round) {
        double off = 0, diagonal = 0;
        for (std::size_t i = 0; i < p; ++i) {
            diagonal += a(i, i) * a(i, i);
            for (std::size_t j = 0; j < i; ++j) off += a(i, j) * a(i, j);
        }
        if (!(off > 1e-30 * diagonal)) return;
        for (std::size_t i = 0; i + 1 < p; ++i) {
            for (std::size_t j = i + 1; j < p; ++j) {
                if (a(i, j) == 0) continue;
                const double theta = 0.5 * (a(j, j) - a(i, i)) / a(i, j);
                const double size = 1 / (std::abs(theta) + std::sqrt(1 + theta * theta));
                const double t = theta < 0 ? -size : size, c = 1 / std::sqrt(1 + t * t), s = t * c;
                const auto rotate = [c, s](double& x, double& y) {
                    const double before = x;
                    x = c * before - s * y;
                    y = s * before + c * y;
                };
                for (std::size_t k = 0; k < p; ++k) rotate(a(k, i), a(k, j));
                for (std::size_t k = 0; k < p; ++k) rotate(a(i, k), a(j, k));
                for (std::size_t k = 0; k < p; ++k) rotate(vectors(k, i), vectors(k, j));
            }
            watch.spend(static_cast<std::int64_t>(10 * p * p));
        }
    }
}

}  // namespace partita
