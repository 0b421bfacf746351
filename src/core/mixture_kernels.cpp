#include "mixture_kernels.hpp"

#include "maths.hpp"
#include "vectors.hpp"

namespace partita::PARTITA_ISA {

namespace {

void log_density(const double* x, std::size_t stride, const NormalTerms& terms, std::size_t m, double* out) {
    const int p = terms.p;
    for (std::size_t i = 0; i < m; i += kDoubles) {
        Doubles distance{};
        const double* row = terms.root;
        for (int a = 0; a < p; ++a, row += terms.q) {
            Doubles d{};
            if (terms.q < p) d = row[0] * (load<Doubles>(x + i + a * stride) - terms.mean[a]);
            else
                for (int b = 0; b <= a; ++b) d += row[b] * (load<Doubles>(x + i + b * stride) - terms.mean[b]);
            distance += d * d;
        }
        store(terms.log_const - 0.5 * distance, out + i);
    }
}

void exponentials(const double* x, const double* less, std::size_t m, double* out) {
    for (std::size_t i = 0; i < m; i += kDoubles)
        store(exp<Doubles>(load<Doubles>(x + i) - load<Doubles>(less + i)), out + i);
}

int integrate(const ScaleTerms& terms, double* weight, double& log_sum) {
    constexpr double kCut = 25;  // e^-25 of the largest value: what is left out on either side
    const Doubles lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    Doubles largest = Doubles{} - maths::kInf;
    double best = -maths::kInf;
    int n = 0;
    for (bool more = true; more;) {
        const Doubles s = (terms.right - n - lanes) * terms.step, e = exp(s), g = terms.nu * e;
        const Doubles gamma = terms.nu * (s - (e - 1.0));  // log of the gamma density, relative to its mode
        Doubles product = Doubles{} + 1.0, logs{}, quadratic{};
        for (int j = 0; j < terms.size; ++j) {
            const Doubles factor = 1.0 + terms.rate[j] * g;
            product *= factor;
            quadratic += terms.square[j] * (1.0 - 1.0 / factor);
            if (j % 4 == 3) {  // before it can overflow
                logs += log(product);
                product = Doubles{} + 1.0;
            }
        }
        const Doubles value = gamma - 0.5 * (logs + log(product) + quadratic);
        store(value, weight + n);
        largest = value > largest ? value : largest;
        n += kDoubles;
        for (int k = 0; k < kDoubles; ++k) best = largest[k] > best ? largest[k] : best;
        // On the left of the mode the gamma density falls and bounds what follows.
        more = n + kDoubles <= kMostNodes && (n <= terms.right + 1 || gamma[kDoubles - 1] >= best - kCut);
    }
    Doubles total{};
    for (int i = 0; i < n; i += kDoubles) {
        const Doubles relative = exp<Doubles>(load<Doubles>(weight + i) - best);
        store(relative, weight + i);
        total += relative;
    }
    log_sum = best + log(sum(total));
    return n;
}

}  // namespace

const MixtureKernels mixture_kernels{log_density, exponentials, integrate};

}  // namespace partita::PARTITA_ISA
