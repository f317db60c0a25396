#include "commands.h"
#include "mcp/server.h"
#include "mcp/stdio_session.h"
#include "runtime.h"
#include "transport/stdio_channel.h"

namespace belljar::apps {
namespace {

// The first message is answered at once; the trial run goes on beside it.
Task<void> test_jars(Runtime* runtime) {
    const Result<void> tested = co_await runtime->engine().self_test();
    if (!tested && tested.error().code != ErrorCode::Cancelled) {
        runtime->log().error("the trial run failed", {{"reason", tested.error().describe()}});
    }
}

Task<Result<void>> speak(Runtime* runtime, transport::StdioChannel* channel) {
    co_await channel->run();
    co_return runtime->check_warden();
}

Result<void> try_speak(const config::Settings& settings) {
    BJ_TRY(const std::unique_ptr<Runtime> runtime, Runtime::create(settings, settings.log.level));
    BJ_TRY_VOID(runtime->drop_privileges());
    mcp::Server server(runtime->engine(), mcp::Identity{.version = BELLJAR_VERSION});
    mcp::StdioSession session(server);
    transport::StdioChannel channel(runtime->io().get_executor(), session,
                                    {.line_limit = settings.limits.body}, runtime->log());
    runtime->tasks().spawn("trial run", test_jars(runtime.get()));
    return runtime->run(speak(runtime.get(), &channel), [&channel] { channel.stop(); });
}

}  // namespace

int speak_mcp(const config::Loaded& loaded) {
    if (const Result<void> spoken = try_speak(loaded.settings); !spoken) {
        complain(spoken.error());
        return kExitFailed;
    }
    return 0;
}

}  // namespace belljar::apps
