// Downhill: items, then whole clusters, each to where the loss is least, until nothing moves.
#pragma once
#include "objective.hpp"
#include "pace.hpp"
#include "random.hpp"
#include "settings.hpp"

namespace partita {

// Items in this order, until none moves. Whether any did.
template <Objective O>
bool sweep(O& state, const std::vector<int>& order, const Settings& settings, Stop& stop) {
    const int n = static_cast<int>(order.size());
    Pace pace(stop);
    int n_moved = 0, since = 0;  // since slopes were those of the state
    long left = static_cast<long>(settings.max_rounds) * n;
    for (int quiet = 0, at = 0; quiet < n && --left > 0 && !pace.is_up(state.n_steps()); at = at + 1 < n ? at + 1 : 0) {
        if (since == settings.stale || (since > 0 && at == 0)) {
            state.settle();
            since = 0, quiet = 0;
        }
        const int i = order[at];
        const auto best = state.propose(i);
        ++quiet;
        if (best.column < 0 || (!best.is_sure && state.change(i, best.column) > -kLeast)) continue;
        state.move(i, best.column);
        quiet = 0, ++since, ++n_moved;
    }
    state.settle();
    return n_moved > 0;
}

// All items in random order.
template <Objective O>
bool sweep(O& state, Rng& rng, const Settings& settings, Stop& stop) {
    return sweep(state, rng.permutation(state.size()), settings, stop);
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
    const bool is_done = allocate(state, items, stop);
    state.settle();
    return is_done;
}

// Whole clusters, as blocks. Whether any joined another. ``coarse`` is scratch.
template <Objective O>
bool merge(O& state, O& coarse, Rng& rng, const Settings& settings, Stop& stop) {
    auto clusters = state.labels();
    coarse.group(state, clusters, canonicalise(clusters));
    coarse.load(contract(state.labels(), clusters, coarse.size()));
    coarse.lean_like(state);
    const bool is_changed = sweep(coarse, rng, settings, stop);
    if (is_changed) state.load(expand(coarse.labels(), clusters));
    coarse.upright();
    return is_changed;
}

// Items, then clusters onto clusters, until neither moves.
template <Objective O>
void descend(O& state, O& coarse, Rng& rng, const Settings& settings, Stop& stop) {
    do sweep(state, rng, settings, stop);
    while (settings.merges && !stop.is_up() && merge(state, coarse, rng, settings, stop));
}

}  // namespace partita
