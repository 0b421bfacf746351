#include "isa.hpp"
#include "rooms.hpp"

NB_MODULE(_core, m) {
    // What a frame of an interrupted call still holds when Python ends is nothing that a user can act on.
    nanobind::set_leak_warnings(false);
    m.doc() = "The native core: loops over labels and matrices. Arrays and numbers in, arrays and numbers out.";
    m.attr("isa") = partita::name_of(partita::isa());
    partita::bind_labels(m);
    partita::bind_losses(m);
    partita::bind_exact(m);
    partita::bind_maths(m);
    partita::bind_nmf(m);
    partita::bind_search(m);
    partita::bind_mixture(m);
    partita::bind_rows(m);
    partita::bind_similarity(m);
    partita::bind_stop(m);
}
