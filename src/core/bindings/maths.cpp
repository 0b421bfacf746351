#include "maths.hpp"

#include "arrays.hpp"
#include "rooms.hpp"

namespace partita {

void bind_maths(nb::module_& m) {
    const auto bind = [&](const char* name, auto function, const char* doc) {
        const auto of_each = [function](const In<double, 1>& x) {
            std::vector<double> out(x.shape(0));
            for (std::size_t i = 0; i < out.size(); ++i) out[i] = function(x.data()[i]);
            return to_array(std::move(out));
        };
        m.def(name, of_each, nb::arg("x"), doc);
    };
    bind(
        "log", [](double x) { return log(x); }, "The natural logarithm, with the same bits on every processor.");
    bind(
        "log2", [](double x) { return log2(x); },
        "The logarithm to base 2, exact at powers of 2, with the same bits on every processor.");
    bind(
        "exp", [](double x) { return exp(x); }, "The exponential, with the same bits on every processor.");
    bind(
        "lgamma", [](double x) { return lgamma(x); },
        "The logarithm of the gamma function, with the same bits on every processor.");
}

}  // namespace partita
