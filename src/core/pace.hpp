// A stop that is asked by the amount of work: loops count steps of a few nanoseconds, and the clock is read about
// every millisecond.
#pragma once
#include <cstddef>

#include "stop.hpp"

namespace partita {

class Pace {
 public:
    explicit Pace(Stop& stop) : stop_(stop) {}

    bool is_up(std::size_t steps) {
        done_ += steps;
        if (done_ < kSteps) return false;
        done_ = 0;
        return stop_.is_up();
    }

 private:
    static constexpr std::size_t kSteps = 200'000;

    Stop& stop_;
    std::size_t done_ = kSteps;  // so that the first question is answered by the clock
};

}  // namespace partita
