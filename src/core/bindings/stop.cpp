#include <nanobind/stl/optional.h>

#include <utility>

#include "arrays.hpp"
#include "rooms.hpp"

namespace partita {

namespace {

// Runs on whichever thread works; Python handles signals on its main thread alone.
void poll(PyStop& stop) {
    nb::gil_scoped_acquire held;
    try {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!stop.on_poll.is_none()) stop.on_poll(stop.done.load(), stop.best.load());
    } catch (...) {
        stop.raised = std::current_exception();
        stop.set();
    }
}

}  // namespace

void bind_stop(nb::module_& m) {
    nb::class_<PyStop>(m, "Stop", "A deadline, and a flag that ends what looks at it.")
        .def(
            "__init__",
            [](PyStop* self, std::optional<double> seconds, nb::object on_poll) {
                new (self) PyStop(seconds.value_or(std::numeric_limits<double>::infinity()));
                self->on_poll = std::move(on_poll);
                self->poll = [self] { poll(*self); };
            },
            nb::arg("seconds") = nb::none(), nb::arg("on_poll") = nb::none())
        .def("set", &PyStop::set, "End what looks at this.")
        .def("end_after", &PyStop::end_after, nb::arg("seconds"),
             "Let the deadline be so many seconds after this was made.")
        .def("rethrow", &PyStop::rethrow, "Raise what came while the interpreter was not running, such as Ctrl-C.")
        .def_prop_ro("is_up", &PyStop::is_up)
        .def_prop_ro(
            "was_up", [](const PyStop& stop) { return stop.was_up(); }, "Whether anything was told to end.")
        .def_prop_ro("elapsed", &PyStop::elapsed, "Seconds since it was made.");
}

}  // namespace partita
