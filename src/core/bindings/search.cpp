// The search for partitions of least expected loss, as Python sees it.
//
//   problem = _core.SearchProblem(cell, numerator, denominator,   # the loss: n + 1 values, 7 and 7 coefficients
//                                 labels=None, weights=None,      # draws: (M, n) uint8, uint16 or uint32; (M,) >= 0
//                                 similarity=None,                # or (n, n) doubles
//                                 item_weights=None,              # (n,): how many items each one stands for
//                                 on_similarity=False,            # whether the loss is on the similarity alone
//                                 least_clusters=1, most_clusters=n)
//   problem.search(settings, seed, n_threads, stop, starts=None)           -> [(labels, loss), ...], best first
//   problem.descend(starts, settings, seed, n_threads, stop, anew=False)   -> the same, one a start, in order
//
// Settings are those of settings.hpp by name, and "effort", by which patience and late are multiplied. `search` is the
// whole search, whose answer is no worse than any row of `starts`. `descend` is one run from each start: a descent,
// after all items were put in one by one if `anew`, then attempts until settings["patience"] of them were in vain. The
// literature's algorithms are `descend` with settings of their own (search/greedy.py).
// When the stop is set, a search ends within milliseconds with what it has; Ctrl-C is raised by stop.rethrow() then.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "evidence.hpp"
#include "rooms.hpp"

