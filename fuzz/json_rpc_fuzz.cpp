// Bytes -> one message for the MCP server. The first byte chooses how it arrives, the rest is the
// body or the lines.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/json.h"
#include "base/log.h"
#include "mcp/connection.h"
#include "mcp/server.h"
#include "mcp/testing/fake_executor.h"
#include "mcp/testing/run_task.h"

namespace {

using namespace belljar;

access::Headers modern_headers() {
    return {{"Content-Type", "application/json"},
            {"MCP-Protocol-Version", "2026-07-28"},
            {"Mcp-Method", "tools/call"},
            {"Mcp-Name", "execute_code"}};
}

access::Headers legacy_headers() {
    return {{"Content-Type", "application/json"},
            {"Accept", "application/json, text/event-stream"},
            {"MCP-Protocol-Version", "2025-11-25"}};
}

// Whatever comes in, what goes out is JSON or nothing.
void post(mcp::Server& server, access::Headers headers, std::string_view body) {
    const access::HttpResponse response =
        mcp::run_task(server.handle_post({.method = "POST",
                                          .path = "/mcp",
                                          .headers = std::move(headers),
                                          .body = std::string(body)},
                                         std::make_shared<engine::Cancellation>()));
    const std::string answer = response.body + (response.rest ? *response.rest : "");
    BJ_ASSERT(response.status == 202 ? answer.empty() : parse_json(answer).has_value());
}

void speak(mcp::Server& server, std::string_view lines) {
    mcp::Connection connection(server.dispatcher(), server.changes());
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        const std::optional<std::string> answer =
            mcp::run_task(connection.handle(std::string(lines.substr(0, end))));
        BJ_ASSERT(!answer || (answer->find('\n') == std::string::npos && parse_json(*answer)));
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    mcp::FakeExecutor executor;
    boost::asio::io_context context;
    const Log log("fuzz", LogLevel::Error);
    mcp::Server server(context.get_executor(), executor, {.identity = {.version = "0"}}, log);
    switch (data[0]) {
        case 'm':
            post(server, modern_headers(), text);
            break;
        case 'l':
            post(server, legacy_headers(), text);
            break;
        case 'b':
            post(server, {{"Content-Type", "application/json"}}, text);
            break;
        default:
            speak(server, text);
            break;
    }
    return 0;
}
