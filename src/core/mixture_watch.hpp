// When the sampler ends before it is done.
#pragma once
#include <cstdint>

#include "stop.hpp"

namespace partita {

struct Stopped {};

// Looks at a Stop every half millisecond or so of work, and throws Stopped when it is up.
class Watch {
 public:
    explicit Watch(Stop& stop) : stop_(stop) {}

    void spend(std::int64_t nanoseconds) {
        if ((spent_ += nanoseconds) < 500'000) return;
        spent_ = 0;
        if (stop_.is_up()) throw Stopped{};
    }

 private:
    Stop& stop_;
    std::int64_t spent_ = 0;
};

}  // namespace partita
