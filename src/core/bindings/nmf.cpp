#include <nanobind/stl/optional.h>

#include "../nmf_divergence.hpp"
#include "../nmf_squares.hpp"
#include "arrays.hpp"
#include "rooms.hpp"

namespace partita {

namespace {

using namespace nb::literals;

template <class Work>
auto without_gil(PyStop& stop, Work work) {
    const auto found = [&] {
        nb::gil_scoped_release released;
        return work();
    }();
    stop.rethrow();
    return found;
}

// Between two looks at a Stop there are at most so many.
void require_sweeps(int n_sweeps) { require(n_sweeps >= 0 && n_sweeps <= 1'000, "there must be 0 to 1,000 sweeps"); }

void require_factors(const SparseColumns& V, Matrix<const double> A, Matrix<const double> B) {
    require(A.rows > 0 && A.rows == B.rows, "`A` and `B` must have a row for each factor");
    require(A.cols == V.n_rows() && B.cols == V.n_columns(),
            "`A` and `B` must have a column for each row and column of V");
}

double alternate_of(const In<double, 2>& V, double norm2, std::size_t fixed, int n_sweeps, const InOut<double, 2>& A,
                    const InOut<double, 2>& B, PyStop& stop) {
    const Matrix<double> left = matrix_of(A), right = matrix_of(B);
    require(left.rows > 0 && left.rows == right.rows && left.cols == right.cols, "`A` and `B` must be of one shape");
    require(fixed <= left.rows, "`fixed` must be at most the rank");
    require_sweeps(n_sweeps);
    require(V.shape(0) == left.cols && V.shape(1) == left.cols, "`V` must have a row and a column for each item");
    return without_gil(stop, [&] { return alternate(matrix_of(V), norm2, fixed, n_sweeps, left, right, stop); });
}

void sweep_of(const In<double, 2>& P, const In<double, 2>& G, const InOut<double, 2>& B, std::size_t free, int n_sweeps,
              PyStop& stop) {
    const Matrix<double> to = matrix_of(B);
    require(P.shape(0) == to.rows && P.shape(1) == to.cols, "`P` and `B` must be of one shape");
    require(G.shape(0) == to.rows && G.shape(1) == to.rows, "`G` must have a row and a column for each row of `B`");
    require(free <= to.rows, "`free` must be at most the rows of `B`");
    require_sweeps(n_sweeps);
    without_gil(stop, [&] { return sweep(matrix_of(P), matrix_of(G), to, free, n_sweeps, stop), 0; });
}

void step_of(const SparseColumns& V, const In<double, 2>& A, const InOut<double, 2>& B, bool is_newton, bool is_single,
             PyStop& stop) {
    require_factors(V, matrix_of(A), matrix_of(B));
    without_gil(stop, [&] { return step_divergence(V, {is_newton, is_single}, matrix_of(A), matrix_of(B), stop), 0; });
}

double cross_entropy_of(const SparseColumns& V, const In<double, 2>& A, const In<double, 2>& B, PyStop& stop) {
    require_factors(V, matrix_of(A), matrix_of(B));
    return without_gil(stop, [&] { return cross_entropy(V, matrix_of(A), matrix_of(B), stop); });
}

}  // namespace

void bind_nmf(nb::module_& m) {
    nb::class_<SparseColumns>(m, "SparseColumns",
                              "A matrix for steps that lower a divergence, which skip where it is 0.")
        .def(
            "__init__",
            [](SparseColumns* self, const In<double, 2>& matrix) {
                require(matrix.size() > 0, "there must be numbers in the matrix");
                nb::gil_scoped_release released;
                new (self) SparseColumns(matrix_of(matrix));
            },
            "matrix"_a);
    m.def("nmf_alternate", alternate_of, "V"_a, "norm2"_a, "fixed"_a, "n_sweeps"_a, "A"_a, "B"_a, "stop"_a,
          "Lowers B, then A, in place, towards the least squares of V from A^T B; the last `fixed` rows of B stay.\n"
          "Returns half the squared distance.");
    m.def("nmf_sweep", sweep_of, "P"_a, "G"_a, "B"_a, "free"_a, "n_sweeps"_a, "stop"_a,
          "Sweeps of coordinate descent on tr(B^T G B) / 2 - tr(P^T B), B >= 0, in place; rows from `free` on stay.");
    m.def("nmf_step_divergence", step_of, "V"_a, "A"_a, "B"_a, "is_newton"_a, "is_single"_a, "stop"_a,
          "A step for every column of B, in place, that lowers the divergence of V from A^T B: Newton's, or a\n"
          "multiplicative one.");
    m.def("nmf_cross_entropy", cross_entropy_of, "V"_a, "A"_a, "B"_a, "stop"_a,
          "Sum of t - V log t with t = A^T B: the divergence of V from t but for what V alone decides.");
}

}  // namespace partita
