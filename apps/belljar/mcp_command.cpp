#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "audit_place.h"
#include "commands.h"
#include "engine/recorder.h"
#include "local_conversations.h"
#include "mcp/connection.h"
#include "mcp/server.h"
#include "runtime.h"
#include "storage/data_directory.h"
#include "storage/output_store.h"
#include "transport/stdio_channel.h"

namespace belljar::apps {
namespace {

// For runs that go on when the conversation ends.
constexpr auto kTimeToFinish = std::chrono::seconds(10);

std::string file_uri(const std::string& path) {
    std::string uri = "file://";
    for (const char letter : std::filesystem::absolute(path).lexically_normal().string()) {
        const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
                           std::string_view("/-._~").find(letter) != std::string_view::npos;
        uri += plain ? std::string(1, letter)
                     : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    }
    return uri;
}

// The first message is answered at once; the trial run goes on beside it.
// Programs wait for it, and if it fails the conversation ends.
Task<void> test_jars(Runtime* runtime, transport::StdioChannel* channel, Result<void>* tested) {
    *tested = co_await runtime->engine().self_test();
    if (!*tested) {
        channel->stop();
    }
}

Task<Result<void>> speak(Runtime* runtime, transport::StdioChannel* channel, mcp::Server* server,
                         const Result<void>* tested) {
    co_await channel->run();
    // Nobody is left to ask for what goes on beside the conversation.
    server->stop();
    co_await server->wait(Clock::now() + kTimeToFinish);
    BJ_CO_TRY_VOID(*tested);
    co_return runtime->check_warden();
}

// Where a data directory was chosen, streams that are too long for a result are kept in a part of
// it, as files for the one local user. `belljar serve` has the directory itself; a second process
// like this one keeps nothing.
class Keeping {
   public:
    static Result<Keeping> open(const config::Settings& settings) {
        Keeping keeping;
        if (settings.server.data_dir.empty()) {
            return keeping;
        }
        Result<storage::DataDirectory> directory =
            storage::DataDirectory::open(settings.server.data_dir + "/mcp");
        if (!directory && directory.error().code == ErrorCode::Conflict) {
            return keeping;
        }
        BJ_TRY(keeping.directory_, std::move(directory));
        BJ_TRY(keeping.outputs_,
               storage::OutputStore::open(
                   keeping.directory_->fd(),
                   {.runs = settings.files.output_keep, .space = settings.files.output_space}));
        return keeping;
    }

    [[nodiscard]] engine::OutputPlace place() const {
        if (!outputs_) {
            return {};
        }
        return {.store = outputs_.get(),
                .uri_before = file_uri(directory_->path()) + "/outputs/",
                .uri_after = "/"};
    }

    [[nodiscard]] Result<void> give_to(uid_t user, gid_t group) const {
        if (!outputs_) {
            return {};
        }
        BJ_TRY_VOID(directory_->give_to(user, group));
        return outputs_->give_to(user, group);
    }

   private:
    std::optional<storage::DataDirectory> directory_;
    std::unique_ptr<storage::OutputStore> outputs_;
};

// Where nothing else was chosen: one who reads each answer before the next call needs few jars, and
// each of the clients of one person starts a server of its own.
config::Settings settings_for_one(const config::Loaded& loaded) {
    constexpr std::uint32_t kReady = 4;
    config::Settings settings = loaded.settings;
    if (loaded.origin_of("pool.ready").source == config::Origin::Source::Default) {
        settings.pool.ready = std::min(settings.pool.ready, kReady);
    }
    return settings;
}

Result<void> try_speak(const config::Settings& settings, Fixtures fixtures) {
    BJ_TRY(const Keeping keeping, Keeping::open(settings));
    BJ_TRY(const std::unique_ptr<audit::Trail> trail, prepare_trail(settings, TrailUser::Speaker));
    const auto recorder = trail ? std::make_unique<engine::Recorder>(*trail) : nullptr;
    // Without a place for files everything else works just the same.
    const Result<LocalConversations> conversations = LocalConversations::open(settings);
    BJ_TRY(const std::unique_ptr<Runtime> runtime,
           Runtime::create(settings, settings.log.level,
                           {.outputs = keeping.place(),
                            .pool = pool_bounds(settings.pool),
                            .zygotes = engine::Zygotes::Lifetime{},
                            .sessions = session_bounds(settings),
                            .conversations = conversations ? conversations->store() : nullptr}));
    if (!conversations) {
        runtime->log().info("files of conversations are not kept",
                            {{"reason", conversations.error().describe()}});
    }
    if (::geteuid() == 0) {
        BJ_TRY(const auto account, runtime->account());
        BJ_TRY_VOID(keeping.give_to(account.user, account.group));
        if (trail) {
            BJ_TRY_VOID(trail->give_to(account.user, account.group));
        }
        if (conversations) {
            BJ_TRY_VOID(conversations->give_to(account.user, account.group));
        }
    }
    BJ_TRY_VOID(runtime->drop_privileges());
    if (trail) {
        BJ_TRY_VOID(trail->start());
        runtime->engine().add_overseer(*recorder);
    }
    mcp::Server server(runtime->io().get_executor(), runtime->engine(),
                       {.identity = {.version = BELLJAR_VERSION},
                        .dialects = mcp::parse_dialects(settings.tools.dialects),
                        .outputs = keeping.place().store,
                        .fixtures = fixtures},
                       runtime->log());
    mcp::Connection connection(server.dispatcher(), server.changes());
    transport::StdioChannel channel(runtime->io().get_executor(), connection,
                                    {.line_limit = settings.limits.body}, runtime->log());
    Result<void> tested;
    runtime->engine().require_self_test();
    runtime->tasks().spawn("trial run", test_jars(runtime.get(), &channel, &tested));
    return runtime->run(speak(runtime.get(), &channel, &server, &tested), [&channel, &server] {
        channel.stop();
        server.stop();
    });
}

}  // namespace

int speak_mcp(const config::Loaded& loaded, Fixtures fixtures) {
    if (const Result<void> spoken = try_speak(settings_for_one(loaded), fixtures); !spoken) {
        complain(spoken.error());
        return kExitFailed;
    }
    return 0;
}

}  // namespace belljar::apps
