// A loss as data: a table of what a cell of x items counts, and the coefficients of a ratio of two sums.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace partita {

// Coefficients of (t, e, j, w, min(t, e), t e / w, n).
struct Combination {
    double t, e, j, w, least, product, n;
};

struct RatioLoss {
    std::span<const double> cell;  // at 0, 1, ..., n
    Combination numerator, denominator;

    // The loss of an estimate against a draw, from the sums of cell over the draw's clusters (t), the estimate's (e)
    // and their contingency table (j). 0 where the numerator is, identical partitions included.
    double operator()(double t, double e, double j) const {
        const double top = at(numerator, t, e, j), bottom = at(denominator, t, e, j);
        const double noise = 64 * std::numeric_limits<double>::epsilon() * (std::abs(w()) + n());
        return std::abs(top) <= noise || bottom <= 0 ? 0.0 : top / bottom;
    }

    double w() const { return cell.back(); }
    double n() const { return static_cast<double>(cell.size() - 1); }

 private:
    double at(const Combination& c, double t, double e, double j) const {
        double total = c.t * t + c.e * e + c.j * j + (c.w * w() + c.n * n());
        if (c.least != 0) total += c.least * std::min(t, e);
        if (c.product != 0 && w() != 0) total += c.product * t * e / w();
        return total;
    }
};

}  // namespace partita
