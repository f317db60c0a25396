#include "engine/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <map>

#include "base/utf8.h"
#include "engine/run_arguments.h"
#include "execution/error_wire.h"
#include "outcome/result_json.h"

namespace belljar::engine {
namespace {

using execution::RunRequest;
using execution::RunResult;

// Of the output of all runs together in the results.
constexpr Bytes kOutputOfAll = mebibytes(16);
// What policy refuses as a mistake is left to it.
constexpr Bytes kLargestOutput = gibibytes(1);

// How often a run is tried that finds every queue full, and how long to wait between.
constexpr int kMostTries = 20;
constexpr std::chrono::seconds kShortestPause{1};
constexpr std::chrono::seconds kLongestPause{5};
// Who is told to come back later than this has not only found a queue full.
constexpr std::chrono::seconds kLongestLack{60};

std::unexpected<Error> invalid(std::string message) {
    return fail(ErrorCode::InvalidArgument, std::move(message));
}

Result<std::vector<Result<RunRequest>>> read_runs(const json::value& value) {
    const json::array* elements = value.if_array();
    if (elements == nullptr || elements->empty() || elements->size() > kLongestBatch) {
        return invalid(fmt::format(
            "\"runs\" must be an array of 1 to {} objects such as {{\"code\": \"print(6*7)\"}}",
            kLongestBatch));
    }
    std::vector<Result<RunRequest>> runs;
    for (const json::value& element : *elements) {
        const json::object* arguments = element.if_object();
        runs.push_back(arguments != nullptr ? parse_run_arguments(*arguments)
                                            : invalid(fmt::format("a run must be an object, not {}",
                                                                  describe_kind(element))));
    }
    return runs;
}

Result<Batch::OnFailure> read_stop_on_error(const json::value& value) {
    if (!value.is_bool()) {
        return invalid(
            fmt::format("\"stop_on_error\" must be true or false, not {}", describe_kind(value)));
    }
    return value.get_bool() ? Batch::OnFailure::Stop : Batch::OnFailure::GoOn;
}

Result<std::size_t> read_parallel(const json::value& value) {
    const std::int64_t* count = value.if_int64();
    if (count == nullptr || *count < 1 || *count > static_cast<std::int64_t>(kLongestBatch)) {
        return invalid(
            fmt::format("\"parallel\" must be a whole number from 1 to {}", kLongestBatch));
    }
    return static_cast<std::size_t>(*count);
}

// A quota that names no time ends by what its owner does, and that of a day not soon.
bool lacks_room(const Error& error) {
    const bool by_itself =
        error.code == ErrorCode::Overloaded ||
        (error.code == ErrorCode::QuotaReached && error.retry_after > std::chrono::seconds(0));
    return by_itself && error.retry_after <= kLongestLack;
}

// The result, with what the share of this batch has taken from it.
void note_lowered(const std::optional<Bytes>& asked, Bytes given, Result<RunResult>& result) {
    if (result && asked && *asked > given) {
        std::erase_if(result->capped,
                      [](const auto& limit) { return limit.argument == "max_output"; });
        result->capped.push_back({.argument = "max_output",
                                  .asked = fmt::format("\"{}\"", format_bytes(*asked)),
                                  .given = fmt::format("\"{}\"", format_bytes(given))});
    }
}

// The runs of one batch on their way. Lives in the frame of run_batch(), and its workers in that.
class Progress {
   public:
    Progress(Executor& executor, Batch batch, std::string principal, CancellationPtr cancellation,
             std::function<void(std::size_t)> on_progress)
        : executor_(executor),
          batch_(std::move(batch)),
          principal_(std::move(principal)),
          cancellation_(std::move(cancellation)),
          on_progress_(std::move(on_progress)),
          stop_before_(batch_.runs.size()),
          usual_output_(executor_.info().default_limits.output),
          output_share_{kOutputOfAll.count / (2 * batch_.runs.size())},
          result_(batch_.runs.size(), Skipped{}) {
        cancellation_->on_request([this] { stop_behind(0); });
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress() { cancellation_->on_request(nullptr); }

    [[nodiscard]] std::size_t workers() const {
        const std::size_t most = std::max<std::size_t>(executor_.info().batch_parallel, 1);
        return std::min({batch_.runs.size(), most, batch_.parallel.value_or(most)});
    }

    // As many workers as there are, each with one run at a time.
    Task<void> work(std::size_t workers) {
        using asio::experimental::awaitable_operators::operator&&;
        if (workers > 1) {
            co_await (work_alone() && work(workers - 1));
        } else {
            co_await work_alone();
        }
    }

    [[nodiscard]] BatchResult take_result() { return std::move(result_); }

   private:
    Task<void> work_alone() {
        while (next_ < stop_before_) {
            const std::size_t index = next_++;
            BatchElement element = co_await run(index);
            if (!succeeded(element) && batch_.on_failure == Batch::OnFailure::Stop) {
                stop_behind(index);
            }
            result_[index] = std::move(element);
            ++over_;
            if (on_progress_) {
                on_progress_(over_);
            }
        }
    }

    Task<BatchElement> run(std::size_t index) {
        if (!batch_.runs[index]) {
            co_return std::move(batch_.runs[index].error());
        }
        const auto wish = std::make_shared<Cancellation>();
        under_way_[index] = wish;
        Result<RunResult> result = co_await run_patiently(&*batch_.runs[index], wish);
        under_way_.erase(index);
        if (result) {
            co_return std::move(*result);
        }
        // One that had not begun when it was cancelled never did.
        if (wish->requested() && result.error().code == ErrorCode::Cancelled) {
            co_return Skipped{};
        }
        co_return std::move(result.error());
    }

    Task<Result<RunResult>> run_patiently(const RunRequest* asked, CancellationPtr wish) {
        RunRequest request = *asked;
        request.principal = principal_;
        const Bytes wanted = asked->output.value_or(usual_output_);
        const bool lowered = wanted > output_share_ && wanted <= kLargestOutput;
        if (lowered) {
            request.output = output_share_;
        }
        Result<RunResult> result = co_await executor_.execute(request, wish);
        for (int tries = 1; !result && lacks_room(result.error()) && tries < kMostTries; ++tries) {
            co_await pause(result.error().retry_after, wish);
            result = co_await executor_.execute(request, wish);
        }
        if (lowered) {
            note_lowered(asked->output, output_share_, result);
        }
        co_return result;
    }

    static Task<void> pause(std::chrono::seconds time, CancellationPtr wish) {
        const auto executor = co_await asio::this_coro::executor;
        asio::steady_timer timer(executor, std::clamp(time, kShortestPause, kLongestPause));
        wish->on_request([&timer] { timer.expires_after(std::chrono::seconds(0)); });
        boost::system::error_code ignored;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        wish->on_request(nullptr);
    }

    // Nothing from here on begins any more, and what is under way from here on ends.
    void stop_behind(std::size_t index) {
        stop_before_ = std::min(stop_before_, next_);
        const std::map<std::size_t, CancellationPtr> under_way = under_way_;
        for (auto later = under_way.lower_bound(index); later != under_way.end(); ++later) {
            later->second->request();
        }
    }

    Executor& executor_;
    Batch batch_;
    std::string principal_;
    CancellationPtr cancellation_;
    std::function<void(std::size_t)> on_progress_;
    std::size_t next_ = 0;
    std::size_t stop_before_;
    std::size_t over_ = 0;
    Bytes usual_output_;
    Bytes output_share_;
    std::map<std::size_t, CancellationPtr> under_way_;
    BatchResult result_;
};

// One overload per kind of element.
struct ElementJson {
    json::object operator()(const RunResult& result) const {
        return {{"state", "ran"}, {"result", outcome::to_json(result)}};
    }
    json::object operator()(const Error& error) const {
        json::object object{{"state", "refused"},
                            {"error", make_valid_utf8(execution::client_message(error))},
                            {"code", name_of(error.code)}};
        if (error.retry_after > std::chrono::seconds(0)) {
            object["retry_after_seconds"] = error.retry_after.count();
        }
        return object;
    }
    json::object operator()(const Skipped& /*skipped*/) const { return {{"state", "skipped"}}; }
};

}  // namespace

Result<Batch> parse_batch_arguments(const json::object& arguments) {
    if (!arguments.contains("runs")) {
        return invalid("\"runs\" is required: an array of objects, each with the \"code\" to run");
    }
    Batch batch;
    for (const auto& [name, value] : arguments) {
        if (name == "runs") {
            BJ_TRY(batch.runs, read_runs(value));
        } else if (name == "stop_on_error") {
            BJ_TRY(batch.on_failure, read_stop_on_error(value));
        } else if (name == "parallel") {
            BJ_TRY(batch.parallel, read_parallel(value));
        } else {
            return invalid(
                fmt::format("unknown argument \"{}\"; allowed are runs, stop_on_error and parallel",
                            std::string_view(name).substr(0, 64)));
        }
    }
    return batch;
}

Task<BatchResult> run_batch(Executor* executor, Batch batch, std::string principal,
                            CancellationPtr cancellation,
                            std::function<void(std::size_t)> on_progress) {
    Progress progress(*executor, std::move(batch), std::move(principal), std::move(cancellation),
                      std::move(on_progress));
    co_await progress.work(progress.workers());
    co_return progress.take_result();
}

bool succeeded(const BatchElement& element) {
    const RunResult* result = std::get_if<RunResult>(&element);
    return result != nullptr && result->success();
}

bool succeeded(const BatchResult& result) {
    return std::ranges::all_of(result,
                               [](const BatchElement& element) { return succeeded(element); });
}

json::object to_json(const BatchResult& result) {
    json::array elements;
    std::array<std::size_t, std::variant_size_v<BatchElement>> counts{};
    for (const BatchElement& element : result) {
        json::object object = std::visit(ElementJson{}, element);
        object["index"] = elements.size();
        elements.emplace_back(std::move(object));
        ++counts[element.index()];
    }
    const auto good = static_cast<std::size_t>(std::ranges::count_if(
        result, [](const BatchElement& element) { return succeeded(element); }));
    return {{"success", good == result.size()},
            {"succeeded", good},
            {"failed", counts[0] - good},
            {"refused", counts[1]},
            {"skipped", counts[2]},
            {"results", std::move(elements)}};
}

}  // namespace belljar::engine
