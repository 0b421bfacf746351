// Random numbers: xoshiro256++ (Blackman & Vigna 2021), seeded by SplitMix64; the same on every machine.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace partita {

class Rng {
 public:
    using State = std::array<std::uint64_t, 4>;

    explicit Rng(std::uint64_t seed) {
        for (auto& word : state_) word = mix(seed += 0x9E3779B97F4A7C15u);
    }
    explicit Rng(const State& state) : state_(state) {}

    const State& state() const { return state_; }

    std::uint64_t next() {
        const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0], t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    // In [0, 1), a multiple of 2^-53.
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    // One of 0, ..., n - 1, for n up to 2^31.
    int below(int n) { return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32); }

    template <class T>
    void shuffle(std::vector<T>& items) {
        for (int i = static_cast<int>(items.size()) - 1; i > 0; --i) std::swap(items[i], items[below(i + 1)]);
    }

    std::vector<int> permutation(int n) {
        std::vector<int> order(n);
        std::iota(order.begin(), order.end(), 0);
        shuffle(order);
        return order;
    }

    // Bits that look random, the same for the same number.
    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }

    // A generator for part `stream` of the work: the same whoever does the part, and when.
    Rng split(std::uint64_t stream) const { return Rng(mix(state_[0] ^ mix(stream + 0x9E3779B97F4A7C15u))); }

 private:
    State state_;
};

}  // namespace partita
