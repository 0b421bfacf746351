// Moves of whole clusters, on the partition with (mu, T) integrated out: splits, merges, and two clusters allocated
// anew. A pair of items is drawn, the rest of their clusters is queued in random order, and each item is sent to the
// side of one of the two in turn, as in Dahl's (2005) sequentially allocated merge-split sampler. Seeds and queue do
// not depend on the present split, so the way back has the same queue.
#pragma once
#include <algorithm>
#include <vector>

#include "mixture_proposal.hpp"
#include "mixture_state.hpp"

namespace partita {

class ClusterMoves {
 public:
    ClusterMoves(const Model& model, Watch& watch, Marginals& marginals)
        : model_(model), watch_(watch), marginals_(marginals), proposal_(model), side_(model.n),
          present_(model.n), proposed_{Sums(model), Sums(model)} {}

    SeedProposal& proposal() { return proposal_; }

    // Draw two items; propose to split their cluster, or to merge their two.
    void split_or_merge(State& state) {
        if (model_.n < 2) return;
        draw_seeds(state, false);
        if (a_ == b_) split(state);
        else merge(state);
    }

    // Draw two items of different clusters; propose to allocate the items of both clusters anew.
    void reallocate(State& state) {
        if (state.n_clusters() < 2) return;
        draw_seeds(state, true);
        const auto& [a, b] = std::pair(state.clusters[a_].sums.size, state.clusters[b_].sums.size);
        const double present = log_weight(state, a_) + log_weight(state, b_);
        queue_members(state);
        const double log_q = draw_sides(state);
        if (std::ranges::none_of(queue_, [&](int i) { return side_[i] != (state.labels[i] == b_); })) return;
        sum_sides(state);
        double ratio = proposed_log_weight(0) + proposed_log_weight(1) - present - log_q;
        // pairs of items in different clusters, from which the seeds are drawn, before and after
        double pairs = static_cast<double>(model_.n) * model_.n;
        for (const auto& cluster : state.clusters) pairs -= static_cast<double>(cluster.sums.size) * cluster.sums.size;
        const double after = static_cast<double>(proposed_[0].size) * proposed_[1].size;
        ratio += log(pairs / (pairs + 2 * (after - static_cast<double>(a) * b)));
        if (!passes(state, ratio) || !passes_way_back(state, ratio)) return;
        settle_sides(state);
    }

 private:
    void split(State& state) {
        const double present = log_weight(state, a_);
        queue_members(state);
        const double log_q = draw_sides(state);
        sum_sides(state);
        if (!passes(state, proposed_log_weight(0) + proposed_log_weight(1) - present - log_q +
                               model_.partition.log_new(state.concentration, state.n_clusters())))
            return;
        b_ = state.open(model_);
        settle_sides(state);
    }

    void merge(State& state) {
        auto& sums = proposed_[0] = state.clusters[a_].sums;
        sums.add(state.clusters[b_].sums, 1);
        const double ratio = proposed_log_weight(0) - log_weight(state, a_) - log_weight(state, b_) -
                             model_.partition.log_new(state.concentration, state.n_clusters() - 1);
        if (!passes(state, ratio)) return;
        queue_members(state);
        if (!passes_way_back(state, ratio)) return;
        for (int& label : state.labels) label = label == b_ ? a_ : label;
        settle(state, a_, 0);
        state.close(b_);
    }

    // Two different items, uniformly; of different clusters if `apart`.
    void draw_seeds(State& state, bool apart) {
        do {
            for (int& seed : seeds_) seed = state.rng.below(model_.n);
            watch_.spend(10);
        } while (seeds_[0] == seeds_[1] || (apart && state.labels[seeds_[0]] == state.labels[seeds_[1]]));
        a_ = state.labels[seeds_[0]];
        b_ = state.labels[seeds_[1]];
    }

    // The other members of both clusters, in random order.
    void queue_members(State& state) {
        queue_.resize(model_.n);
        int m = 0;
        for (int item = 0; item < model_.n; ++item) {
            const int k = state.labels[item];
            queue_[m] = item;
            m += (k == a_ || k == b_) & (item != seeds_[0]) & (item != seeds_[1]);
        }
        queue_.resize(m);
        state.rng.shuffle(queue_);
        watch_.spend(model_.n + m * static_cast<std::int64_t>(60 + 20 * model_.p));
    }

    double draw_sides(State& state) { return proposal_.allocate(seeds_, queue_, side_, &state.rng, -maths::kInf); }

    double log_weight(State& state, int k) {
        return state.log_marginal(k, marginals_) + model_.partition.log_size[state.clusters[k].sums.size];
    }

    double proposed_log_weight(int side) {
        log_marginal_[side] = marginals_.log_marginal(proposed_[side]);
        return log_marginal_[side] + model_.partition.log_size[proposed_[side].size];
    }

    // Sums of the sides: one is added up, the other is the rest.
    void sum_sides(State& state) {
        auto& [first, rest] = proposed_;
        rest = state.clusters[a_].sums;
        if (a_ != b_) rest.add(state.clusters[b_].sums, 1);
        first.clear();
        first.add(model_.item(seeds_[0]));
        for (int item : queue_)
            if (side_[item] == 0) first.add(model_.item(item));
        rest.add(first, -1);
        watch_.spend(static_cast<std::int64_t>(queue_.size() * model_.cells()));
    }

    // Whether the ratio passes without the probability of the way back, which only lowers it: most merges end here.
    bool passes(State& state, double ratio) {
        threshold_ = log(1 - state.rng.uniform());
        return threshold_ < ratio;
    }

    // The way back is followed no further than it takes to refuse.
    bool passes_way_back(State& state, double ratio) {
        for (int item : queue_) present_[item] = state.labels[item] == b_;
        return threshold_ < ratio + proposal_.allocate(seeds_, queue_, present_, nullptr, threshold_ - ratio);
    }

    void settle_sides(State& state) {
        for (int item : queue_) state.labels[item] = side_[item] ? b_ : a_;
        state.labels[seeds_[1]] = b_;
        settle(state, a_, 0);
        settle(state, b_, 1);
    }

    void settle(State& state, int k, int side) {
        auto& cluster = state.clusters[k];
        std::swap(cluster.sums, proposed_[side]);
        cluster.log_marginal = log_marginal_[side];
        cluster.is_known = true;
    }

    const Model& model_;
    Watch& watch_;
    Marginals& marginals_;
    SeedProposal proposal_;
    std::vector<int> queue_;            // items of the clusters that a move touches
    std::vector<char> side_, present_;  // by item: the side proposed, and the one of now
    Sums proposed_[2];                  // of the sides
    int seeds_[2] = {0, 0}, a_ = 0, b_ = 0;
    double log_marginal_[2] = {0, 0}, threshold_ = 0;
};

}  // namespace partita
