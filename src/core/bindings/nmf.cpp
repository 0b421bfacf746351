#include "arrays.hpp"
#include "nmf_divergence.hpp"
#include "nmf_squares.hpp"
#include "rooms.hpp"

namespace partita {

namespace {

using namespace nb::literals;

void require_factors(const SparseColumns& V, Matrix<const double> A, Matrix<const double> B) {
    require(A.rows > 0 && A.rows == B.rows, "`A` and `B` must have a row for each factor");
    require(A.cols == V.n_rows() && B.cols == V.n_columns(),
            "`A` and `B` must have a column for each row and column of V");
}

void sweep_of(const In<double, 2>& P, const In<double, 2>& G, const InOut<double, 2>& B, std::size_t free, int n_sweeps,
              PyStop& stop) {
    const Matrix<double> to = matrix_of(B);
    require(P.shape(0) == to.rows && P.shape(1) == to.cols, "`P` and `B` must be of one shape");
    require(G.shape(0) == to.rows && G.shape(1) == to.rows, "`G` must have a row and a column for each row of `B`");
    require(free <= to.rows, "`free` must be at most the rows of `B`");
    require(n_sweeps >= 0 && n_sweeps <= 1'000, "there must be 0 to 1,000 sweeps");  // between two looks at a Stop
    released(stop, [&] { sweep(matrix_of(P), matrix_of(G), to, free, n_sweeps, stop); });
}

Out<double, 2> product_of(const In<double, 2>& X, const In<double, 2>& V, PyStop& stop) {
    require(X.shape(1) == V.shape(0), "`X` must have a column for each row of `V`");
    auto out = make_array<double, 2>({X.shape(0), V.shape(1)});
    released(stop, [&] { multiply(matrix_of(X), matrix_of(V), matrix_of(out), stop); });
    return out;
}

void step_of(const SparseColumns& V, const In<double, 2>& A, const InOut<double, 2>& B, bool is_newton, bool is_single,
             PyStop& stop) {
    require_factors(V, matrix_of(A), matrix_of(B));
    released(stop, [&] { step_divergence(V, {is_newton, is_single}, matrix_of(A), matrix_of(B), stop); });
}

double cross_entropy_of(const SparseColumns& V, const In<double, 2>& A, const In<double, 2>& B, PyStop& stop) {
    require_factors(V, matrix_of(A), matrix_of(B));
    return released(stop, [&] { return cross_entropy(V, matrix_of(A), matrix_of(B), stop); });
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
    m.def("nmf_sweep", sweep_of, "P"_a, "G"_a, "B"_a, "free"_a, "n_sweeps"_a, "stop"_a,
          "Sweeps of coordinate descent on tr(B^T G B) / 2 - tr(P^T B), B >= 0, in place; rows from `free` on stay.");
    m.def("nmf_product", product_of, "X"_a, "V"_a, "stop"_a, "X V for X of few rows.");
    m.def("nmf_step_divergence", step_of, "V"_a, "A"_a, "B"_a, "is_newton"_a, "is_single"_a, "stop"_a,
          "A step for every column of B, in place, that lowers the divergence of V from A^T B: Newton's, or a\n"
          "multiplicative one.");
    m.def("nmf_cross_entropy", cross_entropy_of, "V"_a, "A"_a, "B"_a, "stop"_a,
          "Sum of t - V log t with t = A^T B: the divergence of V from t but for what V alone decides.");
}

}  // namespace partita
