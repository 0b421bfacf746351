// A population of partitions, each the end of a descent, and the attempts that make new ones of them.
#pragma once
#include <optional>

#include "descend.hpp"

namespace partita {

struct Member {
    Labels labels;  // canonical
    double value;
};

struct Population {
    std::vector<Member> members;  // the best first

    bool is_empty() const { return members.empty(); }
    double least() const { return is_empty() ? std::numeric_limits<double>::infinity() : members.front().value; }
    bool is_known(const Labels& labels) const {
        return std::any_of(members.begin(), members.end(), [&](const auto& one) { return one.labels == labels; });
    }
    const Labels& any(Rng& rng) const { return members[rng.below(static_cast<int>(members.size()))].labels; }

    void add(const Member& child, int n_members) {
        if (is_known(child.labels)) return;
        const auto at = std::upper_bound(members.begin(), members.end(), child.value,
                                         [](double v, const Member& m) { return v < m.value; });
        members.insert(at, child);
        if (static_cast<int>(members.size()) > n_members) members.pop_back();
    }
};

// What one thread works with.
template <Objective O>
struct Worker {
    O state, coarse;
    explicit Worker(const O& of) : state(of), coarse(of) {}
};

// Attempts: each makes a partition, descends from it, and gives where that ended; nothing if it made a known one.
template <Objective O>
class Attempt {
 public:
    Attempt(Worker<O>& worker, const Settings& settings, Rng rng, Stop& stop)
        : state_(worker.state), coarse_(worker.coarse), settings_(settings), rng_(rng), stop_(stop) {}

    // A partition as it is.
    std::optional<Member> take(const Labels& labels) {
        if (!fit(labels)) return {};
        return Member{canonical(), state_.value()};
    }

    // From a partition, as it is or with all items allocated anew, in random order.
    std::optional<Member> start(const Labels& labels, bool is_anew) {
        if (!fit(labels)) return {};
        if (is_anew && !allocate_anew(state_, rng_.permutation(state_.size()), stop_)) return {};
        return finish();
    }

    std::optional<Member> improve(const Population& population) {
        const double which = rng_.uniform();
        if (which < settings_.joined) return join(population);
        const bool has_two = population.members.size() > 1;
        if (has_two && which < settings_.joined + settings_.recombined) return recombine(population);
        return rebuild(population);
    }

 private:
    // The blocks that two members have in common, put together anew.
    std::optional<Member> recombine(const Population& population) {
        const int n_members = static_cast<int>(population.members.size()), one = rng_.below(n_members),
                  other = (one + 1 + rng_.below(n_members - 1)) % n_members;
        const auto& parent = population.members[one].labels;
        Labels blocks;
        const int n_blocks = meet(parent, population.members[other].labels, blocks);
        coarse_.group(state_, blocks, n_blocks);
        coarse_.load(contract(parent, blocks, n_blocks));  // for its slopes
        if (!allocate_anew(coarse_, rng_.permutation(n_blocks), stop_)) return {};
        sweep(coarse_, rng_, stop_);
        auto child = expand(coarse_.labels(), blocks);
        canonicalise(child);
        if (population.is_known(child)) return {};
        state_.load(child);
        return finish();
    }

    // A cluster of a member and all that are no larger made one, which items leave again that are better elsewhere:
    // items that each are better alone than with any other may be better all together.
    std::optional<Member> join(const Population& population) {
        auto child = population.any(rng_);
        sort_by_size(child);
        const int last = rng_.below(count_labels(child));
        std::vector<int> size(count_labels(child));
        for (auto k : child) ++size[k];
        for (auto& k : child) k = size[k] <= size[last] ? last : k;
        if (!fit(child) || population.is_known(canonical())) return {};
        return finish();
    }

    // The clusters of an item and of one that is similar to it emptied, their items allocated anew.
    std::optional<Member> rebuild(const Population& population) {
        state_.load(population.any(rng_));
        const auto& labels = state_.labels();
        const int i = rng_.below(state_.size()), own = labels[i], other = labels[any_like(i)];
        std::vector<int> items;
        for (int y = 0; y < state_.size(); ++y)
            if (labels[y] == own || labels[y] == other) items.push_back(y);
        rng_.shuffle(items);
        if (!allocate_anew(state_, items, stop_) || population.is_known(canonical())) return {};
        return finish();
    }

    // An item drawn in proportion to how similar it is to another.
    int any_like(int i) {
        double total = 0;
        for (int y = 0; y < state_.size(); ++y) total += state_.like(i, y);
        double left = rng_.uniform() * total;
        for (int y = 0; y < state_.size(); ++y)
            if ((left -= state_.like(i, y)) < 0) return y;
        return i;
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

    Member finish() {
        descend(state_, coarse_, rng_, settings_, stop_);
        return {canonical(), state_.value()};
    }

    Labels canonical() const {
        auto labels = state_.labels();
        canonicalise(labels);
        return labels;
    }

    O& state_;
    O& coarse_;
    const Settings& settings_;
    Rng rng_;
    Stop& stop_;
};

}  // namespace partita
