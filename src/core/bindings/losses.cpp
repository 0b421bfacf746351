#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "contingency.hpp"
#include "dendrogram.hpp"
#include "maths.hpp"
#include "rooms.hpp"

namespace partita {

namespace {

using namespace nb::literals;
using Numbers = In<std::int64_t, 1>;
using Reals = In<double, 1>;
using Rows = In<std::uint32_t, 2>;
using LossArrays = std::tuple<Reals, Reals, Reals>;  // cell, numerator, denominator

std::span<const double> cell_of(const Reals& cell, std::size_t n_items) {
    require(cell.shape(0) == n_items + 1, "`cell` must have an entry for each of 0 to n items.");
    require(cell.data()[0] == 0, "`cell` must be 0 at 0.");
    return span_of(cell);
}

RatioLoss loss_of(const LossArrays& arrays, std::size_t n_items) {
    const auto combination = [](const Reals& c) {
        require(c.shape(0) == 7, "There must be coefficients of t, e, j, w, min(t, e), t e / w and n.");
        const double* x = c.data();
        return Combination{x[0], x[1], x[2], x[3], x[4], x[5], x[6]};
    };
    const auto& [cell, numerator, denominator] = arrays;
    return {cell_of(cell, n_items), combination(numerator), combination(denominator)};
}

// Calls `work` with draws and candidates, checked.
template <class Work>
void with_both(const AnyIn<2>& draws, const Numbers& sizes, const Rows& candidates, const Numbers& n_clusters,
               Work&& work) {
    require(draws.shape(1) == candidates.shape(1), "Draws and candidates must be of as many items.");
    visit_labels(draws, [&]<class Label>(Matrix<const Label> labels) {
        const Partitions<Label> rows{labels, span_of(sizes)};
        const Candidates asked{matrix_of(candidates), span_of(n_clusters)};
        nb::gil_scoped_release free;
        rows.check(), asked.check();
        work(rows, asked);
    });
}

Out<double, 2> py_joint_sums(const AnyIn<2>& draws, const Numbers& sizes, const Rows& candidates,
                             const Numbers& n_clusters, const Reals& cell) {
    const auto table = cell_of(cell, draws.shape(1));
    auto out = make_array<double, 2>({candidates.shape(0), draws.shape(0)});
    with_both(draws, sizes, candidates, n_clusters,
              [&](const auto& rows, const auto& asked) { joint_sums(rows, asked, table, matrix_of(out)); });
    return out;
}

Out<double, 2> py_losses(const AnyIn<2>& draws, const Numbers& sizes, const Rows& candidates, const Numbers& n_clusters,
                         const LossArrays& arrays) {
    const RatioLoss loss = loss_of(arrays, draws.shape(1));
    auto out = make_array<double, 2>({candidates.shape(0), draws.shape(0)});
    with_both(draws, sizes, candidates, n_clusters,
              [&](const auto& rows, const auto& asked) { losses(rows, asked, loss, matrix_of(out)); });
    return out;
}

Out<double, 1> py_expected_losses(const AnyIn<2>& draws, const Numbers& sizes, const Reals& weights,
                                  const Rows& candidates, const Numbers& n_clusters, const LossArrays& arrays) {
    require(weights.shape(0) == draws.shape(0), "There must be a weight for each draw.");
    const RatioLoss loss = loss_of(arrays, draws.shape(1));
    auto out = make_array<double, 1>({candidates.shape(0)});
    with_both(draws, sizes, candidates, n_clusters, [&](const auto& rows, const auto& asked) {
        std::vector<double> each(asked.labels.rows * rows.labels.rows);
        const Matrix<double> all{each.data(), asked.labels.rows, rows.labels.rows};
        losses(rows, asked, loss, all);
        for (std::size_t q = 0; q < all.rows; ++q) out.data()[q] = weighted_sum(all.row(q), span_of(weights));
    });
    return out;
}

Out<double, 1> py_losses_of_cuts(const In<std::int64_t, 2>& children, const AnyIn<2>& draws, const Numbers& sizes,
                                 const Reals& weights, const Reals& e, const LossArrays& arrays) {
    const std::size_t n = draws.shape(1);
    require(children.shape(1) == 2 && children.shape(0) + 1 == n && e.shape(0) == n,
            "Tree, draws and `e` must be of as many items.");
    require(weights.shape(0) == draws.shape(0), "There must be a weight for each draw.");
    const RatioLoss loss = loss_of(arrays, n);
    const Dendrogram tree(matrix_of(children));
    std::vector<double> out(n);
    visit_labels(draws, [&]<class Label>(Matrix<const Label> labels) {
        const Partitions<Label> rows{labels, span_of(sizes)};
        nb::gil_scoped_release free;
        rows.check();
        losses_of_cuts(tree, rows, span_of(weights), loss, span_of(e), out);
    });
    return to_array(std::move(out));
}

void py_climb(const In<std::int64_t, 2>& children, const AnyIn<2>& matrix, std::size_t start, std::size_t stop,
              std::size_t begin, std::size_t end, const InOut<double, 1>& sums, const InOut<double, 1>& out) {
    const std::size_t n = sums.shape(0);
    require(children.shape(1) == 2 && children.shape(0) + 1 == n && matrix.shape(0) == n && matrix.shape(1) == n,
            "Matrix, tree and `sums` must be of as many items.");
    require(n <= start && start <= stop && stop <= 2 * n - 1, "Nodes must be merges of the tree.");
    const Dendrogram tree(matrix_of(children));
    std::size_t room = 0;
    for (std::size_t node = start; node < stop; ++node) room += tree.items(node).size();
    require(out.shape(0) >= room, "`out` must have an entry for each item of each node.");
    visit_reals(matrix, [&](auto values) {
        nb::gil_scoped_release free;
        climb(tree, values, start, stop, begin, end, span_of(sums), span_of(out));
    });
}

}  // namespace

void bind_losses(nb::module_& m) {
    m.def("joint_sums", py_joint_sums, "draws"_a, "sizes"_a, "candidates"_a, "n_clusters"_a, "cell"_a,
          "The sum of cell[count] over the contingency table of every candidate with every draw.");
    m.def("losses", py_losses, "draws"_a, "sizes"_a, "candidates"_a, "n_clusters"_a, "loss"_a,
          "The loss of every candidate against every draw, shape (candidates, draws).");
    m.def("expected_losses", py_expected_losses, "draws"_a, "sizes"_a, "weights"_a, "candidates"_a, "n_clusters"_a,
          "loss"_a, "The weighted sum over draws of the loss of every candidate.");
    m.def("losses_of_cuts", py_losses_of_cuts, "children"_a, "draws"_a, "sizes"_a, "weights"_a, "e"_a, "loss"_a,
          "The weighted sum over draws of the loss of the cuts of a tree into 1, ..., n clusters.");
    m.def("climb", py_climb, "children"_a, "matrix"_a, "start"_a, "stop"_a, "begin"_a, "end"_a, "sums"_a.noconvert(),
          "out"_a.noconvert(), "Sum a matrix over each item's own node, for some merges of a tree.");
}

}  // namespace partita
