// The search: populations that begin with nothing, until one of them ends where those before it did.
#pragma once
#include <atomic>

#include "population.hpp"
#include "tasks.hpp"

namespace partita {

template <Objective O>
class Search {
 public:
    // pool: draws, to begin with.
    Search(const O& objective, const std::vector<Labels>& pool, const Settings& settings, Rng rng, int n_threads,
           Stop& stop)
        : pool_(pool), settings_(settings), rng_(rng), stop_(stop) {
        for (int x = 0; x < n_threads; ++x) workers_.emplace_back(objective);
    }

    // A population that begins with nothing, or with what is ``given``, too; attempts until they are in vain.
    Population grow(const std::vector<Labels>& given = {}) {
        Population found;
        const int n_given = static_cast<int>(given.size());
        add(found, run(n_given + settings_.n_starts, [&](int x, auto& attempt, Rng& rng) {
                if (x < n_given) return attempt.start(given[x], false);
                const int r = (x - n_given) % 4;
                if (r == 0 || pool_.empty()) return attempt.start(Labels(size(), 0), x > n_given);
                auto labels = any(rng);
                for (int others = 0; r == 3 && others < 2; ++others) labels = meet_of(labels, any(rng));
                return attempt.start(labels, r == 1);
            }));
        evolve(found, found.n_hits >= settings_.n_starts ? settings_.confirm : settings_.patience);
        return found;
    }

    // A population of what descents from these labels end at.
    Population descend_from(const std::vector<Labels>& labels) {
        Population found;
        add(found, run(static_cast<int>(labels.size()),
                       [&](int x, auto& attempt, Rng&) { return attempt.start(labels[x], false); }));
        return found;
    }

    // The same, each by itself, with attempts by itself, too.
    std::vector<Member> descend_each(const std::vector<Labels>& labels, bool is_anew) {
        std::vector<Member> out;
        auto ends = run(static_cast<int>(labels.size()),
                        [&](int x, auto& attempt, Rng&) { return attempt.start(labels[x], is_anew); });
        for (auto& end : ends) {
            if (!end) continue;
            Population one;
            one.add(*end, settings_);
            evolve(one, settings_.patience);
            out.push_back(one.members.front());
        }
        return out;
    }

    // Attempts, until so many in a row were in vain.
    void evolve(Population& population, int patience) {
        for (population.n_vain = 0; population.n_vain < patience && !population.members.empty() && !stop_.is_up();) {
            auto ends = run(settings_.batch, [&](int, auto& attempt, Rng&) { return attempt.improve(population); });
            for (auto& end : ends) {
                ++population.n_vain;
                if (end) population.add(*end, settings_);
            }
        }
    }

    // Populations, until one of them ends where those before it did. ``begin(x)`` makes the x-th of them.
    template <class Begin>
    Population meet(Begin begin) {
        auto all = begin(0);
        for (int x = 1; x < settings_.n_populations && !stop_.is_up(); ++x) {
            const auto one = begin(x);
            if (one.members.empty() || all.members.empty()) break;
            const bool have_met = one.members.front().labels == all.members.front().labels;
            for (const auto& member : one.members) all.add(member, settings_);
            evolve(all, have_met ? settings_.confirm : settings_.late);
            if (have_met) break;
        }
        return all;
    }

 private:
    int size() const { return workers_.front().state.size(); }
    const Labels& any(Rng& rng) const { return pool_[rng.below(static_cast<int>(pool_.size()))]; }

    void add(Population& population, const std::vector<std::optional<Member>>& ends) {
        for (const auto& end : ends)
            if (end) population.add(*end, settings_);
    }

    // The least loss so far, for whoever shows how far it is.
    void tell(double value) {
        double before = best_.load();
        while (value < before && !best_.compare_exchange_weak(before, value)) {
        }
        stop_.best.store(best_.load());
    }

    // Each task has random numbers of its own, so that it does not matter which thread does it.
    template <class Task>
    std::vector<std::optional<Member>> run(int n_tasks, Task task) {
        std::vector<std::optional<Member>> ends(n_tasks);
        run_tasks(n_tasks, static_cast<int>(workers_.size()), [&](int x, int thread) {
            Rng rng = rng_.split(n_tasks_ + x);
            if (stop_.is_up() && x > 0) return;
            Attempt<O> attempt(workers_[thread], settings_, rng.split(0), stop_);
            ends[x] = task(x, attempt, rng);
            if (ends[x]) tell(ends[x]->value);
        });
        n_tasks_ += n_tasks;
        return ends;
    }

    const std::vector<Labels>& pool_;
    Settings settings_;
    Rng rng_;
    Stop& stop_;
    std::vector<Worker<O>> workers_;
    std::atomic<double> best_{std::numeric_limits<double>::infinity()};
    int n_tasks_ = 0;  // so far, which numbers their random streams
};

}  // namespace partita
