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

    // A population that begins with nothing. Attempts, of which a batch is enough if all starts ended at one partition.
    Population grow() {
        auto found = gather(settings_.n_starts, [&](int x, auto& attempt, Rng& rng) {
            if (x % 4 == 0 || pool_.empty()) return attempt.start(Labels(size(), 0), x > 0);
            auto labels = any(rng);
            for (int others = 0; x % 4 == 3 && others < 2; ++others) labels = meet_of(labels, any(rng));
            return attempt.start(labels, x % 4 == 1);
        });
        evolve(found, found.members.size() == 1 ? settings_.batch : settings_.patience);
        return found;
    }

    // A population of these labels as they are, and of where a descent from the best of them ends.
    Population take(const std::vector<Labels>& labels) {
        auto found = gather(static_cast<int>(labels.size()),
                            [&](int x, auto& attempt, Rng&) { return attempt.take(labels[x]); });
        if (!found.is_empty())
            join(found, gather(1, [&](int, auto& attempt, Rng&) {
                     return attempt.start(found.members.front().labels, false);
                 }));
        return found;
    }

    // Where a descent from each of these labels ends, and then attempts, each by itself.
    std::vector<Member> descend_each(const std::vector<Labels>& labels, bool is_anew) {
        std::vector<Member> out;
        auto ends = run(static_cast<int>(labels.size()),
                        [&](int x, auto& attempt, Rng&) { return attempt.start(labels[x], is_anew); });
        for (auto& end : ends) {
            if (!end) continue;
            Population one;
            one.add(*end, settings_.n_members);
            evolve(one, settings_.patience);
            out.push_back(one.members.front());
        }
        return out;
    }

    // Attempts, until so many in a row were in vain.
    void evolve(Population& population, int patience) {
        for (int n_vain = 0; n_vain < patience && !population.is_empty() && !stop_.is_up();) {
            const double before = population.least();
            join(population,
                 gather(settings_.batch, [&](int, auto& attempt, Rng&) { return attempt.improve(population); }));
            n_vain = is_near(population.least(), before) ? n_vain + settings_.batch : 0;
        }
    }

    // Populations, joined, until one of them ended where those before it did. ``begin(x)`` makes the x-th of them.
    template <class Begin>
    Population meet(Begin begin) {
        auto all = begin(0);
        for (int x = 1; x < settings_.n_populations && !stop_.is_up(); ++x) {
            const auto one = begin(x);
            const bool have_met = is_near(one.least(), all.least());
            join(all, one);
            evolve(all, have_met ? settings_.batch : settings_.late);
            if (have_met) break;
        }
        return all;
    }

    void join(Population& population, const Population& other) const {
        for (const auto& member : other.members) population.add(member, settings_.n_members);
    }

 private:
    int size() const { return workers_.front().state.size(); }
    const Labels& any(Rng& rng) const { return pool_[rng.below(static_cast<int>(pool_.size()))]; }

    template <class Task>
    Population gather(int n_tasks, Task task) {
        Population found;
        for (const auto& end : run(n_tasks, task))
            if (end) found.add(*end, settings_.n_members);
        return found;
    }

    bool is_near(double one, double other) const {
        return std::abs(one - other) <= std::max(kLeast, settings_.worth * std::abs(other));
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