namespace partita {

namespace {

constexpr int kMostThreads = 64;  // each has tables of its own

using AnyLabels = Aligned<nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>, true>;

Settings settings_of(const nb::dict& given) {
    Settings s;
    std::size_t known = 0;
    auto get = [&](const char* name, auto& to) {
        if (!given.contains(name)) return;
        to = nb::cast<std::decay_t<decltype(to)>>(given[name]);
        ++known;
    };
    get("n_starts", s.n_starts), get("n_members", s.n_members), get("batch", s.batch);
    get("recombined", s.recombined), get("joined", s.joined), get("patience", s.patience), get("late", s.late);
    get("n_populations", s.n_populations), get("sampled", s.sampled), get("worth", s.worth);
    get("n_looked", s.n_looked), get("merges", s.merges);
    double effort = 1;
    get("effort", effort);
    require(effort > 0, "settings: effort must be above 0.");
    for (int* work : {&s.patience, &s.late}) *work = static_cast<int>(std::ceil(std::min(1e6, *work * effort)));
    require(known == given.size(), "settings: one of the names is not known.");
    require(s.n_members >= 1 && s.n_starts >= 1 && s.batch >= 1 && s.sampled >= 1,
            "settings: numbers of members, starts and draws must be at least 1.");
    return s;
}

template <class T>
DistinctDraws read(const AnyLabels& labels, std::span<const double> weights) {
    const Matrix<const T> rows{static_cast<const T*>(labels.data()), labels.shape(0), labels.shape(1)};
    for (std::size_t x = 0; x < rows.size(); ++x)
        require(rows.data[x] < 0x7fffffff && rows.data[x] <= 4 * rows.cols + 65535,
                "labels must be numbers of clusters, from 0.");
    return distinct(rows, weights);
}

DistinctDraws draws_of(const AnyLabels& labels, const std::optional<std::vector<double>>& weights) {
    const auto given = weights ? *weights : std::vector<double>(labels.shape(0), 1.0);
    require(given.size() == labels.shape(0) && labels.shape(0) > 0,
            "weights: one for each draw, of which there must be some.");
    double total = 0;
    for (double w : given) {
        require(w >= 0, "weights must not be negative.");
        total += w;
    }
    require(total > 0 && total < std::numeric_limits<double>::infinity(), "weights must have a sum above 0.");
    if (labels.dtype() == nb::dtype<std::uint8_t>()) return read<std::uint8_t>(labels, given);
    if (labels.dtype() == nb::dtype<std::uint16_t>()) return read<std::uint16_t>(labels, given);
    require(labels.dtype() == nb::dtype<std::uint32_t>(), "labels must be uint8, uint16 or uint32.");
    return read<std::uint32_t>(labels, given);
}

void init(Problem* self, std::vector<double> cell, const Coefficients& numerator, const Coefficients& denominator,
          std::optional<AnyLabels> labels, const std::optional<std::vector<double>>& weights,
          std::optional<In<double, 2>> similarity, std::optional<std::vector<int>> item_weights, bool on_similarity,
          int least, std::optional<int> most) {
    require(labels || (similarity && on_similarity), "labels or, for a loss on it, a similarity must be given.");
    require(cell.size() >= 2, "cell must have n + 1 values.");
    const std::size_t n = labels ? labels->shape(1) : similarity->shape(0);
    require(n >= 1, "there must be items.");
    Problem problem;
    problem.item_weights = item_weights ? *item_weights : std::vector<int>(n, 1);
    require(problem.item_weights.size() == n, "item_weights: one for each item.");
    std::int64_t total = 0;
    for (int w : problem.item_weights) {
        require(w >= 1, "item_weights must be at least 1.");
        total += w;
    }
    require(static_cast<std::int64_t>(cell.size()) == total + 1, "cell must have a value for 0 to n items.");
    if (similarity) {
        require(similarity->shape(0) == n && similarity->shape(1) == n, "similarity must be n x n.");
        problem.similarity.assign(similarity->data(), similarity->data() + n * n);
    }
    problem.is_on_similarity = on_similarity;
    problem.limits = {least, most.value_or(static_cast<int>(n))};
    require(least >= 1 && problem.limits.most >= least && static_cast<std::size_t>(least) <= n,
            "clusters: at least 1, at most as many as there are items, and the least not above the most.");
    if (labels) {
        nb::gil_scoped_release released;
        problem.draws = draws_of(*labels, weights);
    }
    problem.loss = std::make_shared<const Loss>(std::move(cell), numerator, denominator);
    new (self) Problem(std::move(problem));
}

std::vector<Labels> starts_of(const Problem& problem, const std::optional<In<std::int32_t, 2>>& starts) {
    std::vector<Labels> out;
    if (!starts) return out;
    require(starts->shape(1) == static_cast<std::size_t>(problem.size()),
            "starts must be of as many items as the draws.");
    for (std::size_t s = 0; s < starts->shape(0); ++s) {
        const auto* row = starts->data() + s * starts->shape(1);
        out.emplace_back(row, row + starts->shape(1));
        for (auto x : out.back())
            require(x >= 0 && x <= 4 * problem.size() + 65535, "starts must be numbers of clusters, from 0.");
        canonicalise(out.back());
    }
    return out;
}

nb::list to_list(std::vector<Member>&& members) {
    nb::list out;
    for (auto& one : members) out.append(nb::make_tuple(to_array(std::move(one.labels)), one.value));
    return out;
}

nb::list run(const Problem& problem, const nb::dict& settings, std::uint64_t seed, int n_threads, PyStop& stop,
             const std::optional<In<std::int32_t, 2>>& starts) {
    const auto given = starts_of(problem, starts);
    const auto how = settings_of(settings);
    std::vector<Member> found;
    {
        nb::gil_scoped_release released;
        found = search(problem, given, how, Rng(seed), std::clamp(n_threads, 1, kMostThreads), stop).members;
    }
    return to_list(std::move(found));
}

nb::list descend_from(const Problem& problem, In<std::int32_t, 2> starts, const nb::dict& settings, std::uint64_t seed,
                      int n_threads, PyStop& stop, bool anew) {
    const auto given = starts_of(problem, starts);
    const auto how = settings_of(settings);
    std::vector<Member> found;
    {
        nb::gil_scoped_release released;
        found = descend_each(problem, given, anew, how, Rng(seed), std::clamp(n_threads, 1, kMostThreads), stop);
    }
    return to_list(std::move(found));
}

std::tuple<Out<std::int32_t, 1>, double> complete_from(const Problem& problem, const In<std::int32_t, 1>& partial,
                                                       int n_orders, std::uint64_t seed, int n_threads, PyStop& stop) {
    const Labels given(partial.data(), partial.data() + partial.shape(0));
    require(static_cast<int>(given.size()) == problem.size(), "partial must have a label for each item.");
    for (auto x : given) require(x >= -1 && x < problem.size(), "labels must be -1 or numbers of clusters.");
    require(n_orders >= 1 && n_orders <= 1000, "n_orders must be from 1 to 1000.");
    Member found;
    {
        nb::gil_scoped_release released;
        found = complete(problem, given, n_orders, Rng(seed), std::clamp(n_threads, 1, kMostThreads), stop);
    }
    return {to_array(std::move(found.labels)), found.value};
}

}  // namespace

void bind_search(nb::module_& m) {
    nb::class_<Problem>(m, "SearchProblem", "Draws or a similarity, a loss, and how many clusters are allowed.")
        .def("__init__", &init, nb::arg("cell"), nb::arg("numerator"), nb::arg("denominator"),
             nb::arg("labels") = nb::none(), nb::arg("weights") = nb::none(), nb::arg("similarity") = nb::none(),
             nb::arg("item_weights") = nb::none(), nb::arg("on_similarity") = false, nb::arg("least_clusters") = 1,
             nb::arg("most_clusters") = nb::none())
        .def("search", &run, nb::arg("settings"), nb::arg("seed"), nb::arg("n_threads"), nb::arg("stop"),
             nb::arg("starts") = nb::none(), "Partitions of least expected loss that were found, and their losses.")
        .def("descend", &descend_from, nb::arg("starts"), nb::arg("settings"), nb::arg("seed"), nb::arg("n_threads"),
             nb::arg("stop"), nb::arg("anew") = false, "Where a descent from each start ends, and its loss.")
        .def("complete", &complete_from, nb::arg("partial"), nb::arg("n_orders"), nb::arg("seed"), nb::arg("n_threads"),
             nb::arg("stop"), "Place the items whose label is -1; the labels and their loss.");
}

}  // namespace partita
