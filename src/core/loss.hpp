// A loss: cell(x) as a table, and a ratio of two dot products with (t, e, j, w, min(t, e), t e / w, n).
#pragma once
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace partita {

using Coefficients = std::array<double, 7>;

struct Loss {
    std::vector<double> cell;  // at 0, 1, ..., n
    Coefficients top, bottom;
    double w, n;

    Loss(std::vector<double> table, Coefficients top_, Coefficients bottom_)
        : cell(std::move(table)), top(top_), bottom(bottom_), w(cell.back()), n(static_cast<double>(cell.size() - 1)) {}

    // Whether e and j enter without products or bends: then slopes never change.
    bool is_linear() const {
        return top[4] == 0 && top[5] == 0 && bottom[1] == 0 && bottom[2] == 0 && bottom[4] == 0 && bottom[5] == 0;
    }

    struct At {
        double value, by_e, by_j;
    };  // the loss, and its slopes in e and j

    At at(double t, double e, double j) const {
        const double product = w != 0 ? 1 / w : 0, least = t < e ? t : e, is_below = e < t ? 1 : 0;
        const double up = dot(top, t, e, j, least, product), down = dot(bottom, t, e, j, least, product);
        const bool is_none = std::abs(up) <= noise() || down <= 0;
        const double inverse = down > 0 ? 1 / down : 0, value = is_none ? 0 : up * inverse;
        return {value, (by_e(top, t, is_below, product) - value * by_e(bottom, t, is_below, product)) * inverse,
                (top[2] - value * bottom[2]) * inverse};
    }

    // The loss where e is known: the same as ``at``, without branches.
    struct AtSize {
        double e, noise, top0, top_t, top_j, top_least, bottom0, bottom_t, bottom_j, bottom_least;
        // for a draw, or for eight at once: V is double or Doubles
        template <class V>
        [[gnu::always_inline]] V value(V t, V j) const {
            const V least = t < e ? t : V{} + e;
            const V up = top0 + top_t * t + top_j * j + top_least * least;
            const V down = bottom0 + bottom_t * t + bottom_j * j + bottom_least * least;
            const auto is_some = ((up > noise) | (up < -noise)) & (down > 0.0);
            return (is_some ? up : V{}) / (is_some ? down : V{} + 1.0);
        }
    };
    AtSize at_size(double e) const {
        const double product = w != 0 ? e / w : 0;
        return {e,         noise(),  top[1] * e + top[3] * w + top[6] * n,          top[0] + top[5] * product,
                top[2],    top[4],   bottom[1] * e + bottom[3] * w + bottom[6] * n, bottom[0] + bottom[5] * product,
                bottom[2], bottom[4]};
    }

 private:
    double noise() const { return 64 * std::numeric_limits<double>::epsilon() * (std::abs(w) + n); }
    double dot(const Coefficients& c, double t, double e, double j, double least, double product) const {
        return c[0] * t + c[1] * e + c[2] * j + c[3] * w + c[4] * least + c[5] * t * e * product + c[6] * n;
    }
    static double by_e(const Coefficients& c, double t, double is_below, double product) {
        return c[1] + c[4] * is_below + c[5] * t * product;
    }
};

}  // namespace partita
