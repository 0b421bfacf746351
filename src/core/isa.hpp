// Which of the instruction sets that the hot loops are compiled for this process uses.
#pragma once

namespace partita {

enum class Isa { baseline, avx2, avx512 };

// The best that this machine has, or the one that the environment variable PARTITA_ISA names.
Isa isa();
const char* name_of(Isa isa);

// The table of functions that was compiled for it.
template <class Table>
const Table& pick(const Table& baseline, const Table& avx2, const Table& avx512) {
    switch (isa()) {
        case Isa::avx512: return avx512;
        case Isa::avx2: return avx2;
        default: return baseline;
    }
}

}  // namespace partita
