// One pass over the items, each given a cluster in turn given each cluster's drawn (mu, T): Neal's (2000) algorithm 2,
// with the exact weight m({i}) of a new cluster.
#pragma once
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "mixture_kernels.hpp"
#include "mixture_state.hpp"

namespace partita {

class ItemPass {
 public:
    ItemPass(const Model& model, Watch& watch, Marginals& marginals)
        : model_(model), watch_(watch), marginals_(marginals) {}

    // Leaves sizes right and sums as they were: `recount` comes next.
    void run(State& state) {
        if (log_alone_.empty()) weigh_alone();
        parameters_.resize(state.n_clusters(), Parameters(model_));
        for (int k = 0; k < state.n_clusters(); ++k) marginals_.draw(state.clusters[k].sums, state.rng, parameters_[k]);
        for (int start = 0; start < model_.n; start += kBlock) give_clusters(state, start);
    }

 private:
    void weigh_alone() {
        std::vector<double> found(model_.columns.stride);
        Sums sums(model_);
        for (int i = 0; i < model_.n; ++i) {
            sums.clear();
            sums.add(model_.item(i));
            found[i] = marginals_.log_marginal(sums);
        }
        log_alone_ = std::move(found);
    }

    void give_clusters(State& state, int start) {
        for (int k = 0; k < state.n_clusters(); ++k) fill(k, start);
        relate(state, start);
        list_prior_weights(state);
        for (int i = start; i < std::min(start + kBlock, model_.n); ++i) {
            leave(state, i);
            const int chosen = choose(state, i, start);
            const int k = chosen < state.n_clusters() ? chosen : begin(state, i, start);
            ++state.clusters[k].sums.size;
            mass_[k] += 1;
            state.labels[i] = k;
            watch_.spend(4 * state.n_clusters() + 20);
        }
    }

    // Log densities of the block under cluster k.
    void fill(int k, int start) {
        log_density_.resize(std::max(log_density_.size(), row(k + 1)));
        weight_.resize(log_density_.size());
        mixture_kernels().log_density(&model_.columns.values[start], model_.columns.stride, parameters_[k].terms(),
                                      kBlock, &log_density_[row(k)]);
        watch_.spend(300 + 10 * static_cast<std::int64_t>(model_.cells()));
    }

    // Densities relative to the largest of each item.
    void relate(const State& state, int start) {
        std::copy_n(&log_alone_[start], kBlock, top_);
        for (int k = 0; k < state.n_clusters(); ++k)
            for (int j = 0; j < kBlock; ++j) top_[j] = std::max(top_[j], log_density_[row(k) + j]);
        for (int k = 0; k < state.n_clusters(); ++k)
            mixture_kernels().exponentials(&log_density_[row(k)], top_, kBlock, &weight_[row(k)]);
        mixture_kernels().exponentials(&log_alone_[start], top_, kBlock, alone_);
    }

    void list_prior_weights(const State& state) {
        const auto& partition = model_.partition;
        const int t = state.n_clusters();
        mass_.resize(t);
        cumulative_.resize(t);
        for (int k = 0; k < t; ++k) mass_[k] = state.clusters[k].sums.size + partition.offset;
        fresh_ = exp(partition.log_new(state.concentration, t) + partition.log_size[1]);
    }

    void leave(State& state, int i) {
        const int k = state.labels[i], last = state.n_clusters() - 1;
        mass_[k] -= 1;
        if (--state.clusters[k].sums.size > 0) return;
        for (auto* rows : {&log_density_, &weight_}) std::copy_n(&(*rows)[row(last)], kBlock, &(*rows)[row(k)]);
        std::swap(parameters_[k], parameters_[last]);
        state.close(k);
        list_prior_weights(state);
    }

    // The cluster that an item goes to; the number behind the last for a new one.
    int choose(State& state, int i, int start, bool is_related = false) {
        const int t = state.n_clusters();
        const double *mass = mass_.data(), *weight = &weight_[i - start];
        double total = 0;
        for (int k = 0; k < t; ++k) {
            total += mass[k] * weight[row(k)];
            cumulative_[k] = total;
        }
        total += fresh_ * alone_[i - start];
        if (!(total > 0 && total < maths::kInf)) {  // a cluster that ended had all the weight, or one that began has it
            if (is_related) throw std::domain_error("densities are no numbers");
            relate(state, start);
            return choose(state, i, start, true);
        }
        const double u = state.rng.uniform() * total;
        int k = 0;
        while (k < t && u >= cumulative_[k]) ++k;
        return k;
    }

    // A cluster that holds item i alone, not yet counted.
    int begin(State& state, int i, int start) {
        const int k = state.open(model_);
        if (k == static_cast<int>(parameters_.size())) parameters_.emplace_back(model_);
        Sums alone(model_);
        alone.add(model_.item(i));
        marginals_.draw(alone, state.rng, parameters_[k]);
        fill(k, start);
        mixture_kernels().exponentials(&log_density_[row(k)], top_, kBlock, &weight_[row(k)]);
        list_prior_weights(state);
        return k;
    }

    static std::size_t row(int k) { return static_cast<std::size_t>(k) * kBlock; }

    const Model& model_;
    Watch& watch_;
    Marginals& marginals_;
    std::vector<double> log_alone_;             // (stride) log m({i}); empty until the first pass
    std::vector<Parameters> parameters_;        // by cluster
    std::vector<double> log_density_, weight_;  // (clusters, kBlock) of the present block; weight relative to `top_`
    double top_[kBlock], alone_[kBlock];        // the largest log density of each item; e^(log_alone - top)
    std::vector<double> mass_, cumulative_;     // by cluster: prior weights; scratch
    double fresh_ = 0;                          // prior weight of a new cluster
};

}  // namespace partita
