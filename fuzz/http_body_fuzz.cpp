// Bytes -> the body of POST /execute. Whatever comes in, what goes out is one JSON object with a
// status that fits it, and only a request that was understood reaches the engine.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "api/routes.h"
#include "base/assert.h"
#include "base/json.h"

namespace {

using namespace belljar;

// Answers at once, and says back what it was given.
class EchoExecutor : public engine::Executor {
   public:
    Task<Result<execution::RunResult>> execute(execution::RunRequest request,
                                               engine::CancellationPtr /*cancellation*/,
                                               engine::RunWatch /*watch*/) override {
        ++runs;
        execution::RunResult result{.execution_id = "run",
                                    .language = request.language,
                                    .status = execution::Status::Ok,
                                    .stdout_stream = {.text = request.stdin_text},
                                    .stderr_stream = {.text = request.code},
                                    .variables = request.arguments};
        for (const auto& [path, content] : request.files) {
            BJ_ASSERT(!path.starts_with('/') && path.find("..") != 0);
            result.files.push_back({.name = path, .size = content.size()});
        }
        co_return result;
    }
    [[nodiscard]] engine::SandboxInfo info() const override { return {}; }
    [[nodiscard]] engine::RunFigures figures() const override { return {}; }

    int runs = 0;
};

access::HttpResponse answer(api::Routes& routes, std::string body) {
    asio::io_context context;
    std::future<access::HttpResponse> response =
        asio::co_spawn(context,
                       routes.handle({.method = "POST",
                                      .path = "/execute",
                                      .headers = {{"Content-Type", "application/json"}},
                                      .body = std::move(body)},
                                     std::make_shared<engine::Cancellation>()),
                       asio::use_future);
    context.run();
    return response.get();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    EchoExecutor executor;
    api::Routes routes(executor, [] { return true; });
    const access::HttpResponse response =
        answer(routes, std::string(reinterpret_cast<const char*>(data), size));
    BJ_ASSERT(response.status == 200 || response.status == 400 || response.status == 422);
    BJ_ASSERT((executor.runs == 1) == (response.status == 200));
    BJ_ASSERT(parse_json(response.body).value().is_object());
    return 0;
}
