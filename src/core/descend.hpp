// Downhill: items, then whole clusters, each to where the loss is least, until nothing moves.
#pragma once
#include "objective.hpp"
#include "pace.hpp"
#include "random.hpp"
#include "settings.hpp"

namespace partita {

// These items in this order, round after round, until a round moves none. Whether any moved.
template <Objective O>
bool sweep(O& state, const std::vector<int>& order, Stop& stop) {
    Pace pace(stop);
    bool has_moved = false, is_quiet = false;
    for (int round = 0; round < kMostRounds && !is_quiet; ++round) {
        state.settle();
        is_quiet = true;
        for (int i : order) {
            if (pace.is_up(state.n_steps())) return has_moved;
            const auto best = state.propose(i);
            if (best.column < 0 || (!best.is_sure && state.change(i, best.column) > -kLeast)) continue;
            state.move(i, best.column);
            is_quiet = false, has_moved = true;
        }
    }
    return has_moved;
}

// All items, in random order.
template <Objective O>
bool sweep(O& state, Rng& rng, Stop& stop) {
    return sweep(state, rng.permutation(state.size()), stop);
}

// Put items that are in no cluster where they seem best, one after another; the last of them into clusters of their
// own if there must be more clusters. Whether there was time.
template <Objective O>
bool allocate(O& state, const std::vector<int>& items, Stop& stop) {
    Pace pace(stop);
    for (std::size_t x = 0; x < items.size(); ++x) {
        if (pace.is_up(state.n_steps())) return false;
        const bool must_be_new = static_cast<std::size_t>(state.n_missing()) >= items.size() - x;
        state.move(items[x], must_be_new ? state.empty_column() : state.propose(items[x]).column);
    }
    return true;
}

// The same with all of these items taken out first.
template <Objective O>
bool allocate_anew(O& state, const std::vector<int>& items, Stop& stop) {
    if (static_cast<int>(items.size()) == state.size()) state.clear();
    else
        for (int i : items) state.move(i, -1);
    return allocate(state, items, stop);
}

// Whole clusters, as blocks. Whether any joined another. ``coarse`` is scratch.
template <Objective O>
bool merge(O& state, O& coarse, Rng& rng, Stop& stop) {
    auto clusters = state.labels();
    coarse.group(state, clusters, canonicalise(clusters));
    coarse.load(contract(state.labels(), clusters, coarse.size()));
    if (!sweep(coarse, rng, stop)) return false;
    state.load(expand(coarse.labels(), clusters));
    return true;
}

// Items, then clusters onto clusters, until neither moves.
template <Objective O>
void descend(O& state, O& coarse, Rng& rng, const Settings& settings, Stop& stop) {
    do sweep(state, rng, stop);
    while (settings.merges && !stop.is_up() && merge(state, coarse, rng, stop));
}

}  // namespace partita
