// A chain: scans, and what is recorded of them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "matrix.hpp"
#include "mixture_concentration.hpp"
#include "mixture_items.hpp"
#include "mixture_moves.hpp"
#include "mixture_state.hpp"
#include "stop.hpp"

namespace partita {

struct Plan {
    std::int64_t n_burn, n_scans, thin;  // n_scans with burn-in
    int split_merge, reallocate;         // proposals a scan
};

class Chain {
 public:
    Chain(const Model& model, const Plan& plan, State state, Stop& stop)
        : model_(model), plan_(plan), state_(std::move(state)), watch_(stop), marginals_(model, watch_),
          items_(model, watch_, marginals_), moves_(model, watch_, marginals_) {}

    // Run scans until all are done, the rows are full, so many seconds are over (one scan at least) or the stop is up:
    // then the scan that it interrupted is undone, and a later call makes it again. Returns the rows written: labels
    // numbered by first appearance; number of clusters, concentration and log joint density.
    int advance(Matrix<std::uint32_t> labels, Matrix<double> traces, double seconds) {
        const Stop slice(seconds);
        std::size_t rows = 0;
        while (state_.scans < plan_.n_scans && rows < labels.rows) {
            State before = state_;
            try {
                prepare();
                scan();
                const auto kept = state_.scans - plan_.n_burn;
                if (kept > 0 && kept % plan_.thin == 0) {
                    traces(rows, 0) = state_.n_clusters();
                    traces(rows, 1) = state_.concentration;
                    traces(rows, 2) = log_joint();
                    std::ranges::copy(state_.labels, labels.row(rows++).begin());
                }
            } catch (const Stopped&) {
                std::swap(state_, before);
                is_prepared_ = false;
                break;
            }
            if (slice.elapsed() >= seconds) break;
        }
        return static_cast<int>(rows);
    }

    const State& state() const { return state_; }

 private:
    void prepare() {
        if (is_prepared_) return;
        if (state_.scans == 0) {  // as if all items were one cluster
            State together(model_, std::vector<int>(model_.n), 1, state_.rng);
            learn_covariance(together);
            state_.covariance = together.covariance;
        }
        moves_.proposal().set_covariance(state_.covariance, watch_);
        is_prepared_ = true;
    }

    // Moves come first, while sums are those of the labels.
    void scan() {
        for (int i = 0; i < plan_.split_merge; ++i) moves_.split_or_merge(state_);
        for (int i = 0; i < plan_.reallocate; ++i) moves_.reallocate(state_);
        items_.run(state_);
        state_.recount(model_);
        watch_.spend(static_cast<std::int64_t>(model_.n * (2 + model_.cells())));
        state_.concentration =
            draw_concentration(model_.partition, model_.n, state_.n_clusters(), state_.concentration, state_.rng);
        if (++state_.scans > plan_.n_burn || plan_.split_merge + plan_.reallocate == 0) return;
        learn_covariance(state_);
        moves_.proposal().set_covariance(state_.covariance, watch_);
    }

    // A running mean over scans. The weight of a scan grows with its number: the way from the start is forgotten, yet
    // all modes that were visited count, not only the last.
    void learn_covariance(State& state) const {
        const double rate = 2 / (static_cast<double>(state.scans) + 2);
        const int p = model_.p, q = model_.q;
        for (int x = 0; x < p; ++x)
            for (int y = 0; y < q && y <= x; ++y) {
                const int other = q == p ? y : x, at = x * q + y;
                double s = model_.prior.scale[at] / model_.prior.df;
                for (const auto& [sums, log_marginal, is_known] : state.clusters)
                    s += sums.cross[at] - sums.total[x] * sums.total[other] / sums.size;
                double& covariance = state.covariance[at];
                covariance += rate * (s / (model_.n + 1.0) - covariance);
                if (q == p) state.covariance[y * q + x] = covariance;
            }
    }

    double log_joint() {
        double value = log_partition(model_.partition, state_);
        for (int k = 0; k < state_.n_clusters(); ++k) value += state_.log_marginal(k, marginals_);
        return value;
    }

    const Model& model_;
    const Plan plan_;
    State state_;
    Watch watch_;
    Marginals marginals_;
    ItemPass items_;
    ClusterMoves moves_;
    bool is_prepared_ = false;
};

}  // namespace partita
