// Vectors of a fixed width, whatever the instruction set: the compiler splits them where registers are narrower.
// A sum kept in the lanes of one of these has the same bits everywhere.
#pragma once
#include <cstdint>
#include <cstring>

namespace partita {

constexpr int kDoubles = 8, kFloats = 16;
typedef double Doubles __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(64)));
typedef std::int64_t Longs __attribute__((vector_size(64)));  // what comparing Doubles gives
typedef std::int32_t Ints __attribute__((vector_size(64)));   // what comparing Floats gives
typedef std::uint64_t Words __attribute__((vector_size(64)));
typedef std::uint8_t Bytes __attribute__((vector_size(64)));

// always_inline, since a copy compiled for a wide instruction set must not serve narrow ones.
template <class Vector, class T>
[[gnu::always_inline]] inline Vector load(const T* from) {
    Vector out;
    std::memcpy(&out, from, sizeof out);
    return out;
}

template <class Vector, class T>
[[gnu::always_inline]] inline void store(const Vector& vector, T* to) {
    std::memcpy(to, &vector, sizeof vector);
}

// Lanes added in halves: always in this order.
[[gnu::always_inline]] inline double sum(const Doubles& v) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

[[gnu::always_inline]] inline float sum(const Floats& v) {
    float half[8];
    for (int k = 0; k < 8; ++k) half[k] = v[k] + v[k + 8];
    return ((half[0] + half[4]) + (half[2] + half[6])) + ((half[1] + half[5]) + (half[3] + half[7]));
}

}  // namespace partita
