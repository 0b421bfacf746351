// Each file in this folder gives Python the functions of one room of the core.
#pragma once
#include <nanobind/nanobind.h>

namespace partita {

void bind_labels(nanobind::module_& m);
void bind_losses(nanobind::module_& m);
void bind_exact(nanobind::module_& m);
void bind_maths(nanobind::module_& m);
void bind_nmf(nanobind::module_& m);
void bind_search(nanobind::module_& m);
void bind_mixture(nanobind::module_& m);
void bind_rows(nanobind::module_& m);
void bind_similarity(nanobind::module_& m);
void bind_stop(nanobind::module_& m);

}  // namespace partita
