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

}  // namespace

void bind_labels(nb::module_& m) {
    m.def("renumber", py_renumber, "labels"_a, "low"_a, "span"_a, "out"_a.noconvert(), "counts"_a.noconvert(),
          "Number the clusters of each row by first appearance, and count them; labels are low to low + span - 1. "
          "A row of more clusters than `out` has numbers for is the last to be looked at.");
}

}  // namespace partita
