#include "labels.hpp"

#include "arrays.hpp"
#include "rooms.hpp"

namespace partita {

namespace {

using namespace nb::literals;

void py_renumber(const AnyIn<2>& labels, std::int64_t low, std::uint64_t span, const AnyInOut<2>& out,
                 const InOut<std::int64_t, 1>& counts) {
    require(out.shape(0) == labels.shape(0) && out.shape(1) == labels.shape(1),
            "`out` must have the shape of `labels`.");
    require(counts.shape(0) == labels.shape(0), "`counts` must have an entry for each row.");
    require(span <= std::uint64_t{1} << 24, "`span` must be at most 2**24.");
    visit_integers(labels, [&](auto from) {
        visit<std::uint8_t, std::uint16_t, std::uint32_t, std::int64_t>("`out`", out, [&](auto to) {
            nb::gil_scoped_release free;
            renumber(from, low, span, to, span_of(counts));
        });
    });
}

Out<std::uint64_t, 1> py_hash_rows(const AnyIn<2>& rows, std::uint64_t start, std::uint64_t seed) {
    auto out = make_array<std::uint64_t, 1>({rows.shape(0)});
    visit_integers(rows, [&](auto from) {
        nb::gil_scoped_release free;
        hash_rows(from, start, seed, {out.data(), out.shape(0)});
    });
    return out;
}

void py_first_seen(const AnyIn<2>& labels, std::int64_t low, std::int64_t start, const InOut<std::int64_t, 2>& out) {
    require(out.shape(0) == labels.shape(0), "`out` must have a row for each draw.");
    visit_integers(labels, [&](auto from) {
        nb::gil_scoped_release free;
        first_seen(from, low, start, matrix_of(out));
    });
}

void py_translate(const AnyIn<2>& labels, std::int64_t low, const AnyIn<2>& numbers, const AnyInOut<2>& out) {
    require(numbers.shape(0) == labels.shape(0), "`numbers` must have a row for each draw.");
    require(out.shape(0) == labels.shape(0) && out.shape(1) == labels.shape(1),
            "`out` must have the shape of `labels`.");
    if (out.dtype() != numbers.dtype()) throw nb::type_error("`numbers` and `out` must have one dtype.");
    visit_integers(labels, [&](auto from) {
        visit_labels(numbers, [&]<class Number>(Matrix<const Number> by) {
            nb::gil_scoped_release free;
            translate(from, low, by, matrix_as<Number>(out));
        });
    });
}

}  // namespace

void bind_labels(nb::module_& m) {
    m.def("renumber", py_renumber, "labels"_a, "low"_a, "span"_a, "out"_a.noconvert(), "counts"_a.noconvert(),
          "Number the clusters of each row by first appearance, and count them; labels are low to low + span - 1. "
          "A row of more clusters than `out` has numbers for is the last to be looked at.");
    m.def("hash_rows", py_hash_rows, "rows"_a, "start"_a, "seed"_a,
          "A hash of each row that adds up over blocks of columns; the first column is number `start`.");
    m.def("first_seen", py_first_seen, "labels"_a, "low"_a, "start"_a, "out"_a.noconvert(),
          "out[r, c] becomes the least of itself and start + i over the items i of label low + c.");
    m.def("translate", py_translate, "labels"_a, "low"_a, "numbers"_a, "out"_a.noconvert(),
          "out[r, i] becomes numbers[r, labels[r, i] - low].");
}

}  // namespace partita
