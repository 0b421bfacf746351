#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "arrays.hpp"
#include "mixture_chain.hpp"
#include "rooms.hpp"

namespace partita {

namespace {

using namespace nb::literals;

template <class Array>
std::vector<double> finite(const Array& array, const char* name) {
    std::vector<double> out(array.data(), array.data() + array.size());
    for (double v : out) require(std::isfinite(v), std::string(name) + " must be finite");
    return out;
}

ClusterPrior cluster_prior(const std::string& shape, double df, double mean_weight, const In<double, 1>& mean_var,
                           const In<double, 2>& scale) {
    const std::size_t p = mean_var.size();
    const bool is_full = shape == "full";
    require(is_full || shape == "diagonal" || shape == "spherical", "shape must be full, diagonal or spherical");
    require(p > 0 && scale.shape(0) == p && scale.shape(1) == (is_full ? p : 1), "scale must fit mean_var");
    require(df > (is_full ? p - 1.0 : 0.0) && df <= 1e8, "df must lie above p - 1 and at most at 1e8");
    require(mean_weight >= 0 && std::isfinite(mean_weight), "mean_weight must not be negative");
    return {is_full               ? Shape::full
            : shape == "diagonal" ? Shape::diagonal
                                  : Shape::spherical,
            df, mean_weight, finite(mean_var, "mean_var"), finite(scale, "scale")};
}

PartitionPrior partition_prior(double offset, double shape, double rate, const In<double, 1>& log_size,
                               const In<double, 1>& log_more) {
    require(offset > -1 && std::isfinite(offset), "offset must be above -1");
    require(shape >= 0 && rate >= 0 && std::isfinite(shape) && std::isfinite(rate),
            "shape and rate must not be negative");
    return {offset, shape, rate, finite(log_size, "log_size"), {log_more.data(), log_more.data() + log_more.size()}};
}

void check_labels(const Model& model, std::span<const std::int32_t> labels) {
    require(labels.size() == static_cast<std::size_t>(model.n), "labels must have one for each item");
    const auto& log_more = model.partition.log_more;
    std::vector<char> seen(model.n);
    int most = 0;
    for (int k : labels) {
        require(0 <= k && k < model.n, "a label is out of range");
        seen[k] = 1;
        most = std::max(most, k);
    }
    require(std::all_of(seen.begin(), seen.begin() + most, [](char s) { return s; }),
            "labels must leave out no cluster");
    require(log_more.empty() || most + 1 < static_cast<int>(log_more.size()), "there are too many clusters");
}

// A chain keeps the model and the stop that it was made with.
nb::dict state_of(const Chain& chain) {
    const State& state = chain.state();
    const auto words = state.rng.state();
    nb::dict out;
    out["labels"] = to_array(std::vector<std::int32_t>(state.labels));
    out["concentration"] = state.concentration;
    out["random"] = to_array(std::vector<std::uint64_t>(words.begin(), words.end()));
    out["covariance"] = to_array(std::vector<double>(state.covariance));
    out["scans"] = state.scans;
    return out;
}

void make_chain(Chain* self, const Model& model, const Plan& plan, PyStop& stop, const In<std::int32_t, 1>& labels,
                double concentration, const In<std::uint64_t, 1>& random, const In<double, 1>& covariance,
                std::int64_t scans) {
    check_labels(model, span_of(labels));
    require(concentration > 0 && std::isfinite(concentration), "concentration must be positive");
    require(random.size() == 4 && std::ranges::any_of(span_of(random), [](auto word) { return word != 0; }),
            "random must be four whole numbers, not all 0");
    require(0 <= scans && scans <= plan.n_scans, "scans must be among those of the plan");
    Rng::State words;
    std::copy_n(random.data(), 4, words.begin());
    State state(model, {labels.data(), labels.data() + labels.size()}, concentration, Rng(words));
    state.scans = scans;
    require(covariance.size() == model.cells(), "covariance must be of the model's size");
    state.covariance = finite(covariance, "covariance");
    if (scans > 0) {
        Watch watch(stop);
        require(SeedProposal(model).set_covariance(state.covariance, watch), "covariance must be positive definite");
    }
    new (self) Chain(model, plan, std::move(state), stop);
}

// `work(marginals)` without the interpreter, until `stop` is up.
template <class Work>
void with_marginals(const Model& model, PyStop& stop, Work work) {
    released(stop, [&] {
        Watch watch(stop);
        Marginals marginals(model, watch);
        try {
            work(marginals);
        } catch (const Stopped&) {
        }
    });
}

// Every draw has random numbers of its own.
nb::tuple parameters(const Model& model, const In<std::int32_t, 2>& labels, std::uint64_t seed, std::uint64_t first,
                     PyStop& stop) {
    const auto rows = matrix_of(labels);
    for (std::size_t m = 0; m < rows.rows; ++m) check_labels(model, rows.row(m));
    std::vector<std::int64_t> sizes, n_clusters;
    std::vector<double> means, roots;
    Parameters drawn(model);
    with_marginals(model, stop, [&](Marginals& marginals) {
        for (std::size_t m = 0; m < rows.rows; ++m) {
            Rng rng = Rng(seed).split(first + m);
            const auto row = rows.row(m);
            const State state(model, {row.begin(), row.end()}, 1, rng);
            n_clusters.push_back(state.n_clusters());
            for (const auto& cluster : state.clusters) {
                marginals.draw(cluster.sums, rng, drawn);
                sizes.push_back(cluster.sums.size);
                means.insert(means.end(), drawn.mean.begin(), drawn.mean.end());
                roots.insert(roots.end(), drawn.root.begin(), drawn.root.end());
            }
        }
    });
    return nb::make_tuple(to_array(std::move(n_clusters)), to_array(std::move(sizes)), to_array(std::move(means)),
                          to_array(std::move(roots)));
}

Out<double, 1> log_marginals(const Model& model, const In<double, 2>& points, PyStop& stop) {
    require(points.shape(1) == static_cast<std::size_t>(model.p), "points must have the columns of the data");
    finite(points, "points");
    std::vector<double> out(points.shape(0));
    with_marginals(model, stop, [&](Marginals& marginals) {
        for (std::size_t i = 0; i < out.size(); ++i) {
            Sums sums(model);
            sums.add(matrix_of(points).row(i).data());
            out[i] = marginals.log_marginal(sums);
        }
    });
    return to_array(std::move(out));
}

}  // namespace

void bind_mixture(nb::module_& m) {
    nb::class_<ClusterPrior>(m, "ClusterPrior", "The prior of a cluster's mean and precision.")
        .def(nb::new_(&cluster_prior), "shape"_a, "df"_a, "mean_weight"_a, "mean_var"_a, "scale"_a);
    nb::class_<PartitionPrior>(m, "PartitionPrior", "The prior of the partition and of its concentration.")
        .def(nb::new_(&partition_prior), "offset"_a, "shape"_a, "rate"_a, "log_size"_a, "log_more"_a);
    nb::class_<Plan>(m, "MixturePlan", "How long a chain runs, and what makes up a scan.")
        .def(
            nb::new_([](std::int64_t n_burn, std::int64_t n_scans, std::int64_t thin, int split_merge, int reallocate) {
                require(0 <= n_burn && n_burn <= n_scans && thin > 0, "scans must be none or more, thin 1 or more");
                require(split_merge >= 0 && reallocate >= 0, "moves must be none or more");
                return Plan{n_burn, n_scans, thin, split_merge, reallocate};
            }),
            "n_burn"_a, "n_scans"_a, "thin"_a, "split_merge"_a, "reallocate"_a);
    nb::class_<Model>(m, "MixtureModel", "Data in canonical coordinates, and the priors.")
        .def(nb::new_([](const In<double, 2>& x, const ClusterPrior& prior, const PartitionPrior& partition) {
                 finite(x, "x");
                 require(x.shape(0) > 0 && x.shape(0) < 1u << 30, "x must have rows, and fewer than 2^30");
                 require(x.shape(1) == prior.mean_var.size(), "x must have the columns of its prior");
                 require(partition.log_size.size() >= x.shape(0) + 2, "log_size must reach to n + 1");
                 nb::gil_scoped_release unlocked;
                 return Model(matrix_of(x), prior, partition);
             }),
             "x"_a, "prior"_a, "partition"_a);
    nb::class_<Chain>(m, "MixtureChain", "A chain of the sampler, begun or taken up again.")
        .def("__init__", &make_chain, nb::keep_alive<1, 2>(), nb::keep_alive<1, 4>(), "model"_a, "plan"_a, "stop"_a,
             "labels"_a, "concentration"_a, "random"_a, "covariance"_a, "scans"_a = 0)
        .def(
            "advance",
            [](Chain& self, const InOut<std::uint32_t, 2>& labels, const InOut<double, 2>& traces, double seconds) {
                require(labels.shape(1) == self.state().labels.size(), "labels must have a column for each item");
                require(traces.shape(0) >= labels.shape(0) && traces.shape(1) == 3, "traces must have three columns");
                nb::gil_scoped_release unlocked;
                return self.advance(matrix_of(labels), matrix_of(traces), seconds);
            },
            "labels"_a, "traces"_a, "seconds"_a,
            "Run scans until all are done, the rows are full, so many seconds are over or the stop is up; how many "
            "rows "
            "were written.")
        .def_prop_ro("state", &state_of, "What a chain between two scans needs to go on.")
        .def_prop_ro("scans", [](const Chain& self) { return self.state().scans; })
        .def_prop_ro("n_clusters", [](const Chain& self) { return self.state().n_clusters(); });
    m.def("mixture_parameters", &parameters, "model"_a, "labels"_a, "seed"_a, "first"_a, "stop"_a,
          "Clusters of each draw, numbered by appearance; sizes, means and precision roots of all of them.");
    m.def("mixture_log_marginals", &log_marginals, "model"_a, "points"_a, "stop"_a,
          "Log marginal densities of points, each in a cluster of its own.");
}

}  // namespace partita
