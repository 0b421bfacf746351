#include "rows.hpp"

#include "arrays.hpp"
#include "rooms.hpp"

namespace partita {

namespace {

using namespace nb::literals;
using Numbers = In<std::int64_t, 1>;
using Labels = In<std::uint32_t, 1>;
using Reals = In<double, 1>;

// `work` with a block of draws whose labels lead to one of n_rows rows.
template <class Work>
void with_block(const AnyIn<2>& labels, const Numbers& offsets, std::size_t n_rows, Work&& work) {
    visit_labels(labels, [&]<class Label>(Matrix<const Label> rows) {
        const Block<Label> block{rows, span_of(offsets)};
        nb::gil_scoped_release free;
        block.check(n_rows);
        work(block);
    });
}

void py_count(const AnyIn<2>& block, const Numbers& offsets, const Labels& labels, const InOut<std::int32_t, 2>& out) {
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

void py_own(const AnyIn<2>& block, const Numbers& offsets, const Reals& weights, const Labels& labels,
            const In<double, 2>& table, const InOut<double, 1>& out) {
    require(weights.shape(0) == block.shape(0), "There must be a weight for each draw.");
    require(labels.shape(0) == block.shape(1) && out.shape(0) == block.shape(1),
            "There must be a label for each item.");
    check_below(span_of(labels), table.shape(1));
    with_block(block, offsets, table.shape(0),
               [&](const auto& rows) { own(rows, span_of(weights), span_of(labels), matrix_of(table), span_of(out)); });
}

}  // namespace

void bind_rows(nb::module_& m) {
    m.def("count", py_count, "block"_a, "offsets"_a, "labels"_a, "out"_a.noconvert(),
          "Add 1 to out[row, labels[i]] for every draw and item; row offsets[m] + c is cluster c of draw m.");
    m.def("gather", py_gather, "block"_a, "offsets"_a, "x"_a, "out"_a.noconvert(),
          "Add row i of x to out[row] for every draw and item.");
    m.def("spread", py_spread, "block"_a, "offsets"_a, "weights"_a, "table"_a, "start"_a, "stop"_a, "out"_a.noconvert(),
          "Add the weighted sum over draws of table[row of i] to out[i], for the items from `start` to `stop`.");
    m.def("own", py_own, "block"_a, "offsets"_a, "weights"_a, "labels"_a, "table"_a, "out"_a.noconvert(),
          "Add the weighted sum over draws of table[row of i, labels[i]] to out[i].");
}

}  // namespace partita
