// Logarithm, exponential and log gamma, for a double or for eight at once by the same steps. The C library chooses
// its own by processor, so that answers would depend on it; these do not. Errors are within 2 units in the last place.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "vectors.hpp"

namespace partita {

namespace maths {

constexpr double kLn2High = 0x1.62e42fee00000p-1;  // log 2 in two parts: k * kLn2High is exact for |k| < 2^20
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kRound = 0x1.8p52;  // adding it rounds to a whole number, left in the low bits of the mantissa
constexpr double kInf = std::numeric_limits<double>::infinity();

template <class V>
struct As;
template <>
struct As<double> {
    using Long = std::int64_t;
    using Word = std::uint64_t;
};
template <>
struct As<Doubles> {
    using Long = Longs;
    using Word = Words;
};

template <class V>
[[gnu::always_inline]] inline typename As<V>::Long bits(V x) {
    return std::bit_cast<typename As<V>::Long>(x);
}

template <class V>
[[gnu::always_inline]] inline V from_bits(typename As<V>::Long x) {
    return std::bit_cast<V>(x);
}

// x = m 2^k with m in [sqrt(1/2), sqrt(2)): log m, and k.
template <class V>
[[gnu::always_inline]] inline V log_parts(V x, V& k) {
    using Long = typename As<V>::Long;
    const auto is_tiny = x < std::numeric_limits<double>::min();
    const V scaled = is_tiny ? x * 0x1p54 : x;
    const std::int64_t root = std::bit_cast<std::int64_t>(0x1.6a09e667f3bcdp-1);  // sqrt(1/2)
    using Word = typename As<V>::Word;
    const Long shifted = (Long)((Word)bits<V>(scaled) - static_cast<std::uint64_t>(root));  // wraps where x < 0
    const Long power = shifted >> 52;
    const V m = from_bits<V>((shifted & (Long{} + 0xfffffffffffff)) + root);
    // a whole number below 2^51 becomes a double when its bits are added to those of kRound
    k = from_bits<V>(power + std::bit_cast<std::int64_t>(kRound)) - kRound;
    k = is_tiny ? k - 54.0 : k;
    // log m = 2 atanh(s) = 2 s + s z (2/3 + 2/5 z + ...), z = s^2 <= 0.0295: the first term left out is 1e-18
    const V f = m - 1.0, s = f / (f + 2.0), z = s * s;
    V series = V{} + 2.0 / 23;
    for (double odd = 21; odd > 1; odd -= 2) series = series * z + 2.0 / odd;
    // 2 s = f - s f, and f is exact
    return f - s * (f - z * series);
}

template <class V>
[[gnu::always_inline]] inline V at_edges(V x, V result) {
    result = x == 0.0 ? V{} - kInf : result;
    result = x == kInf ? V{} + kInf : result;
    return x >= 0.0 ? result : V{} + std::numeric_limits<double>::quiet_NaN();
}

}  // namespace maths

template <class V>
[[gnu::always_inline]] inline V log(V x) {
    V k;
    const V part = maths::log_parts(x, k);
    return maths::at_edges(x, k * maths::kLn2High + (part + k * maths::kLn2Low));
}

template <class V>
[[gnu::always_inline]] inline V log2(V x) {
    V k;
    const V part = maths::log_parts(x, k);
    return maths::at_edges(x, k + part * maths::kLog2E);
}

// e^x = 2^k e^r with |r| <= log(2)/2; 0 below -708, infinite above 709.75 (where the C library's is from 709.78 on).
template <class V>
[[gnu::always_inline]] inline V exp(V x) {
    using Long = typename maths::As<V>::Long;
    const V within = x < -708.0 ? V{} - 708.0 : (x > 709.75 ? V{} + 709.75 : x);
    const V shifted = within * maths::kLog2E + maths::kRound, k = shifted - maths::kRound;
    const V r = (within - k * maths::kLn2High) - k * maths::kLn2Low;
    V series = V{} + 1.0 / 6227020800.0;  // 1/13!
    for (double factorial :
         {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0})
        series = series * r + 1.0 / factorial;
    const Long power = (maths::bits<V>(shifted) - std::bit_cast<std::int64_t>(maths::kRound) + 1022) << 52;
    V result = series * maths::from_bits<V>(power) * 2.0;
    result = x > 709.75 ? V{} + maths::kInf : result;
    result = x < -708.0 ? V{} : result;
    return x == x ? result : x;
}

// log of the gamma function for x > 0: Stirling's series from 8 on, the recurrence below it.
inline double lgamma(double x) {
    if (!(x > 0)) return x <= 0 ? maths::kInf : x;
    double product = 1;
    for (; x < 8; x += 1) product *= x;
    const double z = 1 / (x * x);
    const double series =
        (1.0 / 12 + z * (-1.0 / 360 +
                         z * (1.0 / 1260 +
                              z * (-1.0 / 1680 + z * (1.0 / 1188 + z * (-691.0 / 360360 +
                                                                        z * (1.0 / 156 + z * (-3617.0 / 122400)))))))) /
        x;
    constexpr double kHalfLog2Pi = 0.91893853320467274178;
    return (x - 0.5) * log(x) - x + kHalfLog2Pi + series - (product == 1 ? 0.0 : log(product));
}

}  // namespace partita
