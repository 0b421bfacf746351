// What a search is given, made ready: distinct draws, samples of them, the similarity of items.
#pragma once
#include <memory>
#include <span>
#include <unordered_map>

#include "matrix.hpp"
#include "objective_draws.hpp"
#include "objective_similarity.hpp"
#include "search.hpp"

namespace partita {

// Draws that are the same partition are one, of their weights together.
struct DistinctDraws {
    std::vector<Labels> labels;  // canonical
    std::vector<double> p;
    int size() const { return static_cast<int>(p.size()); }
};

template <class T>
DistinctDraws distinct(Matrix<const T> labels, std::span<const double> weights) {
    DistinctDraws out;
    std::unordered_multimap<std::uint64_t, int> seen;
    double total = 0;
    for (std::size_t m = 0; m < labels.rows; ++m) {
        total += weights[m];
        if (weights[m] <= 0) continue;
        Labels row(labels.row(m).begin(), labels.row(m).end());
        canonicalise(row);
        std::uint64_t key = 0;
        for (auto x : row) {
            key = (key ^ static_cast<std::uint64_t>(x)) * 0x9E3779B97F4A7C15u;
            key ^= key >> 29;
        }
        const auto [begin, end] = seen.equal_range(key);
        const auto known = std::find_if(begin, end, [&](const auto& x) { return out.labels[x.second] == row; });
        if (known != end) {
            out.p[known->second] += weights[m];
            continue;
        }
        seen.emplace(key, out.size());
        out.labels.push_back(std::move(row));
        out.p.push_back(weights[m]);
    }
    for (auto& p : out.p) p /= total;
    return out;
}

// A systematic sample of so many draws, the ``part`` of several that have none in common where draws are distinct:
// (draw, how often), heavy ones as often as they should be.
inline std::vector<std::pair<int, int>> sample(const DistinctDraws& draws, int most, int part = 0, int n_parts = 1) {
    std::vector<std::pair<int, int>> out;
    double before = 0;
    for (int m = 0, done = 0; m < draws.size(); ++m) {
        before += draws.p[m];
        const int upto = std::min(most, static_cast<int>(before * most + (0.5 + part) / n_parts));
        if (upto > done) out.emplace_back(m, upto - done);
        done = upto;
    }
    return out;
}

// like[i][y]: the probability that items i and y are together.
template <class Row>
std::vector<float> similarity_of(int n, int n_draws, const std::vector<float>& p, int n_threads, Row row) {
    std::vector<float> like(std::size_t(n) * n);
    constexpr int kRows = 16;
    run_tasks((n + kRows - 1) / kRows, n_threads, [&](int strip, int) {
        for (int i = strip * kRows; i < std::min(n, (strip + 1) * kRows); ++i)
            for (int y = 0; y <= i; ++y)
                like[std::size_t(i) * n + y] = like[std::size_t(y) * n + i] =
                    search_kernels().weigh_equal(row(i), row(y), p.data(), n_draws);
    });
    return like;
}

// Draws as rows of counts, and items as what moves. ``chosen``: (draw, weight).
inline OnDraws on_draws(const DistinctDraws& all, const std::vector<std::pair<int, double>>& chosen,
                        const std::vector<int>& item_weights, const std::shared_ptr<const Loss>& loss, Limits limits,
                        const Settings& settings, int n_threads) {
    const std::size_t n_draws = chosen.size(), n = item_weights.size();
    auto draws = std::make_shared<DrawRows>();
    auto items = std::make_shared<Blocks>();
    items->weight = item_weights;
    items->rows.resize(n * n_draws);
    for (std::size_t i = 0; i <= n; ++i) items->first.push_back(i * n_draws);
    for (std::size_t m = 0; m < n_draws; ++m) {
        const auto& row = all.labels[chosen[m].first];
        std::vector<int> count(count_labels(row));
        const auto base = static_cast<std::uint32_t>(draws->n_rows());
        for (std::size_t i = 0; i < n; ++i) {
            count[row[i]] += item_weights[i];
            items->rows[i * n_draws + m] = base + row[i];
        }
        double t = 0;
        for (int c : count) t += loss->cell[c];
        draws->t.push_back(t);
        draws->p.push_back(chosen[m].second);
        draws->draw_of.resize(base + count.size(), static_cast<std::uint32_t>(m));
    }
    const std::vector<float> p(draws->p.begin(), draws->p.end());
    const auto* rows = items->rows.data();
    items->like = similarity_of(static_cast<int>(n), static_cast<int>(n_draws), p, n_threads,
                                [&](int i) { return rows + i * n_draws; });
    if (std::any_of(item_weights.begin(), item_weights.end(), [](int w) { return w != 1; })) {
        for (std::size_t i = 0; i < n; ++i) {
            items->sizes.insert(items->sizes.end(), n_draws, static_cast<Count>(item_weights[i]));
            for (std::size_t y = 0; y < n; ++y)
                items->like[i * n + y] *= float(item_weights[i]) * float(item_weights[y]);
        }
    }
    return OnDraws(draws, loss, items, limits, settings);
}

// What is searched: draws or a similarity, items that may stand for several, a loss, how many clusters are allowed.
struct Problem {
    DistinctDraws draws;            // none if only the similarity is known
    std::vector<float> similarity;  // n x n, empty if the draws are to say
    std::vector<int> item_weights;
    std::shared_ptr<const Loss> loss;
    bool is_on_similarity = false;
    Limits limits;

