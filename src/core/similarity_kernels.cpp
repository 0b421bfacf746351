#include "similarity_kernels.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "vectors.hpp"

namespace partita::PARTITA_ISA {

namespace {

// As wide as a register, so that sums stay in registers: how many lie side by side does not show in what they come to.
#if defined(__AVX512F__)
constexpr std::size_t kWidth = 64, kRows = 4, kVectors = 2;
#elif defined(__AVX2__)
constexpr std::size_t kWidth = 32, kRows = 2, kVectors = 2;
#else
constexpr std::size_t kWidth = 16, kRows = 2, kVectors = 2;
#endif
constexpr std::size_t kLanes = kWidth / sizeof(std::uint64_t);
typedef std::uint64_t Bits __attribute__((vector_size(kWidth)));
typedef double Reals __attribute__((vector_size(kWidth)));

// The ones in each lane, in its bytes where the processor counts no more at once: at most 8 a word, so that the sums
// of kMostWords words fit.
constexpr std::size_t kMostWords = 31;

#if defined(__AVX512VPOPCNTDQ__)
[[gnu::always_inline]] inline Bits ones(Bits x) { return (Bits)_mm512_popcnt_epi64((__m512i)x); }
[[gnu::always_inline]] inline Bits total(Bits sums) { return sums; }
#else
#if defined(__AVX2__)
[[gnu::always_inline]] inline Bits ones(Bits x) {
    const __m256i of_four = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1,
                                             2, 2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(15);
    return (Bits)_mm256_add_epi8(_mm256_shuffle_epi8(of_four, _mm256_and_si256((__m256i)x, low)),
                                 _mm256_shuffle_epi8(of_four, _mm256_and_si256((__m256i)(x >> 4), low)));
}
#else
[[gnu::always_inline]] inline Bits ones(Bits x) {
    x -= (x >> 1) & 0x5555555555555555;
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
    return (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
}
#endif
[[gnu::always_inline]] inline Bits total(Bits sums) {
    sums = (sums & 0x00ff00ff00ff00ff) + ((sums >> 8) & 0x00ff00ff00ff00ff);
    sums += sums >> 16;
    return (sums + (sums >> 32)) & 0xffff;
}
#endif

// Four bits at a time: bit p of a label goes to byte p of its lane, and eight draws fill the bytes.
std::uint32_t take_apart(const std::uint32_t* labels, std::size_t n_planes, std::uint64_t* planes) {
    typedef std::uint32_t Panel __attribute__((vector_size(kPanel * sizeof(std::uint32_t))));
    Panel seen{};
    for (std::size_t first = 0; first < n_planes; first += 4) {
        alignas(64) std::uint32_t halves[2][4][kPanel];
        for (std::size_t half = 0; half < 2; ++half) {
            Panel bytes[4] = {};
            for (std::size_t g = 0; g < 4; ++g)
                for (std::size_t d = 0; d < 8; ++d) {
                    Panel x = load<Panel>(labels + (32 * half + 8 * g + d) * kPanel);
                    seen |= x;
                    x = (x >> first) & 15;
                    x |= x << 7;
                    x |= x << 14;
                    bytes[g] |= (x & 0x01010101) << d;
                }
            for (std::size_t p = 0; p < 4; ++p) {
                Panel word{};
                for (std::size_t g = 0; g < 4; ++g) word |= ((bytes[g] >> (8 * p)) & 255) << (8 * g);
                store(word, halves[half][p]);
            }
        }
        for (std::size_t p = 0; p < 4 && first + p < n_planes; ++p)
            for (std::size_t i = 0; i < kPanel; ++i)
                planes[(first + p) * kPanel + i] = halves[0][p][i] | std::uint64_t{halves[1][p][i]} << 32;
    }
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < kPanel; ++i) any |= seen[i];
    return any;
}

// Some rows against some columns of a panel: two labels differ where any of their bits do.
[[gnu::always_inline]] inline void count_tile(const std::uint64_t* rows, const std::uint64_t* cols, std::size_t n_words,
                                              std::size_t n_planes, std::uint64_t* counts) {
    Bits sums[kRows][kVectors] = {};
    for (std::size_t w = 0; w < n_words; ++w) {
        Bits apart[kRows][kVectors] = {};
        for (std::size_t p = 0; p < n_planes; ++p, rows += kPanel, cols += kPanel)
            for (std::size_t v = 0; v < kVectors; ++v) {
                const Bits column = load<Bits>(cols + v * kLanes);
                for (std::size_t r = 0; r < kRows; ++r) apart[r][v] |= column ^ rows[r];
            }
        for (std::size_t r = 0; r < kRows; ++r)
            for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] += ones(apart[r][v]);
    }
    for (std::size_t r = 0; r < kRows; ++r)
        for (std::size_t v = 0; v < kVectors; ++v) {
            std::uint64_t* to = counts + r * kPanel + v * kLanes;
            store(load<Bits>(to) + total(sums[r][v]), to);
        }
}

void count_apart(const std::uint64_t* rows, std::size_t row_stride, const std::uint64_t* cols, std::size_t n_words,
                 std::size_t n_planes, std::size_t n_rows, std::uint64_t* counts) {
    for (std::size_t first = 0; first < n_words; first += kMostWords) {
        const std::size_t some = n_words - first < kMostWords ? n_words - first : kMostWords;
        const std::size_t at = first * n_planes * kPanel;
        for (std::size_t r = 0; r < n_rows; r += kRows)
            for (std::size_t c = 0; c < kPanel; c += kVectors * kLanes)
                count_tile(rows + r / kPanel * row_stride + at + r % kPanel, cols + at + c, some, n_planes,
                           counts + r * kPanel + c);
    }
}

void divide(std::uint64_t* counts, double n_draws, double* shares) {
    const Bits magic = Bits{} + 0x4330000000000000;  // 2^52: a number below it, put into its low bits, is added to it
    for (std::size_t x = 0; x < kBlock * kPanel; x += kLanes) {
        const Reals apart = (Reals)(load<Bits>(counts + x) | magic) - 0x1p52;
        store((n_draws - apart) / n_draws, shares + x);
    }
    __builtin_memset(counts, 0, kBlock * kPanel * sizeof *counts);
}

void weigh(const std::uint64_t* rows, const std::uint64_t* cols, const double* weights, std::size_t n_draws,
           std::size_t n_rows, double* sums) {
    for (std::size_t r = 0; r < n_rows; r += kRows)
        for (std::size_t c = 0; c < kPanel; c += kVectors * kLanes) {
            Reals tile[kRows][kVectors];
            for (std::size_t a = 0; a < kRows; ++a)
                for (std::size_t v = 0; v < kVectors; ++v)
                    tile[a][v] = load<Reals>(sums + (r + a) * kPanel + c + v * kLanes);
            for (std::size_t d = 0; d < n_draws; ++d)
                for (std::size_t v = 0; v < kVectors; ++v) {
                    const Bits column = load<Bits>(cols + d * kPanel + c + v * kLanes);
                    for (std::size_t a = 0; a < kRows; ++a)
                        tile[a][v] = column == rows[d * kBlock + r + a] ? tile[a][v] + weights[d] : tile[a][v];
                }
            for (std::size_t a = 0; a < kRows; ++a)
                for (std::size_t v = 0; v < kVectors; ++v) store(tile[a][v], sums + (r + a) * kPanel + c + v * kLanes);
        }
}

}  // namespace

const SimilarityKernels similarity_kernels{take_apart, count_apart, divide, weigh};

}  // namespace partita::PARTITA_ISA
