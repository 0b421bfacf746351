// Arrays across the border: what comes in is contiguous and on the host, what goes out is owned by Python.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "matrix.hpp"
#include "stop.hpp"

namespace partita {

namespace nb = nanobind;

// Arrays from files and other processes may begin anywhere; loops need them where their type may lie. What is only
// read is copied then. What is written to is never a copy: neither that nor one of another type or order.
template <class Array, bool is_read_only>
struct Aligned : Array {
    using Array::Array;
};

template <class T, int N>
using In = Aligned<nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>, true>;
template <class T, int N>
using InOut = Aligned<nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>, false>;
template <class T, int N>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<N>, nb::c_contig>;

// Of any type; `visit` calls what was compiled for it.
template <int N>
using AnyIn = Aligned<nb::ndarray<nb::ro, nb::ndim<N>, nb::c_contig, nb::device::cpu>, true>;
template <int N>
using AnyInOut = Aligned<nb::ndarray<nb::ndim<N>, nb::c_contig, nb::device::cpu>, false>;

template <class T, class Array>
Matrix<T> matrix_as(const Array& array) {
    return {static_cast<T*>(array.data()), array.shape(0), array.shape(1)};
}
template <class Array>
auto matrix_of(const Array& array) {
    return matrix_as<std::remove_pointer_t<decltype(array.data())>>(array);
}
template <class Array>
auto span_of(const Array& array) {
    return std::span(array.data(), array.shape(0));
}

inline void require(bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument(message);
}

// Call `work` with a matrix of the type among `Types` that an array has.
template <class... Types, class Array, class Work>
void visit(const char* name, const Array& array, Work&& work) {
    const auto is_called = [&]<class T>(T*) {
        if (array.dtype() != nb::dtype<std::remove_const_t<T>>()) return false;
        work(matrix_as<T>(array));
        return true;
    };
    if (!(is_called(static_cast<Types*>(nullptr)) || ...))
        throw nb::type_error((std::string(name) + " must have another dtype.").c_str());
}

// Labels as draws have them: the smallest unsigned integers.
template <class Work>
void visit_labels(const AnyIn<2>& labels, Work&& work) {
    visit<const std::uint8_t, const std::uint16_t, const std::uint32_t>("Labels (uint8, uint16 or uint32)", labels,
                                                                        work);
}

template <class Work>
void visit_integers(const AnyIn<2>& labels, Work&& work) {
    visit<const std::uint8_t, const std::uint16_t, const std::uint32_t, const std::uint64_t, const std::int8_t,
          const std::int16_t, const std::int32_t, const std::int64_t>("Labels (native integers)", labels, work);
}

template <class Work>
void visit_reals(const AnyIn<2>& matrix, Work&& work) {
    visit<const double, const float>("A matrix (float64 or float32)", matrix, work);
}

// A new array, not filled.
template <class T, int N>
Out<T, N> make_array(const std::size_t (&shape)[N]) {
    std::size_t size = 1;
    for (auto length : shape) size *= length;
    T* data = std::make_unique_for_overwrite<T[]>(size).release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Out<T, N>(data, N, shape, owner);
}

// An array of what a vector holds, without a copy.
template <class T>
Out<T, 1> to_array(std::vector<T> values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    const std::size_t shape[1] = {kept->size()};
    return Out<T, 1>(kept->data(), 1, shape, owner);
}

// The interpreter's hold on a Stop: Ctrl-C is noticed by it and raised when the work has returned.
struct PyStop : Stop {
    using Stop::Stop;
    std::exception_ptr raised;
    nb::object on_poll;  // called with (done, best) now and then; None for nothing

    void rethrow() {
        if (raised) std::rethrow_exception(std::exchange(raised, nullptr));
    }
};

// What `work` gives, done while others have the interpreter; then Ctrl-C is raised if it came meanwhile.
template <class Work>
auto released(PyStop& stop, Work&& work) {
    const auto alone = [&] {
        nb::gil_scoped_release release;
        return work();
    };
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
        alone();
        stop.rethrow();
    } else {
        auto found = alone();
        stop.rethrow();
        return found;
    }
}

}  // namespace partita

template <class Array, bool is_read_only>
struct nanobind::detail::type_caster<partita::Aligned<Array, is_read_only>> {
    using Wrapped = partita::Aligned<Array, is_read_only>;
    NB_TYPE_CASTER(Wrapped, make_caster<Array>::Name)

    template <class Flags>
    bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
        if (!is_read_only) flags &= static_cast<Flags>(~static_cast<Flags>(cast_flags::convert));
        if (!take(source, flags, cleanup)) return false;
        if (is_aligned() || !is_read_only) return is_aligned();
        object copy = steal(PyObject_CallMethod(source.ptr(), "copy", nullptr));
        if (!copy.is_valid()) return PyErr_Clear(), false;
        return take(copy, flags, cleanup) && is_aligned();
    }

 private:
    template <class Flags>
    bool take(handle source, Flags flags, cleanup_list* cleanup) noexcept {
        make_caster<Array> plain;
        if (!plain.from_python(source, flags, cleanup)) return false;
        static_cast<Array&>(value) = std::move(plain.value);
        return true;
    }
    bool is_aligned() const {
        return reinterpret_cast<std::uintptr_t>(value.data()) % std::max(1, value.dtype().bits / 8) == 0;
    }
};
