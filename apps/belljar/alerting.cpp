#include "alerting.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <cerrno>
#include <chrono>
#include <utility>

#include "alerts/rules_file.h"
#include "api/alert_routes.h"

namespace belljar::apps {
namespace {

constexpr const char* kHoldsName = "alerts.json";
constexpr const char* kNewHoldsName = "alerts.json.new";
constexpr Bytes kLargestHolds = mebibytes(8);
constexpr Bytes kLargestRules = mebibytes(1);
constexpr auto kLookTime = std::chrono::seconds(1);

std::unexpected<Error> refuse_rules(std::string_view reason) {
    return fail(ErrorCode::InvalidArgument, "alerts.rules: " + std::string(reason));
}

// Whoever could write it decides who is blocked.
Result<void> check_owner(const struct stat& status) {
    if (!S_ISREG(status.st_mode)) {
        return refuse_rules("is not a file");
    }
    if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
        return refuse_rules("belongs neither to root nor to the server's user");
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return refuse_rules("others than its owner may write it: chmod go-w");
    }
    return {};
}

Result<alerts::Rules> read_rules(const std::string& path) {
    if (path.empty()) {
        return alerts::usual_rules();
    }
    const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (!file.valid() || ::fstat(file.get(), &status) != 0) {
        return refuse_rules(system_error("it cannot be opened").describe());
    }
    BJ_TRY_VOID(check_owner(status));
    const Result<std::string> text = read_all(file, kLargestRules);
    if (!text) {
        return refuse_rules("it cannot be read or is larger than 1 MiB");
    }
    return alerts::parse_rules(*text, path);
}

// Without it nobody is blocked; damaged, the server does not start: a block must not be lost.
Result<alerts::Holds> read_holds(const Fd& directory) {
    const Fd file(::openat(directory.get(), kHoldsName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid()) {
        return errno == ENOENT ? Result<alerts::Holds>(alerts::Holds())
                               : fail(system_error("open alerts.json"));
    }
    BJ_TRY(const std::string text, read_all(file, kLargestHolds));
    Result<alerts::Holds> holds = alerts::Holds::parse(text);
    if (!holds) {
        return fail(ErrorCode::InvalidArgument,
                    "alerts.json in the data directory is damaged (" + holds.error().message +
                        "); remove it to start without blocks and quarantines");
    }
    return holds;
}

Result<void> write_holds(const Fd& directory, const std::string& text) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    const Fd file(::openat(directory.get(), kNewHoldsName, kFlags, S_IRUSR | S_IWUSR));
    if (!file.valid()) {
        return fail(system_error("open alerts.json.new"));
    }
    BJ_TRY_VOID(write_all(file, text));
    if (::renameat(directory.get(), kNewHoldsName, directory.get(), kHoldsName) != 0) {
        return fail(system_error("rename alerts.json"));
    }
    return {};
}

}  // namespace

Result<Fd> open_alerts_folder(const Fd& data_directory) {
    constexpr const char* kName = "alerts";
    if (::mkdirat(data_directory.get(), kName, S_IRWXU) != 0 && errno != EEXIST) {
        return fail(system_error("make the directory of alerts"));
    }
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    Fd folder(::openat(data_directory.get(), kName, kFlags));
    if (!folder.valid()) {
        return fail(system_error("open the directory of alerts"));
    }
    return folder;
}

Result<std::unique_ptr<Alerting>> Alerting::create(const config::AlertSettings& settings,
                                                   Runtime& runtime, const Fd& folder,
                                                   const storage::ConversationStore& store) {
    BJ_TRY(alerts::Rules rules, read_rules(settings.rules));
    BJ_TRY(alerts::Holds holds, read_holds(folder));
    std::unique_ptr<Alerting> alerting(new Alerting(
        settings, runtime, {.folder = folder, .store = store}, std::move(rules), std::move(holds)));
    if (!settings.webhook.empty()) {
        BJ_TRY(alerting->webhook_,
               transport::WebhookSender::create(
                   runtime.io().get_executor(),
                   {.url = settings.webhook, .secret = settings.webhook_secret}, runtime.log()));
    }
    alerting->alarm_.reach(alerting->hands());
    runtime.engine().guard_conversations(alerting->alarm_.guard());
    runtime.engine().add_overseer(alerting->alarm_);
    return alerting;
}

Alerting::Alerting(const config::AlertSettings& settings, Runtime& runtime, Places places,
                   alerts::Rules rules, alerts::Holds holds)
    : settings_(settings),
      runtime_(runtime),
      folder_(places.folder),
      alarm_(std::move(rules), std::move(holds), runtime.log()),
      evidence_(runtime.io().get_executor(), places.store, runtime.log()),
      look_(runtime.io()) {}