    int size() const { return static_cast<int>(item_weights.size()); }
};

inline std::shared_ptr<const Likeness> likeness_of(const Problem& problem, int n_threads) {
    auto items = std::make_shared<Likeness>();
    items->weight = problem.item_weights;
    const std::size_t n = problem.size(), n_draws = problem.draws.size();
    items->like = problem.similarity;
    if (items->like.empty()) {
        std::vector<std::uint32_t> rows(n * n_draws);
        for (std::size_t m = 0; m < n_draws; ++m)
            for (std::size_t i = 0; i < n; ++i) rows[i * n_draws + m] = problem.draws.labels[m][i];
        const std::vector<float> p(problem.draws.p.begin(), problem.draws.p.end());
        items->like = similarity_of(static_cast<int>(n), static_cast<int>(n_draws), p, n_threads,
                                    [&](int i) { return rows.data() + i * n_draws; });
    }
    // each draw's sum of cell, the mean over draws having moved inside
    const auto& cell = problem.loss->cell;
    const bool are_pairs = is_on_pairs(*problem.loss);
    for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::size_t y = 0; y < n; ++y) sum += double(items->like[i * n + y]) * items->weight[y];
        const double pairs = cell.size() > 2 ? cell[2] / 2 - cell[1] : 0;
        items->t += items->weight[i] * (are_pairs ? cell[1] + pairs * (sum - 1) : log2(sum));
    }
    return items;
}

// ``work(objective)`` on the similarity, or on all draws.
template <class Work>
auto on_all(const Problem& problem, const Settings& settings, int n_threads, Work work) {
    if (problem.is_on_similarity) {
        const auto items = likeness_of(problem, n_threads);
        if (is_on_pairs(*problem.loss)) return work(OnPairs(items, problem.loss, problem.limits));
        return work(OnLogs(items, problem.loss, problem.limits));
    }
    std::vector<std::pair<int, double>> all;
    all.reserve(problem.draws.size());
    for (int m = 0; m < problem.draws.size(); ++m) all.emplace_back(m, problem.draws.p[m]);
    return work(on_draws(problem.draws, all, problem.item_weights, problem.loss, problem.limits, settings, n_threads));
}

// The whole search. Of many draws each population is grown on a sample of its own, and its best descend on all.
inline Population search(const Problem& problem, const std::vector<Labels>& given, const Settings& settings, Rng rng,
                         int n_threads, Stop& stop) {
    const auto& pool = problem.draws.labels;
    const int few = settings.sampled;
    const bool has_many = !problem.is_on_similarity && problem.draws.size() / 2 > few;
    auto best_on_sample = [&](int part) {
        std::vector<std::pair<int, double>> chosen;
        for (const auto& [m, times] : sample(problem.draws, few, part, settings.n_populations))
            chosen.emplace_back(m, double(times) / few);
        Search some(
            on_draws(problem.draws, chosen, problem.item_weights, problem.loss, problem.limits, settings, n_threads),
            pool, settings, rng.split(1 + part), n_threads, stop);
        std::vector<Labels> best;
        for (const auto& member : some.grow().members) best.push_back(member.labels);
        return best;
    };
    return on_all(problem, settings, n_threads, [&](const auto& objective) {
        Search all(objective, pool, settings, rng.split(0), n_threads, stop);
        return all.meet([&](int part) {
            auto found = has_many ? all.take(best_on_sample(part)) : all.grow();
            if (part == 0) all.join(found, all.take(given));
            return found;
        });
    });
}

// Descents from given labels, or from all items allocated anew with these labels' slopes; each goes on with
// ``settings.patience`` attempts in vain, by itself.
inline std::vector<Member> descend_each(const Problem& problem, const std::vector<Labels>& starts, bool is_anew,
                                        const Settings& settings, Rng rng, int n_threads, Stop& stop) {
    return on_all(problem, settings, n_threads, [&](const auto& objective) {
        return Search(objective, problem.draws.labels, settings, rng, n_threads, stop).descend_each(starts, is_anew);
    });
}

// Items that are in no cluster are put where the loss is least, each into a cluster of its own, all into one, or
// anywhere at random, and then moved, in several orders, until none moves; the others stay. The best of that.
inline Member complete(const Problem& problem, const Labels& partial, int n_orders, Rng rng, int n_threads,
                       Stop& stop) {
    std::vector<int> free;
    for (int i = 0; i < problem.size(); ++i)
        if (partial[i] < 0) free.push_back(i);
    return on_all(problem, Settings(), n_threads, [&](auto state) {
        Member best{{}, std::numeric_limits<double>::infinity()};
        for (int x = 0; x < n_orders && (x == 0 || !stop.is_up()); ++x) {
            auto start = partial;
            rng.shuffle(free);
            for (int next = count_labels(partial); int i : free) {
                if (x % 4 == 1) start[i] = next++;
                if (x % 4 == 2) start[i] = next;
                if (x % 4 == 3) start[i] = rng.below(next + 2);
            }
            state.load(start);
            Stop never;
            if (x % 4 == 0) allocate(state, free, x == 0 ? never : stop);
            state.settle();
            sweep(state, free, stop);
            if (state.value() < best.value) best = {state.labels(), state.value()};
        }
        canonicalise(best.labels);
        return best;
    });
}

}  // namespace partita
