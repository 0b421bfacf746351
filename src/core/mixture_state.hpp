// Where a chain stands. Clusters are numbered without gaps; between scans by their first appearance among the items.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "mixture_marginal.hpp"
#include "mixture_model.hpp"
#include "random.hpp"

namespace partita {

struct Cluster {
    Sums sums;
    double log_marginal = 0;  // log m(S) if `is_known`
    bool is_known = false;
};

// `labels`, `concentration`, `rng`, `covariance` and `scans` are all that a run needs to go on: the rest follows.
struct State {
    State(const Model& model, std::vector<int> start, double at, const Rng& random)
        : labels(std::move(start)), concentration(at), rng(random), covariance(model.cells()) {
        recount(model);
    }

    int n_clusters() const { return static_cast<int>(clusters.size()); }
    int open(const Model& model) {
        clusters.push_back({Sums(model)});
        return n_clusters() - 1;
    }
    // The last cluster takes the number k.
    void close(int k) {
        const int last = n_clusters() - 1;
        if (k != last) {
            for (int& label : labels) label = label == last ? k : label;
            clusters[k] = std::move(clusters[last]);
        }
        clusters.pop_back();
    }

    // Number clusters by appearance and add up their items: sums then depend on the labels alone.
    void recount(const Model& model) {
        std::vector<int> number(model.n, -1);
        int following = 0;
        for (int i = 0; i < model.n; ++i) {
            int& k = number[labels[i]];
            if (k < 0) {
                k = following++;
                if (k == n_clusters()) open(model);
                clusters[k].sums.clear();
                clusters[k].is_known = false;
            }
            labels[i] = k;
            clusters[k].sums.add(model.item(i));
        }
        clusters.erase(clusters.begin() + following, clusters.end());
    }

    double log_marginal(int k, Marginals& marginals) {
        auto& cluster = clusters[k];
        if (!cluster.is_known) cluster.log_marginal = marginals.log_marginal(cluster.sums);
        cluster.is_known = true;
        return cluster.log_marginal;
    }

    std::vector<int> labels;
    double concentration;
    Rng rng;
    std::vector<double> covariance;  // (p, q) within clusters, a mean over the scans of burn-in: what guides proposals
    std::int64_t scans = 0;
    std::vector<Cluster> clusters;
};

}  // namespace partita