engine::Alarm::Hands Alerting::hands() {
    engine::Engine& engine = runtime_.engine();
    TaskGroup& tasks = runtime_.tasks();
    return {
        .end_all =
            [&](std::string principal) {
                tasks.spawn("end everything of a principal",
                            engine.end_all_of(std::move(principal)));
            },
        .end_run = [&](std::string id) { tasks.spawn("end a run", engine.end_run(std::move(id))); },
        .end_sessions =
            [this, &tasks](std::string principal, std::string conversation) {
                tasks.spawn("end sessions of a conversation",
                            end_sessions(std::move(principal), std::move(conversation)));
            },
        .notice = [&](const execution::SecurityEvent& event) { engine.notice(event); },
        .show = [&](const std::optional<std::string>& principal,
                    std::string data) { engine.feed().alert(principal, std::move(data)); },
        .post =
            [this](std::string body) {
                if (webhook_) {
                    webhook_->put(std::move(body));
                }
            },
        .keep = [this](const std::string& text) { keep(text); }};
}

Task<void> Alerting::end_sessions(std::string principal, std::string conversation_id) {
    engine::Engine& engine = runtime_.engine();
    for (const execution::SessionView& session : engine.list_sessions(principal)) {
        if (session.conversation_id == conversation_id) {
            [[maybe_unused]] const Result<execution::SessionView> ended =
                co_await engine.obey({.principal = principal,
                                      .session_id = session.session_id,
                                      .action = execution::SessionAction::End});
        }
    }
}

void Alerting::keep(const std::string& text) const {
    if (const Result<void> kept = write_holds(folder_, text); !kept) {
        runtime_.log().error("blocks and quarantines could not be kept for the next start",
                             {{"reason", kept.error().describe()}});
    }
}

void Alerting::add_to(api::Routes& routes) {
    api::AlertRoutes::Sources sources{.alarm = &alarm_, .evidence = &evidence_};
    if (webhook_) {
        sources.webhook = [this] {
            const transport::WebhookSender::Figures figures = webhook_->figures();
            return json::object{{"sent", figures.sent},
                                {"given_up", figures.given_up},
                                {"dropped", figures.dropped},
                                {"waiting", figures.waiting}};
        };
    }
    routes.add(std::make_unique<api::AlertRoutes>(std::move(sources)));
}

void Alerting::begin() {
    if (webhook_) {
        runtime_.tasks().spawn("webhook", webhook_->run());
    }
    if (!settings_.rules.empty()) {
        runtime_.tasks().spawn("rules about alerts", watch_rules());
    }
    alarm_.see_grade(runtime_.isolation().grade);
}

void Alerting::stop() {
    stopping_ = true;
    look_.cancel();
    if (webhook_) {
        webhook_->stop();
    }
}

transport::HttpRouter::Watch Alerting::watch(transport::HttpRouter::Watch watch) {
    watch.on_stranger = [this](const std::string& address) {
        alarm_.notice({.kind = "access",
                       .name = "token",
                       .severity = execution::Severity::Low,
                       .time = std::chrono::system_clock::now(),
                       .text = "somebody shows tokens that are not valid",
                       .details = {{"address", address}}});
    };
    return watch;
}

Task<void> Alerting::watch_rules() {
    while (!stopping_) {
        struct stat status{};
        Sight sight;
        if (::stat(settings_.rules.c_str(), &status) == 0) {
            constexpr std::int64_t kNanoseconds = 1'000'000'000;
            sight = {.inode = status.st_ino,
                     .size = status.st_size,
                     .changed = status.st_ctim.tv_sec * kNanoseconds + status.st_ctim.tv_nsec};
        }
        if (std::exchange(seen_, sight) != sight) {
            read_rules_again();
        }
        boost::system::error_code ignored;
        look_.expires_after(kLookTime);
        co_await look_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
}

void Alerting::read_rules_again() {
    Result<alerts::Rules> rules = read_rules(settings_.rules);
    if (!rules) {
        runtime_.log().error("the rules about alerts are not valid; those in force stay",
                             {{"reason", rules.error().message}});
        runtime_.engine().notice({.kind = "policy",
                                  .name = "alerts.rules",
                                  .severity = execution::Severity::Medium,
                                  .time = std::chrono::system_clock::now(),
                                  .text = "the rules about alerts could not be taken over",
                                  .details = {{"reason", rules.error().message}}});
        return;
    }
    if (*rules != alarm_.tower().rules()) {
        alarm_.set_rules(std::move(*rules));
        runtime_.log().info("the rules about alerts were read");
    }
}

}  // namespace belljar::apps
