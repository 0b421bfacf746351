#include "similarity.hpp"

#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "rooms.hpp"

namespace partita {

namespace {

using namespace nb::literals;
using Corners = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;  // top, bottom, left, right

BitPlanes planes_of(const In<std::uint64_t, 4>& planes) {
    require(planes.shape(3) == kPanel, "Bit planes are of 16 items each.");
    return {planes.data(), planes.shape(0), planes.shape(1), planes.shape(2)};
}

// Calls `fill` with the strip of a matrix of n_rows items by n_cols.
template <class Fill>
void with_strip(const Corners& corners, const AnyInOut<2>& out, bool both, std::size_t n_rows, std::size_t n_cols,
                Fill&& fill) {
    std::size_t top, bottom, left, right;  // clang 14 captures no structured binding
    std::tie(top, bottom, left, right) = corners;
    require(top <= bottom && bottom <= std::min(n_rows, out.shape(0)) && left <= right &&
                right <= std::min(n_cols, out.shape(1)),
            "A strip must lie within the matrix and its items.");
    require(top % kBlock == 0 && left % kPanel == 0, "A strip begins at a multiple of 64 rows and of 16 columns.");
    require(!both || (out.shape(0) == out.shape(1) && left >= top), "A symmetric strip begins on the diagonal.");
    visit<double, float>("`out`", out, [&]<class Real>(Matrix<Real> matrix) {
        nb::gil_scoped_release free;
        fill(Strip<Real>{top, bottom, left, right, both, matrix});
    });
}

void py_take_apart(const AnyIn<2>& labels, std::size_t first, std::size_t last, const InOut<std::uint64_t, 4>& out) {
    const BitPlanes planes{out.data(), out.shape(0), out.shape(1), out.shape(2)};
    require(planes.n_panels == (labels.shape(1) + kPanel - 1) / kPanel &&
                planes.n_words == (labels.shape(0) + kWord - 1) / kWord && out.shape(3) == kPanel,
            "`out` must have the shape of the planes.");
    require(1 <= planes.n_planes && planes.n_planes <= 32, "There must be 1 to 32 planes.");
    require(first <= last && last <= planes.n_panels, "Panels must be among those that there are.");
    visit_labels(labels, [&](auto rows) {
        nb::gil_scoped_release free;
        take_apart(rows, planes.n_planes, first, last, out.data());
    });
}

void py_count_shares(const In<std::uint64_t, 4>& rows, const In<std::uint64_t, 4>& cols, std::size_t n_draws, bool both,
                     const Corners& corners, const AnyInOut<2>& out) {
    const BitPlanes left = planes_of(rows), right = planes_of(cols);
    require(left.n_words == right.n_words && left.n_planes == right.n_planes,
            "Rows and columns must be of the same draws.");
    require(n_draws >= 1 && n_draws <= left.n_words * kWord && n_draws < std::size_t{1} << 31,
            "There must be 1 to 2^31 - 1 draws.");
    with_strip(corners, out, both, left.n_panels * kPanel, right.n_panels * kPanel,
               [&](const auto& strip) { count_shares(left, right, n_draws, strip); });
}

void py_weigh_shares(const AnyIn<2>& rows, const AnyIn<2>& cols, const In<double, 1>& weights, bool both,
                     const Corners& corners, const AnyInOut<2>& out) {
    require(rows.shape(0) == weights.shape(0) && cols.shape(0) == weights.shape(0),
            "There must be a weight for each draw.");
    require(out.shape(0) == rows.shape(1) && out.shape(1) == cols.shape(1),
            "`out` must have a row and a column for each item.");
    if (rows.dtype() != cols.dtype()) throw nb::type_error("Rows and columns must have one dtype.");
    visit_labels(rows, [&]<class Label>(Matrix<const Label> left) {
        with_strip(corners, out, both, left.cols, cols.shape(1), [&](const auto& strip) {
            weigh_shares(left, matrix_as<const Label>(cols), span_of(weights), strip);
        });
    });
}

void py_own_sums(const AnyIn<2>& matrix, const In<std::uint32_t, 1>& labels, std::size_t n_clusters, std::size_t first,
                 std::size_t last, const InOut<double, 1>& out) {
    const std::size_t n = matrix.shape(0);
    require(matrix.shape(1) == n && labels.shape(0) == n && out.shape(0) == n,
            "Matrix, labels and `out` must be of as many items.");
    require(n_clusters <= n && last <= n, "Clusters and members are at most as many as items.");
    visit_reals(matrix, [&](auto values) {
        nb::gil_scoped_release free;
        own_sums(values, Members(span_of(labels), n_clusters), first, last, span_of(out));
    });
}

}  // namespace

void bind_similarity(nb::module_& m) {
    m.def("take_apart", py_take_apart, "labels"_a, "first"_a, "last"_a, "out"_a.noconvert(),
          "Write the bits of the labels of some panels of 16 items to out[panel, word of 64 draws, plane, item].");
    m.def("count_shares", py_count_shares, "rows"_a, "cols"_a, "n_draws"_a, "both"_a, "strip"_a, "out"_a.noconvert(),
          "Write the share of draws in which items agree, from their bits, for the pairs of a strip (top, bottom, "
          "left, right).");
    m.def("weigh_shares", py_weigh_shares, "rows"_a, "cols"_a, "weights"_a, "both"_a, "strip"_a, "out"_a.noconvert(),
          "Write the share of weight in which items agree, from their labels, for the pairs of a strip.");
    m.def("own_sums", py_own_sums, "matrix"_a, "labels"_a, "n_clusters"_a, "first"_a, "last"_a, "out"_a.noconvert(),
          "Sum a matrix over each item's own cluster, for items `first` to `last` - 1 in the order of their clusters.");
}

}  // namespace partita
