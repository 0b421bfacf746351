// When work ends before it is done: at a deadline, or when told to. Every long loop asks `is_up` every few
// milliseconds or oftener, and ends with what it has. Ctrl-C, time limits and progress use this and nothing else.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>

namespace partita {

class Stop {
 public:
    using Clock = std::chrono::steady_clock;

    explicit Stop(double seconds = std::numeric_limits<double>::infinity()) : began_(Clock::now()), seconds_(seconds) {}

    void set() { is_set_.store(true, std::memory_order_relaxed); }
    void end_after(double seconds) { seconds_.store(seconds, std::memory_order_relaxed); }  // since it was made
    double elapsed() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

    // Whether anything was told to end; reads no clock.
    bool was_up() const { return is_set_.load(std::memory_order_relaxed); }

    // Some 30 ns, but for a call of `poll` every `kBetweenPolls` seconds.
    bool is_up() {
        if (is_set_.load(std::memory_order_relaxed)) return true;
        const double now = elapsed();
        if (now >= seconds_.load(std::memory_order_relaxed)) return set(), true;
        if (poll && now >= next_poll_.load(std::memory_order_relaxed)) {
            next_poll_.store(now + kBetweenPolls, std::memory_order_relaxed);
            poll();
        }
        return is_set_.load(std::memory_order_relaxed);
    }

    // How far the work is, for whoever shows it: set by loops, read by `poll`.
    std::atomic<double> done{0}, best{std::numeric_limits<double>::quiet_NaN()};
    std::function<void()> poll;  // looks whether a signal came, shows progress; may call `set`

 private:
    static constexpr double kBetweenPolls = 0.02;  // seconds: Ctrl-C is to be answered within 0.2

    const Clock::time_point began_;
    std::atomic<double> seconds_;
    std::atomic<bool> is_set_{false};
    std::atomic<double> next_poll_{0.02};
};

}  // namespace partita
