// Work on several threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace partita {

// Tasks 0, ..., n - 1 on several threads, each told which thread it is on. What a task throws is thrown here;
// where the system has no thread left, those that there are do all the work.
template <class Task>
void run_tasks(int n_tasks, int n_threads, Task task) {
    std::atomic<int> next = 0;
    std::exception_ptr thrown;
    std::mutex lock;
    auto work = [&](int thread) {
        try {
            for (int x; (x = next.fetch_add(1)) < n_tasks;) task(x, thread);
        } catch (...) {
            next = n_tasks;
            const std::scoped_lock held(lock);
            thrown = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> others;
        try {
            for (int thread = 1; thread < std::min(n_threads, n_tasks); ++thread) others.emplace_back(work, thread);
        } catch (const std::system_error&) {
        }
        work(0);
    }
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace partita
