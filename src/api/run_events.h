#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "access/response_stream.h"
#include "base/error.h"
#include "base/utf8_stream.h"
#include "engine/run_watch.h"
#include "execution/result.h"

namespace belljar::api {

// One run as server-sent events, in this order:
//   started  {"execution_id", "language"}
//   stdout, stderr  {"text"}: whole characters, as the program writes them
//   dropped  {"stdout_bytes", "stderr_bytes"}: what was left out here because the client reads
//            slowly; the result is complete all the same
//   result   the record of the run, or error {"error", "status"}: always the last one
// Writes into the stream; outlives the run that it watches.
class RunEvents {
   public:
    explicit RunEvents(access::ResponseStreamPtr stream) : stream_(std::move(stream)) {}
    RunEvents(const RunEvents&) = delete;
    RunEvents& operator=(const RunEvents&) = delete;

    [[nodiscard]] engine::RunWatch watch();
    void finish(const execution::RunResult& result);
    void fail(const Error& error);

   private:
    struct Channel {
        Utf8Stream characters{};
        std::uint64_t dropped = 0;  // not told yet
    };

    void start(const engine::RunStart& begun);
    void show(engine::OutputStream stream, std::string_view text);
    void show_rest();
    bool tell_dropped();
    [[nodiscard]] bool has_dropped() const;
    [[nodiscard]] std::string dropped_event();
    [[nodiscard]] std::string event(std::string_view name, std::string data);
    [[nodiscard]] Channel& channel_of(engine::OutputStream stream);

    access::ResponseStreamPtr stream_;
    std::array<Channel, 2> channels_;
    std::uint64_t events_ = 0;  // the last one's id; those left out have one, too
};

}  // namespace belljar::api
