#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "engine/durations.h"

namespace belljar::access {

// How the HTTP requests since the start were answered.
struct RequestFigures {
    // By operation and HTTP status; the operations are our own, other paths are "unknown".
    std::map<std::pair<std::string, unsigned>, std::uint64_t> answered{};
    std::map<std::string, engine::Durations> times{};  // by operation
    std::uint64_t bytes_in = 0;                        // of bodies
    std::uint64_t bytes_out = 0;
    std::uint64_t rate_limited = 0;
    std::size_t connections = 0;  // now
};

// One request that was answered.
struct AnsweredRequest {
    std::string operation{};
    unsigned status = 200;
    Duration time{};
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
};

// Counts requests. On the I/O thread.
class RequestCounters {
   public:
    void count(const AnsweredRequest& request) {
        ++figures_.answered[{request.operation, request.status}];
        figures_.times[request.operation].add(request.time);
        figures_.bytes_in += request.bytes_in;
        figures_.bytes_out += request.bytes_out;
    }
    void count_rate_limited() { ++figures_.rate_limited; }
    // Asked whenever figures are wanted.
    void ask_connections(std::function<std::size_t()> connections) {
        connections_ = std::move(connections);
    }

    [[nodiscard]] RequestFigures figures() const {
        RequestFigures figures = figures_;
        figures.connections = connections_ ? connections_() : 0;
        return figures;
    }

   private:
    RequestFigures figures_;
    std::function<std::size_t()> connections_;
};

}  // namespace belljar::access
