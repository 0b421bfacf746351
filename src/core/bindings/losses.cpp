#include "arrays.hpp"
#include "contingency.hpp"
#include "dendrogram.hpp"
#include "rooms.hpp"

namespace partita {

namespace {

using namespace nb::literals;
using Numbers = In<std::int64_t, 1>;
using Reals = In<double, 1>;

std::span<const double> cell_of(const Reals& cell, std::size_t n_items) {
    require(cell.shape(0) == n_items + 1, "`cell` must have an entry for each of 0 to n items.");
    require(cell.data()[0] == 0, "`cell` must be 0 at 0.");
    return span_of(cell);
}

Out<double, 2> py_joint_sums(const AnyIn<2>& draws, const Numbers& sizes, const In<std::uint32_t, 2>& candidates,
                             const Numbers& n_clusters, const Reals& cell) {
    require(draws.shape(1) == candidates.shape(1), "Draws and candidates must be of as many items.");
    const auto table = cell_of(cell, draws.shape(1));
    auto out = make_array<double, 2>({candidates.shape(0), draws.shape(0)});
    visit_labels(draws, [&]<class Label>(Matrix<const Label> labels) {
        const Partitions<Label> rows{labels, span_of(sizes)};
        const Candidates asked{matrix_of(candidates), span_of(n_clusters)};
        nb::gil_scoped_release free;
        rows.check(), asked.check();
        joint_sums(rows, asked, table, matrix_of(out));
    });
    return out;
}

Out<double, 2> py_node_sums(const In<std::int64_t, 2>& children, const AnyIn<2>& draws, const Reals& cell) {
    const std::size_t n = draws.shape(1);
    require(children.shape(1) == 2 && children.shape(0) + 1 == n, "Tree and draws must be of as many items.");
    const auto table = cell_of(cell, n);
    const Dendrogram tree(matrix_of(children));
    auto out = make_array<double, 2>({draws.shape(0), 2 * n - 1});
    visit_labels(draws, [&](auto labels) {
        nb::gil_scoped_release free;
        std::vector<std::uint32_t> counts(n);
        std::vector<std::size_t> path;
        for (std::size_t m = 0; m < labels.rows; ++m) {
            check_below(labels.row(m), n);
            node_sums(tree, labels.row(m), table, counts, path, matrix_of(out).row(m));
        }
    });
    return out;
}

}  // namespace

void bind_losses(nb::module_& m) {
    m.def("joint_sums", py_joint_sums, "draws"_a, "sizes"_a, "candidates"_a, "n_clusters"_a, "cell"_a,
          "The sum of cell[count] over the contingency table of every candidate with every draw.");
    m.def("node_sums", py_node_sums, "children"_a, "draws"_a, "cell"_a,
          "The sum of cell over the clusters of every draw within each node of a tree, shape (draws, 2n - 1).");
}

}  // namespace partita
