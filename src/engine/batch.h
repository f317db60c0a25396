#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/executor.h"
#include "execution/request.h"
#include "execution/result.h"

namespace belljar::engine {

// Many runs asked for in one call.
struct Batch {
    enum class OnFailure { GoOn, Stop };

    std::vector<Result<execution::RunRequest>> runs{};  // what could not be read has its error here
    OnFailure on_failure = OnFailure::GoOn;
    std::optional<std::size_t> parallel{};  // at once; the server may do fewer
};

inline constexpr std::size_t kLongestBatch = 64;

// The arguments of `execute_batch` and the body of `POST /v1/runs:batch`. An element that is wrong
// is an error in its place; what is wrong with the whole is an error here.
[[nodiscard]] Result<Batch> parse_batch_arguments(const json::object& arguments);

// Not begun, because one before it failed or the caller went away.
struct Skipped {};

using BatchElement = std::variant<execution::RunResult, Error, Skipped>;

// What became of each, in the order they were asked for.
using BatchResult = std::vector<BatchElement>;

// Runs them within the principal's share: few are under way at once, and one that finds every
// queue full is tried again, so that none fails for lack of room that comes within a minute. If one
// fails and the batch is to stop, what is before it goes on, what is behind it is cancelled or
// skipped. `on_progress` is told how many are over each time one more is.
Task<BatchResult> run_batch(Executor* executor, Batch batch, std::string principal,
                            CancellationPtr cancellation,
                            std::function<void(std::size_t)> on_progress);

[[nodiscard]] json::object to_json(const BatchResult& result);
[[nodiscard]] bool succeeded(const BatchElement& element);
[[nodiscard]] bool succeeded(const BatchResult& result);

}  // namespace belljar::engine
