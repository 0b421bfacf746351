// A view of a row-major matrix that somebody else owns.
#pragma once
#include <cstddef>
#include <span>
#include <type_traits>

namespace partita {

template <class T>
struct Matrix {
    T* data = nullptr;
    std::size_t rows = 0, cols = 0;

    std::size_t size() const { return rows * cols; }
    std::span<T> row(std::size_t i) const { return {data + i * cols, cols}; }
    T& operator()(std::size_t i, std::size_t j) const { return data[i * cols + j]; }
    operator Matrix<const T>() const requires(!std::is_const_v<T>) { return {data, rows, cols}; }
};

}  // namespace partita
