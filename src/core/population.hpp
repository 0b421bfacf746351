// A population of partitions, each the end of a descent, and the attempts that make new ones of them.
#pragma once
#include <optional>

#include "descend.hpp"

namespace partita {

struct Member {
    Labels labels;  // canonical
    double value;
};

// What one thread works with.
template <Objective O>
struct Worker {
    O state, coarse;
    explicit Worker(const O& of) : state(of), coarse(of) {}
};

class Population {
 public:
    std::vector<Member> members;  // the best first
    int n_hits = 0;               // descents in a row that ended at the best
    int n_vain = 0;               // attempts since the best was found

    bool is_known(const Labels& labels) const {
        return std::any_of(members.begin(), members.end(), [&](const auto& one) { return one.labels == labels; });
    }
    bool is_far(double value, const Settings& settings) const {
        return value > members.front().value + settings.far * std::abs(members.front().value);
    }
    const Labels& any(Rng& rng) const { return members[rng.below(static_cast<int>(members.size()))].labels; }

    void add(const Member& child, const Settings& settings) {
        if (!members.empty() && members.front().labels == child.labels) ++n_hits;
        if (is_known(child.labels)) return;
        if (members.empty() || child.value < members.front().value - kLeast) n_hits = 1, n_vain = 0;
        const auto at = std::upper_bound(members.begin(), members.end(), child.value,
                                         [](double v, const Member& m) { return v < m.value; });
        members.insert(at, child);
        while (static_cast<int>(members.size()) > settings.n_members || is_far(members.back().value, settings))
            members.pop_back();
    }
};

// Attempts: each makes a partition, descends from it, and gives where that ended; nothing where it leads nowhere.
template <Objective O>
class Attempt {
 public:
    Attempt(Worker<O>& worker, const Settings& settings, Rng rng, Stop& stop)
        : state_(worker.state), coarse_(worker.coarse), settings_(settings), rng_(rng), stop_(stop) {}

    // From a partition, as it is or with all items allocated anew, in random order.
    std::optional<Member> start(const Labels& labels, bool is_anew) {
        if (!fit(labels)) return {};
        if (is_anew && !allocate_anew(state_, rng_.permutation(state_.size()), stop_)) return {};
        return finish();
    }

    std::optional<Member> improve(const Population& population) {
        const double which = rng_.uniform();
        if (which < settings_.leaned) return lean(population);
        if (which < settings_.leaned + settings_.recombined) return recombine(population);
        return rebuild(population);
    }

 private:
    // The blocks that two members have in common, put together anew.
    std::optional<Member> recombine(const Population& population) {
        const auto& parent = population.any(rng_);
        Labels blocks;
        const int n_blocks = meet(parent, population.any(rng_), blocks);
        coarse_.group(state_, blocks, n_blocks);
        coarse_.load(contract(parent, blocks, n_blocks));  // for its slopes
        tilt(coarse_);
        const bool is_done = allocate_anew(coarse_, rng_.permutation(n_blocks), stop_);
        if (is_done) sweep(coarse_, rng_, settings_, stop_);
        coarse_.upright();
        if (!is_done) return {};
        sweep(coarse_, rng_, settings_, stop_);
        auto child = expand(coarse_.labels(), blocks);
        canonicalise(child);
        if (population.is_known(child) || population.is_far(coarse_.value(), settings_)) return {};
        state_.load(child);
        return finish();
    }

    // One or some clusters of a member, near to each other, emptied, their items allocated anew.
    std::optional<Member> rebuild(const Population& population) {
        state_.load(population.any(rng_));
        const auto& labels = state_.labels();
        const int n = state_.size(), middle = rng_.below(n), n_emptied = 1 + rng_.below(settings_.n_emptied);
        std::vector<char> is_chosen(count_labels(labels), 0);
        is_chosen[labels[middle]] = 1;
        for (int found = 1; found < n_emptied; ++found) {
            const int i = any_near(middle, is_chosen);
            if (i >= 0) is_chosen[labels[i]] = 1;
        }
        std::vector<int> items;
        for (int i = 0; i < n; ++i)
            if (is_chosen[labels[i]]) items.push_back(i);
        rng_.shuffle(items);
        tilt(state_);
        const bool is_done = allocate_anew(state_, items, stop_);
        state_.upright();
        return is_done ? finish_new(population) : std::nullopt;
    }

    // An item of another cluster than those chosen, drawn in proportion to how similar it is to one item; -1 if none
    // is.
    int any_near(int middle, const std::vector<char>& is_chosen) {
        const auto& labels = state_.labels();
        double total = 0;
        for (int i = 0; i < state_.size(); ++i) total += is_chosen[labels[i]] ? 0 : state_.like(i, middle);
        double left = rng_.uniform() * total;
        for (int i = 0; i < state_.size(); ++i) {
            if (is_chosen[labels[i]]) continue;
            left -= state_.like(i, middle);
            if (left < 0) return i;
        }
        return -1;
    }

    // A descent on the function that the slopes at another e give, then on the loss: so several items or clusters
    // move where the first of them alone would not.
    std::optional<Member> lean(const Population& population) {
        state_.load(population.any(rng_));
        state_.lean(settings_.tilt * (2 * rng_.uniform() - 1));
        sweep(state_, rng_, settings_, stop_);
        merge(state_, coarse_, rng_, settings_, stop_);
        state_.upright();
        return finish_new(population);
    }

    void tilt(O& state) {
        if (rng_.uniform() < settings_.tilted) state.lean(settings_.tilt * (2 * rng_.uniform() - 1));
    }

    // Load labels, with as many clusters as are allowed: of too many the smallest are allocated anew, and if they
    // are too few some items begin clusters of their own. Whether there was time.
    bool fit(Labels labels) {
        const auto [least, most] = state_.limits();
        sort_by_size(labels);
        std::vector<int> size(count_labels(labels)), items;
        for (auto k : labels) ++size[k];
        int n_missing = least - static_cast<int>(size.size());
        for (int i : rng_.permutation(state_.size())) {
            if (labels[i] < most && (n_missing <= 0 || size[labels[i]] == 1)) continue;
            if (labels[i] < most) --size[labels[i]], --n_missing;
            items.push_back(i);
            labels[i] = -1;
        }
        state_.load(labels);
        return allocate(state_, items, stop_);
    }

    std::optional<Member> finish_new(const Population& population) {
        auto child = state_.labels();
        canonicalise(child);
        if (population.is_known(child) || population.is_far(state_.value(), settings_)) return {};
        return finish();
    }

    std::optional<Member> finish() {
        descend(state_, coarse_, rng_, settings_, stop_);
        auto child = state_.labels();
        canonicalise(child);
        return Member{std::move(child), state_.value()};
    }

    O& state_;
    O& coarse_;
    const Settings& settings_;
    Rng rng_;
    Stop& stop_;
};

}  // namespace partita
