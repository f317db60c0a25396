#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "execution/conversation.h"
#include "execution/result.h"

namespace belljar::execution {

enum class RunState { Queued, Running, Ended };

[[nodiscard]] std::string_view name_of(RunState state);
[[nodiscard]] std::optional<RunState> parse_run_state(std::string_view name);

// What is remembered of a run, without its result.
struct RunView {
    std::string execution_id{};
    std::string principal{};
    std::optional<std::string> conversation_id{};
    std::optional<std::string> session_id{};
    std::string language{};
    RunState state = RunState::Queued;
    std::optional<Status> status{};        // of one that ended and has a result
    std::optional<std::string> failure{};  // why one that ended has none
    std::optional<int> exit_code{};
    WallTime created{};
    std::optional<WallTime> started{};
    std::optional<WallTime> ended{};
    Usage usage{};  // of one that ended
    std::uint64_t output_bytes = 0;
    std::uint64_t denials = 0;
    std::string code_sha256{};
    std::uint64_t code_bytes = 0;
    std::string grade{};                 // of the isolation
    std::optional<std::string> label{};  // "user" of the request, as the caller says
    std::optional<std::string> trace{};  // id of the caller's trace

    [[nodiscard]] bool success() const { return status == Status::Ok; }
};

struct RunRecord {
    RunView view{};
    // The result record as JSON, as it was answered; a long one has its streams and outputs
    // shortened, and says so. Nothing before the end, and where there is none.
    std::optional<std::string> result{};
};

// Which runs are meant.
struct RunQuery {
    std::optional<std::string> principal{};  // nothing: everybody's
    std::optional<RunState> state{};
    std::optional<Status> status{};
    std::optional<std::string> language{};
    std::optional<std::string> conversation_id{};
    std::optional<std::string> session_id{};
    std::optional<WallTime> since{};  // created then or later
    std::optional<WallTime> until{};  // created before
    std::string after{};              // `next` of the page before; empty: the first page
    std::size_t limit = 50;
};

struct RunPage {
    std::vector<RunView> runs{};  // newest first
    std::string next{};           // empty: there are no more
};

}  // namespace belljar::execution
