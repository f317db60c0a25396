#include "commands.h"
#include "mcp/server.h"
#include "mcp/stdio_session.h"
#include "runtime.h"
#include "transport/stdio_channel.h"

namespace belljar::apps {
namespace {

// The first message is answered at once; the trial run goes on beside it.
// Programs wait for it, and if it fails the conversation ends.
Task<void> test_jars(Runtime* runtime, transport::StdioChannel* channel, Result<void>* tested) {
    *tested = co_await runtime->engine().self_test();
    if (!*tested) {
        channel->stop();
    }
}

Task<Result<void>> speak(Runtime* runtime, transport::StdioChannel* channel,
                         const Result<void>* tested) {
    co_await channel->run();
    BJ_CO_TRY_VOID(*tested);
    co_return runtime->check_warden();
}

Result<void> try_speak(const config::Settings& settings) {
    BJ_TRY(const std::unique_ptr<Runtime> runtime, Runtime::create(settings, settings.log.level));
    BJ_TRY_VOID(runtime->drop_privileges());
    mcp::Server server(runtime->engine(), mcp::Identity{.version = BELLJAR_VERSION});
    mcp::StdioSession session(server);
    transport::StdioChannel channel(runtime->io().get_executor(), session,
                                    {.line_limit = settings.limits.body}, runtime->log());
    Result<void> tested;
    runtime->engine().require_self_test();
    runtime->tasks().spawn("trial run", test_jars(runtime.get(), &channel, &tested));
    return runtime->run(speak(runtime.get(), &channel, &tested), [&channel] { channel.stop(); });
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
