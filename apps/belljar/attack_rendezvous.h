#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "engine/guest_io.h"

namespace belljar::apps {

// Lets guests in different jars wait for each other. Each prints "ready" and reads a line; once
// all are ready, each gets "go". On the I/O thread only; outlives the runs that it joins.
class Rendezvous {
   public:
    Rendezvous(std::size_t expected, std::function<void()> when_all_ready)
        : expected_(expected), when_all_ready_(std::move(when_all_ready)) {}

    // The streams for one more guest.
    Result<engine::LiveStreams> join();
    // Whoever still waits reads the end of its input: nobody is coming any more.
    void give_up() { write_ends_.clear(); }

   private:
    void hear(std::size_t guest, std::string_view data);

    std::size_t expected_;
    std::function<void()> when_all_ready_;
    std::vector<Fd> write_ends_;
    std::vector<std::string> heard_;  // by guest, until it is ready
    std::size_t ready_ = 0;
};

}  // namespace belljar::apps
