#include "isa.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace partita {

namespace {

Isa best_here() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512vpopcntdq"))
        return Isa::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma"))
        return Isa::avx2;
#endif
    return Isa::baseline;
}

Isa choose() {
    const Isa best = best_here();
    const char* asked = std::getenv("PARTITA_ISA");
    if (asked == nullptr || *asked == '\0') return best;
    for (Isa one : {Isa::baseline, Isa::avx2, Isa::avx512})
        if (std::string_view(asked) == name_of(one)) {
            if (one > best)
                throw std::runtime_error("PARTITA_ISA=" + std::string(asked) + ": this machine has " + name_of(best) +
                                         " at most.");
            return one;
        }
    throw std::runtime_error("PARTITA_ISA must be baseline, avx2 or avx512; got " + std::string(asked) + ".");
}

}  // namespace

Isa isa() {
    static const Isa chosen = choose();
    return chosen;
}

const char* name_of(Isa isa) {
    switch (isa) {
        case Isa::avx512: return "avx512";
        case Isa::avx2: return "avx2";
        default: return "baseline";
    }
}

}  // namespace partita
