#include "exact.hpp"

#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "certify.hpp"
#include "chips.hpp"
#include "labels.hpp"
#include "rooms.hpp"

namespace partita {

namespace {

using namespace nb::literals;
using Numbers = In<std::int64_t, 1>;
using Reals = In<double, 1>;
using Square = In<double, 2>;
using LossArrays = std::tuple<Reals, Reals, Reals>;  // cell, numerator, denominator
using Labels = InOut<std::int64_t, 1>;

Loss loss_of(const LossArrays& arrays) {
    const auto& [cell, top, bottom] = arrays;
    require(cell.shape(0) >= 2, "`cell` must hold n + 1 numbers, n >= 1");
    require(top.shape(0) == 7 && bottom.shape(0) == 7, "a loss has 7 coefficients above and below");
    Coefficients above, below;
    std::copy_n(top.data(), 7, above.begin());
    std::copy_n(bottom.data(), 7, below.begin());
    return {{cell.data(), cell.data() + cell.shape(0)}, above, below};
}

void require_few(const Loss& loss, const Labels& best, std::size_t max_clusters) {
    const std::size_t n = loss.cell.size() - 1;
    require(n <= kMostVisited && best.shape(0) == n, "every partition is visited of 1 to 16 items");
    require(max_clusters >= 1, "`max_clusters` must be at least 1");
    const auto labels = span_of(best);
    require(std::all_of(labels.begin(), labels.end(),
                        [&](std::int64_t x) { return x >= 0 && static_cast<std::size_t>(x) < n; }),
            "labels must lie in 0 .. n - 1");
}

void require_square(const Square& matrix) { require(matrix.shape(0) == matrix.shape(1), "a matrix must be square"); }

using Found = std::tuple<Out<std::int64_t, 2>, Out<double, 1>>;

Found as_arrays(const std::vector<Triangle>& triangles) {
    auto rows = make_array<std::int64_t, 2>({triangles.size(), 3});
    std::vector<double> values;
    auto* to = rows.data();
    for (const auto& [j, i, k, value] : triangles) {
        for (auto item : {j, i, k}) *to++ = static_cast<std::int64_t>(item);
        values.push_back(value);
    }
    return {rows, to_array(std::move(values))};
}

bool py_visit_draws(const In<std::uint32_t, 2>& labels, const Reals& p, const LossArrays& arrays,
                    std::size_t max_clusters, const Labels& best, PyStop& stop) {
    const auto loss = loss_of(arrays);
    require_few(loss, best, max_clusters);
    require(labels.shape(1) == best.shape(0), "labels must be of as many items as `best`");
    require(labels.shape(0) == p.shape(0), "`p` must be one for each draw");
    return released(
        stop, [&] { return visit_draws(matrix_of(labels), span_of(p), loss, max_clusters, span_of(best), stop); });
}

bool py_visit_clusters(const Reals& joint, double t, const LossArrays& arrays, std::size_t max_clusters,
                       const Labels& best, PyStop& stop) {
    const auto loss = loss_of(arrays);
    require_few(loss, best, max_clusters);
    require(joint.shape(0) == std::size_t{1} << best.shape(0), "`joint` must hold a number for each of 2^n clusters");
    return released(stop, [&] { return visit_clusters(span_of(joint), t, loss, max_clusters, span_of(best), stop); });
}

Found py_settle(const Square& d, const Numbers& labels, double tolerance, PyStop& stop) {
    require_square(d);
    require(d.shape(0) <= kMostCertified, "`d` must have at most 65,535 items");
    require(labels.shape(0) == d.shape(0), "`labels` must be one for each item of `d`");
    return as_arrays(released(stop, [&] { return settle(matrix_of(d), span_of(labels), tolerance, stop); }));
}

Found py_violated(const Square& x, const Square& d, double tolerance, PyStop& stop) {
    require_square(x), require_square(d);
    require(x.shape(0) == d.shape(0), "`x` and `d` must be of one shape");
    return as_arrays(released(stop, [&] { return violated(matrix_of(x), matrix_of(d), tolerance, stop); }));
}

Out<std::int64_t, 2> py_stars(const Square& x, double tolerance, double least, std::size_t n_leaves, PyStop& stop) {
    require_square(x);
    require(n_leaves >= 3 && n_leaves <= 64, "`n_leaves` must lie in 3 .. 64");
    auto leaves = make_array<std::int64_t, 2>({x.shape(0), n_leaves});
    released(stop, [&] { find_stars(matrix_of(x), tolerance, least, matrix_of(leaves), stop); });
    return leaves;
}

using Ids = Out<std::int64_t, 1>;

std::tuple<Ids, Ids, Ids, Out<double, 1>, Ids> py_grow_sub_partitions(const AnyIn<2>& draws, const Reals& weights,
                                                                      const Numbers& start, const Numbers& firsts,
                                                                      std::size_t width, PyStop& stop) {
    require(draws.size() > 0 && weights.shape(0) == draws.shape(0), "`weights` must be one for each draw");
    require(start.shape(0) == draws.shape(1), "`start` must have a label for each item");
    const auto n = static_cast<std::int64_t>(draws.shape(1));
    for (auto x : span_of(start)) require(x >= -1 && x < n, "labels of `start` must lie below the number of items");
    for (auto x : span_of(firsts)) require(x >= 0 && x < n, "`firsts` must be items");
    require(firsts.shape(0) > 0 && width > 0 && width <= 4096, "`firsts` and `width` must be at least one");
    for (auto w : span_of(weights)) require(w >= 0 && w <= 0x1p50, "`weights` must be whole numbers up to 2^50");
    GrownTree tree;
    visit_labels(draws, [&](auto rows) {
        tree = released(stop, [&] {
            std::size_t most = 0;
            for (std::size_t m = 0; m < rows.rows; ++m) most = std::max(most, n_clusters_of(rows.row(m)));
            require(most <= rows.cols, "labels must lie below the number of items");
            return grow_sub_partitions(rows, span_of(weights), most, span_of(start), span_of(firsts), width, stop);
        });
    });
    return {to_array(std::move(tree.parents)), to_array(std::move(tree.items)), to_array(std::move(tree.places)),
            to_array(std::move(tree.weights)), to_array(std::move(tree.best))};
}

}  // namespace

void bind_exact(nb::module_& m) {
    m.def("visit_draws", py_visit_draws, "labels"_a, "p"_a, "loss"_a, "max_clusters"_a, "best"_a, "stop"_a,
          "Visit every partition; `best` becomes the one of the least expected loss. Whether all were visited.");
    m.def("visit_clusters", py_visit_clusters, "joint"_a, "t"_a, "loss"_a, "max_clusters"_a, "best"_a, "stop"_a,
          "The same where clusters add what they have in `joint` to j, by the mask of their items.");
    m.def("settle", py_settle, "d"_a, "labels"_a, "tolerance"_a, "stop"_a,
          "Triangles (j, i, k), x_ij + x_jk - x_ik <= 1, and multipliers that prove what they can of a partition.");
    m.def("violated", py_violated, "x"_a, "d"_a, "tolerance"_a, "stop"_a,
          "For every pair ik the triangle (j, i, k) violated most, and by how much.");
    m.def("stars", py_stars, "x"_a, "tolerance"_a, "least"_a, "n_leaves"_a, "stop"_a,
          "The leaves of a violated star around each item, -1 where there are fewer.");
    m.def("grow_sub_partitions", py_grow_sub_partitions, "draws"_a, "weights"_a, "start"_a, "firsts"_a, "width"_a,
          "stop"_a,
          "Grow sub-partitions from items or a start: parent, item, place and weight of each node, the best by size.");
}

}  // namespace partita
