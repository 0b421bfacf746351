// The loops that make the similarity, compiled for every instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "isa.hpp"

namespace partita {

constexpr std::size_t kPanel = 16;  // items whose bits, or labels, lie side by side
constexpr std::size_t kBlock = 64;  // rows that meet a panel of columns together
constexpr std::size_t kWord = 64;   // draws whose bits are in a word

struct SimilarityKernels {
    // Take the labels of `kWord` draws of a panel apart: bit d of planes[p][i] becomes bit p of labels[d][i]. Returns
    // the bits that are 1 in any label.
    std::uint32_t (*take_apart)(const std::uint32_t* labels, std::size_t n_planes, std::uint64_t* planes);

    // Add to counts[r][c], r < kBlock, c < kPanel, in how many of the draws of some words row r and column c differ.
    // A panel is [word][plane][item]; that of rows 16 and on begins `row_stride` after that of rows 0 to 15.
    void (*count_apart)(const std::uint64_t* rows, std::size_t row_stride, const std::uint64_t* cols,
                        std::size_t n_words, std::size_t n_planes, std::size_t n_rows, std::uint64_t* counts);

    // shares[x] becomes (n_draws - counts[x]) / n_draws, the counts set to zero; x < kBlock kPanel.
    void (*divide)(std::uint64_t* counts, double n_draws, double* shares);

    // Add to sums[r][c], r < kBlock, c < kPanel, the weights of the draws in which row r and column c agree, one after
    // another: a pair that is always together gets the sum of all weights. rows is [draw][kBlock], cols [draw][kPanel].
    void (*weigh)(const std::uint64_t* rows, const std::uint64_t* cols, const double* weights, std::size_t n_draws,
                  std::size_t n_rows, double* sums);
};

namespace baseline {
extern const SimilarityKernels similarity_kernels;
}
namespace avx2 {
extern const SimilarityKernels similarity_kernels;
}
namespace avx512 {
extern const SimilarityKernels similarity_kernels;
}

inline const SimilarityKernels& similarity_kernels() {
    return pick(baseline::similarity_kernels, avx2::similarity_kernels, avx512::similarity_kernels);
}

}  // namespace partita
