#include "rows.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <utility>

#include "alignment.hpp"
#include "arrays.hpp"
#include "rooms.hpp"
#include "sparse_counts.hpp"

namespace partita {

namespace {

using Numbers = In<std::int64_t, 1>;
using Reals = In<double, 1>;
using Indices = In<std::int32_t, 1>;

// `work` with a block of draws whose labels lead to one of n_rows rows.
template <class Work>
void with_block(const AnyIn<2>& labels, const Numbers& offsets, std::size_t n_rows, Work&& work) {
    visit_labels(labels, [&](auto rows) {
        const Block<std::remove_const_t<std::remove_pointer_t<decltype(rows.data)>>> block{rows, span_of(offsets)};
        nb::gil_scoped_release free;
        block.check(n_rows);
        work(block);
    });
}

void py_count(const AnyIn<2>& block, const Numbers& offsets, const In<std::uint32_t, 1>& labels,
              const InOut<std::int32_t, 2>& out) {
    require(labels.shape(0) == block.shape(1), "There must be a label for each item.");
    check_below(span_of(labels), out.shape(1));
    with_block(block, offsets, out.shape(0), [&](const auto& rows) { count(rows, span_of(labels), matrix_of(out)); });
}

void py_gather(const AnyIn<2>& block, const Numbers& offsets, const In<double, 2>& x, const InOut<double, 2>& out) {
    require(x.shape(0) == block.shape(1) && x.shape(1) == out.shape(1),
            "`x` must have a row for each item, as wide as `out`.");
    with_block(block, offsets, out.shape(0), [&](const auto& rows) { gather(rows, matrix_of(x), matrix_of(out)); });
}

void py_spread(const AnyIn<2>& block, const Numbers& offsets, const Reals& weights, const In<double, 2>& table,
               std::size_t start, std::size_t stop, const InOut<double, 2>& out) {
    require(weights.shape(0) == block.shape(0), "There must be a weight for each draw.");
    require(out.shape(0) == block.shape(1) && out.shape(1) == table.shape(1),
            "`out` must have a row for each item, as wide as the table.");
    require(start <= stop && stop <= block.shape(1), "Items must be among those that there are.");
    with_block(block, offsets, table.shape(0), [&](const auto& rows) {
        spread(rows, span_of(weights), matrix_of(table), start, stop, matrix_of(out));
    });
}

void py_own(const AnyIn<2>& block, const Numbers& offsets, const Reals& weights, const In<std::uint32_t, 1>& labels,
            const In<double, 2>& table, const InOut<double, 1>& out) {
    require(weights.shape(0) == block.shape(0), "There must be a weight for each draw.");
    require(labels.shape(0) == block.shape(1) && out.shape(0) == block.shape(1),
            "There must be a label for each item.");
    check_below(span_of(labels), table.shape(1));
    with_block(block, offsets, table.shape(0),
               [&](const auto& rows) { own(rows, span_of(weights), span_of(labels), matrix_of(table), span_of(out)); });
}

Out<double, 1> py_cell_sums(const Indices& counts, const Numbers& bounds, const Reals& cell) {
    const auto edges = span_of(bounds);
    require(!edges.empty() && edges.front() >= 0 && std::is_sorted(edges.begin(), edges.end()) &&
                static_cast<std::size_t>(edges.back()) <= counts.shape(0),
            "`bounds` must rise within the counts.");
    auto out = make_array<double, 1>({edges.size() - 1});
    nb::gil_scoped_release free;
    for (std::size_t m = 0; m + 1 < edges.size(); ++m) {
        double total = 0;
        for (auto p = edges[m]; p < edges[m + 1]; ++p) {
            const auto count = static_cast<std::uint32_t>(counts.data()[p]);
            if (count >= cell.shape(0)) throw std::out_of_range("A count is larger than the number of items.");
            total += cell.data()[count];
        }
        out.data()[m] = total;
    }
    return out;
}

void py_deal(const AnyIn<2>& labels, const Reals& weights, const In<std::int64_t, 2>& mapping,
             const InOut<double, 2>& out) {
    require(weights.shape(0) == labels.shape(0) && mapping.shape(0) == labels.shape(0),
            "There must be a weight and a mapping for each draw.");
    require(out.shape(0) == labels.shape(1), "`out` must have a row for each item.");
    visit_labels(labels, [&](auto rows) {
        nb::gil_scoped_release free;
        for (std::size_t x = 0; x < mapping.size(); ++x)
            if (static_cast<std::uint64_t>(mapping.data()[x]) >= out.shape(1))
                throw std::out_of_range("A mapping leads beyond the columns.");
        for (std::size_t m = 0; m < rows.rows; ++m) check_below(rows.row(m), mapping.shape(1));
        deal(rows, span_of(weights), matrix_of(mapping), matrix_of(out));
    });
}

using Found = std::pair<Out<std::int64_t, 1>, Out<double, 1>>;

void check_places(std::span<const std::int64_t> labels, std::size_t width) {
    for (auto k : labels)
        if (static_cast<std::uint64_t>(k) >= width)
            throw std::out_of_range("An item is in a column that there is not.");
}

void check_order(std::span<const std::int64_t> order) {
    std::vector<std::uint8_t> seen(order.size());
    for (auto i : order)
        if (static_cast<std::uint64_t>(i) >= order.size() || std::exchange(seen[i], 1))
            throw std::out_of_range("`order` must have each item once.");
}

Found py_best_moves(const AnyIn<2>& block, const Numbers& offsets, const In<float, 1>& alpha, const In<float, 2>& table,
                    const In<float, 2>& lost, const Numbers& labels, const Reals& leaves, const Reals& enters) {
    const std::size_t n = block.shape(1), width = table.shape(1);
    require(lost.shape(0) == table.shape(0) && lost.shape(1) == width && width % 8 == 0,
            "Both tables must have one shape, a multiple of 8 wide.");
    require(leaves.shape(0) == width && enters.shape(0) == width,
            "`leaves` and `enters` must have an entry for each column.");
    require(alpha.shape(0) == block.shape(0) && labels.shape(0) == n,
            "There must be an alpha for each draw and a label for each item.");
    check_places(span_of(labels), width);
    Found found{make_array<std::int64_t, 1>({n}), make_array<double, 1>({n})};
    with_block(block, offsets, table.shape(0), [&](const auto& rows) {
        const Moves moves{span_of(alpha), matrix_of(table), matrix_of(lost), span_of(leaves), span_of(enters)};
        best_moves(rows, moves, span_of(labels), {found.first.data(), n}, {found.second.data(), n});
    });
    return found;
}

SparseCounts sparse(const Numbers& starts, const Indices& columns, const Indices& counts, std::size_t n_columns) {
    const SparseCounts table{span_of(starts), span_of(columns), span_of(counts), n_columns};
    table.check();
    return table;
}

std::size_t py_count_sparsely(const AnyIn<2>& block, const Numbers& n_clusters, const Numbers& order,
                              const Indices& labels, const InOut<std::int64_t, 1>& starts,
                              const InOut<std::int32_t, 1>& columns, const InOut<std::int32_t, 1>& counts) {
    const std::size_t n = block.shape(1);
    require(n_clusters.shape(0) == block.shape(0), "There must be a number of clusters for each draw.");
    require(order.shape(0) == n && labels.shape(0) == n, "There must be a label for each item.");
    require(columns.shape(0) >= block.size() && counts.shape(0) >= block.size(),
            "There must be room for a cell for each label.");
    check_order(span_of(order));
    for (auto k : span_of(labels)) require(k >= 0, "Labels must not be negative.");
    std::size_t rows = 0, found = 0;
    for (auto k : span_of(n_clusters)) {
        require(k >= 0, "A number of clusters must not be negative.");
        rows += static_cast<std::size_t>(k);
    }
    require(starts.shape(0) == rows + 1, "`starts` must have an entry for each row, and one more.");
    visit_labels(block, [&](auto draws) {
        nb::gil_scoped_release free;
        for (std::size_t m = 0; m < draws.rows; ++m) check_below(draws.row(m), n_clusters.data()[m]);
        found = count_sparsely(draws, span_of(n_clusters), span_of(order), span_of(labels), span_of(starts),
                               span_of(columns), span_of(counts));
    });
    return found;
}

using SparseArrays = std::tuple<Numbers, Indices, Indices>;  // starts, columns, counts

SparseCounts table_of(const SparseArrays& arrays, std::size_t n_columns) {
    const auto& [starts, columns, counts] = arrays;
    return sparse(starts, columns, counts, n_columns);
}

Out<std::int64_t, 1> py_starts_of_sum(const SparseArrays& a, const SparseArrays& b) {
    const SparseCounts left = table_of(a, SIZE_MAX), right = table_of(b, SIZE_MAX);
    require(left.starts.size() == right.starts.size(), "Tables to be added must have the same rows.");
    auto out = make_array<std::int64_t, 1>({left.starts.size()});
    nb::gil_scoped_release free;
    starts_of_sum(left, right, {out.data(), left.starts.size()});
    return out;
}

void py_add_sparse(const SparseArrays& a, const SparseArrays& b, const InOut<std::int32_t, 1>& columns,
                   const InOut<std::int32_t, 1>& counts) {
    const SparseCounts left = table_of(a, SIZE_MAX), right = table_of(b, SIZE_MAX);
    require(left.starts.size() == right.starts.size(), "Tables to be added must have the same rows.");
    nb::gil_scoped_release free;
    std::vector<std::int64_t> starts(left.starts.size());
    starts_of_sum(left, right, starts);
    const auto size = static_cast<std::size_t>(starts.back());
    require(columns.shape(0) == size && counts.shape(0) == size, "There must be room for the cells of the sum.");
    add(left, right, span_of(columns), span_of(counts));
}

void py_merged(const SparseArrays& table, const Numbers& offsets, const Reals& alpha, const Reals& cell,
               const Numbers& partner, const InOut<double, 1>& out) {
    const std::size_t width = partner.shape(0);
    const SparseCounts counts = table_of(table, width);
    const auto edges = span_of(offsets);
    require(out.shape(0) == width && cell.shape(0) >= 1, "`out` must have an entry for each column.");
    require(!edges.empty() && edges.front() >= 0 && std::is_sorted(edges.begin(), edges.end()) &&
                static_cast<std::size_t>(edges.back()) < counts.starts.size(),
            "`offsets` must rise within the rows.");
    require(alpha.shape(0) + 1 == edges.size(), "There must be an alpha for each draw.");
    for (auto k : span_of(partner))
        require(k >= -1 && k < static_cast<std::int64_t>(width), "A partner must be a column, or -1.");
    nb::gil_scoped_release free;
    merged(counts, edges, span_of(alpha), span_of(cell), span_of(partner), span_of(out));
}

void py_own_sparsely(const AnyIn<2>& block, const Numbers& offsets, const Reals& weights, const Numbers& labels,
                     const Numbers& starts, const Indices& columns, const Reals& values, const InOut<double, 1>& out) {
    const SparseCounts table = sparse(starts, columns, columns, SIZE_MAX);
    require(values.shape(0) == columns.shape(0), "There must be a value for each cell.");
    require(weights.shape(0) == block.shape(0) && offsets.shape(0) >= block.shape(0),
            "There must be a weight and an offset for each draw.");
    require(labels.shape(0) == block.shape(1) && out.shape(0) == block.shape(1),
            "There must be a label for each item.");
    with_block(block, offsets, starts.shape(0) - 1, [&](const auto& rows) {
        own(rows, span_of(weights), span_of(labels), table, span_of(values), span_of(out));
    });
}

Found py_best_moves_sparsely(const AnyIn<2>& items, const Numbers& offsets, const Reals& alpha,
                             const SparseArrays& table, const Reals& step, const Numbers& labels, const Reals& leaves,
                             const Reals& enters, std::size_t cheapest) {
    const std::size_t n = items.shape(0), width = enters.shape(0);
    const SparseCounts counts = table_of(table, width);
    require(leaves.shape(0) == width && cheapest < width && step.shape(0) >= 1,
            "`leaves` and `enters` must have an entry for each column.");
    require(alpha.shape(0) == items.shape(1) && offsets.shape(0) >= items.shape(1) && labels.shape(0) == n,
            "There must be an alpha and an offset for each draw and a label for each item.");
    check_places(span_of(labels), width);
    Found found{make_array<std::int64_t, 1>({n}), make_array<double, 1>({n})};
    visit_labels(items, [&](auto rows) {
        nb::gil_scoped_release free;
        const SparseMoves moves{span_of(alpha), span_of(step), span_of(leaves), span_of(enters), cheapest};
        best_moves(rows, span_of(offsets), counts, moves, span_of(labels), {found.first.data(), n},
                   {found.second.data(), n});
    });
    return found;
}

Out<std::int64_t, 1> py_nearest(const AnyIn<2>& items, const Numbers& offsets, const Reals& weights,
                                const SparseArrays& table, const Reals& sizes) {
    const SparseCounts counts = table_of(table, sizes.shape(0));
    require(weights.shape(0) == items.shape(1) && offsets.shape(0) >= items.shape(1),
            "There must be a weight and an offset for each draw.");
    auto out = make_array<std::int64_t, 1>({items.shape(0)});
    visit_labels(items, [&](auto rows) {
        nb::gil_scoped_release free;
        nearest(rows, span_of(offsets), span_of(weights), counts, span_of(sizes), {out.data(), out.shape(0)});
    });
    return out;
}

void py_intact(const AnyIn<2>& draws, const Reals& weights, const Numbers& labels, const Numbers& sizes,
               const InOut<double, 1>& out) {
    require(weights.shape(0) == draws.shape(0), "There must be a weight for each draw.");
    require(labels.shape(0) == draws.shape(1) && out.shape(0) == sizes.shape(0),
            "There must be a label for each item.");
    check_places(span_of(labels), sizes.shape(0));
    visit_labels(draws, [&](auto rows) {
        nb::gil_scoped_release free;
        for (std::size_t m = 0; m < rows.rows; ++m) check_below(rows.row(m), rows.cols);
        intact(rows, span_of(weights), span_of(labels), span_of(sizes), span_of(out));
    });
}

void py_cell_pairs(const AnyIn<2>& draws, const In<float, 1>& weights, const Numbers& order, const Numbers& cell_of,
                   const InOut<float, 2>& total) {
    require(weights.shape(0) == draws.shape(0), "There must be a weight for each draw.");
    require(order.shape(0) == draws.shape(1) && cell_of.shape(0) == draws.shape(1),
            "There must be a cell for each item.");
    require(total.shape(0) == total.shape(1), "`total` must be square.");
    check_order(span_of(order));
    check_places(span_of(cell_of), total.shape(0));
    visit_labels(draws, [&](auto rows) {
        nb::gil_scoped_release free;
        for (std::size_t m = 0; m < rows.rows; ++m) check_below(rows.row(m), rows.cols);
        cell_pairs(rows, span_of(weights), span_of(order), span_of(cell_of), matrix_of(total));
    });
}

}  // namespace

void bind_rows(nb::module_& m) {
    const auto out = nb::arg("out").noconvert();
    m.def("count", py_count, nb::arg("block"), nb::arg("offsets"), nb::arg("labels"), out,
          "Add 1 to out[row, labels[i]] for every draw and item; row offsets[m] + c is cluster c of draw m.");
    m.def("gather", py_gather, nb::arg("block"), nb::arg("offsets"), nb::arg("x"), out,
          "Add row i of x to out[row] for every draw and item.");
    m.def("spread", py_spread, nb::arg("block"), nb::arg("offsets"), nb::arg("weights"), nb::arg("table"),
          nb::arg("start"), nb::arg("stop"), out,
          "Add the weighted sum over draws of table[row of i] to out[i], for the items from `start` to `stop`.");
    m.def("own", py_own, nb::arg("block"), nb::arg("offsets"), nb::arg("weights"), nb::arg("labels"), nb::arg("table"),
          out, "Add the weighted sum over draws of table[row of i, labels[i]] to out[i].");
    m.def("cell_sums", py_cell_sums, nb::arg("counts"), nb::arg("bounds"), nb::arg("cell"),
          "The sum of cell[count] over the counts between each two bounds.");
    m.def("deal", py_deal, nb::arg("labels"), nb::arg("weights"), nb::arg("mapping"), out,
          "Add weights[m] to out[i, mapping[m, c]] where item i is in cluster c of draw m.");
    m.def("best_moves", py_best_moves, nb::arg("block"), nb::arg("offsets"), nb::arg("alpha"), nb::arg("table"),
          nb::arg("lost"), nb::arg("labels"), nb::arg("leaves"), nb::arg("enters"),
          "Where each item would lower a linear loss most, all the others staying put, and by how much.");
    m.def("count_sparsely", py_count_sparsely, nb::arg("block"), nb::arg("n_clusters"), nb::arg("order"),
          nb::arg("labels"), nb::arg("starts").noconvert(), nb::arg("columns").noconvert(),
          nb::arg("counts").noconvert(),
          "Count a partition against draws, empty cells left out; return how many are not empty.");
    m.def("starts_of_sum", py_starts_of_sum, nb::arg("a"), nb::arg("b"),
          "Where the rows of the sum of two tables start.");
    m.def("add_sparse", py_add_sparse, nb::arg("a"), nb::arg("b"), nb::arg("columns").noconvert(),
          nb::arg("counts").noconvert(), "Write the cells of the sum of two tables.");
    m.def("merged", py_merged, nb::arg("table"), nb::arg("offsets"), nb::arg("alpha"), nb::arg("cell"),
          nb::arg("partner"), out,
          "Add to out[k] what the joint sums gain, weighted by alpha, where column k and its partner are one.");
    m.def("own_sparsely", py_own_sparsely, nb::arg("block"), nb::arg("offsets"), nb::arg("weights"), nb::arg("labels"),
          nb::arg("starts"), nb::arg("columns"), nb::arg("values"), out,
          "As `own`, with a value for each cell that is not empty.");
    m.def("best_moves_sparsely", py_best_moves_sparsely, nb::arg("items"), nb::arg("offsets"), nb::arg("alpha"),
          nb::arg("table"), nb::arg("step"), nb::arg("labels"), nb::arg("leaves"), nb::arg("enters"),
          nb::arg("cheapest"), "As `best_moves`, from a table without its empty cells; `items` is (items, draws).");
    m.def("nearest", py_nearest, nb::arg("items"), nb::arg("offsets"), nb::arg("weights"), nb::arg("table"),
          nb::arg("sizes"),
          "The column whose items are together with each item most often on average; `items` is (items, draws).");
    m.def("intact", py_intact, nb::arg("draws"), nb::arg("weights"), nb::arg("labels"), nb::arg("sizes"), out,
          "Add to out[k] the weight of the draws in which cluster k of `labels` is a cluster as it is.");
    m.def("cell_pairs", py_cell_pairs, nb::arg("draws"), nb::arg("weights"), nb::arg("order"), nb::arg("cell_of"),
          nb::arg("total").noconvert(),
          "Add to total[a, b], a <= b, the weighted pairs of items of cells a and b that draws put together.");
}

}  // namespace partita
