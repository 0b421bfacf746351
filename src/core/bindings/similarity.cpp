#include "similarity.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "arrays.hpp"
#include "rooms.hpp"

namespace partita {

namespace {

using namespace nb::literals;

void py_shares(const AnyIn<2>& rows, const std::optional<AnyIn<2>>& cols, const std::optional<In<double, 1>>& weights,
               const AnyInOut<2>& out, int n_threads, PyStop& stop) {
    const AnyIn<2>& others = cols ? *cols : rows;
    const std::size_t n_draws = rows.shape(0);
    require(others.shape(0) == n_draws && (!weights || weights->shape(0) == n_draws),
            "Rows, columns and weights must be of the same draws.");
    require(n_draws >= 1 && n_draws < std::size_t{1} << 31, "There must be 1 to 2^31 - 1 draws.");
    require(out.shape(0) == rows.shape(1) && out.shape(1) == others.shape(1),
            "`out` must have a row and a column for each item.");
    if (rows.dtype() != others.dtype()) throw nb::type_error("Rows and columns must have one dtype.");
    visit_labels(rows, [&]<class Label>(Matrix<const Label> left) {
        visit<double, float>("`out`", out, [&]<class Real>(Matrix<Real> matrix) {
            const auto own = weights ? span_of(*weights) : std::span<const double>();
            released(stop,
                     [&] { fill_shares(left, matrix_as<const Label>(others), own, !cols, matrix, n_threads, stop); });
        });
    });
}

void py_own_sums(const AnyIn<2>& matrix, const In<std::uint32_t, 1>& labels, std::size_t n_clusters,
                 const InOut<double, 1>& out, int n_threads) {
    const std::size_t n = matrix.shape(0);
    require(matrix.shape(1) == n && labels.shape(0) == n && out.shape(0) == n,
            "Matrix, labels and `out` must be of as many items.");
    require(n_clusters <= n, "There are at most as many clusters as items.");
    visit_reals(matrix, [&](auto values) {
        nb::gil_scoped_release free;
        own_sums(values, Members(span_of(labels), n_clusters), span_of(out), n_threads);
    });
}

}  // namespace

void bind_similarity(nb::module_& m) {
    m.def("shares", py_shares, "rows"_a, "cols"_a.none(), "weights"_a.none(), "out"_a.noconvert(), "n_threads"_a,
          "stop"_a,
          "Write the share of draws, or of weight, in which the items of `rows` and of `cols`, by default the same, "
          "have the same label.");
    m.def("own_sums", py_own_sums, "matrix"_a, "labels"_a, "n_clusters"_a, "out"_a.noconvert(), "n_threads"_a,
          "Sum a matrix over each item's own cluster.");
}

}  // namespace partita
