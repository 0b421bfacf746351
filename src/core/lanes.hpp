// 64 bytes of numbers in as many registers as the instruction set needs: for kernel files alone, where PARTITA_ISA is.
// GCC keeps vectors that are wider than a register in memory; it keeps these in registers. Same lanes, same bits.
#pragma once
#include <cstring>

#include "maths.hpp"
#include "vectors.hpp"

namespace partita {

#if defined(__AVX512F__)
constexpr int kRegister = 64;
#elif defined(__AVX__)
constexpr int kRegister = 32;
#else
constexpr int kRegister = 16;
#endif

typedef double DoublePart __attribute__((vector_size(kRegister)));
typedef float FloatPart __attribute__((vector_size(kRegister)));
typedef std::int64_t LongPart __attribute__((vector_size(kRegister)));
typedef std::uint64_t WordPart __attribute__((vector_size(kRegister)));

#if !defined(__AVX512F__)
template <>
struct maths::As<DoublePart> {
    using Long = LongPart;
    using Word = WordPart;
};
#endif

namespace PARTITA_ISA {

template <class T>
struct PartOf;
template <>
struct PartOf<double> {
    using Type = DoublePart;
};
template <>
struct PartOf<float> {
    using Type = FloatPart;
};

template <class T>
struct Lanes {
    using Part = typename PartOf<T>::Type;
    static constexpr int kParts = 64 / kRegister, kWide = kRegister / static_cast<int>(sizeof(T)),
                         kCount = kParts * kWide;

    Part part[kParts];

    template <class F>
    [[gnu::always_inline]] static Lanes each(F f) {
        Lanes out;
#pragma GCC unroll 4
        for (int x = 0; x < kParts; ++x) out.part[x] = f(x);
        return out;
    }
    [[gnu::always_inline]] static Lanes all(T value) {
        return each([=](int) { return Part{} + value; });
    }
    [[gnu::always_inline]] static Lanes load(const T* from) {
        return each([=](int x) {
            Part out;
            std::memcpy(&out, from + x * kWide, sizeof out);
            return out;
        });
    }
    // The first `count`, then zeros.
    [[gnu::always_inline]] static Lanes some(const T* from, std::size_t count) {
        T padded[kCount] = {};
        for (std::size_t x = 0; x < count && x < kCount; ++x) padded[x] = from[x];
        return load(padded);
    }
    [[gnu::always_inline]] void store(T* to) const {
#pragma GCC unroll 4
        for (int x = 0; x < kParts; ++x) std::memcpy(to + x * kWide, &part[x], sizeof(Part));
    }
    // In halves: always in this order.
    [[gnu::always_inline]] T sum() const {
        T all[kCount];
        store(all);
        for (int half = kCount / 2; half > 0; half /= 2)
            for (int x = 0; x < half; ++x) all[x] += all[x + half];
        return all[0];
    }

    [[gnu::always_inline]] friend Lanes operator+(Lanes a, Lanes b) {
        return each([&](int x) { return a.part[x] + b.part[x]; });
    }
    [[gnu::always_inline]] friend Lanes operator-(Lanes a, Lanes b) {
        return each([&](int x) { return a.part[x] - b.part[x]; });
    }
    [[gnu::always_inline]] friend Lanes operator*(Lanes a, Lanes b) {
        return each([&](int x) { return a.part[x] * b.part[x]; });
    }
    [[gnu::always_inline]] friend Lanes operator/(Lanes a, Lanes b) {
        return each([&](int x) { return a.part[x] / b.part[x]; });
    }
    [[gnu::always_inline]] friend Lanes operator*(Lanes a, T b) {
        return each([&](int x) { return a.part[x] * b; });
    }
    [[gnu::always_inline]] Lanes& operator+=(Lanes b) { return *this = *this + b; }
    [[gnu::always_inline]] Lanes& operator-=(Lanes b) { return *this = *this - b; }
};

// a where x > limit, b elsewhere.
template <class T>
[[gnu::always_inline]] inline Lanes<T> where_above(Lanes<T> x, T limit, Lanes<T> a, Lanes<T> b) {
    return Lanes<T>::each([&](int p) { return x.part[p] > limit ? a.part[p] : b.part[p]; });
}

template <class T>
[[gnu::always_inline]] inline Lanes<T> larger(Lanes<T> a, Lanes<T> b) {
    return Lanes<T>::each([&](int p) { return a.part[p] > b.part[p] ? a.part[p] : b.part[p]; });
}

// The logarithm of finite numbers above 0.
[[gnu::always_inline]] inline Lanes<double> log(Lanes<double> x) {
    return Lanes<double>::each([&](int p) {
        DoublePart k;
        const DoublePart part = maths::log_parts(x.part[p], k);
        return k * maths::kLn2High + (part + k * maths::kLn2Low);
    });
}

}  // namespace PARTITA_ISA

}  // namespace partita
