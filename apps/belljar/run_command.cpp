#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "audit_place.h"
#include "base/json.h"
#include "base/utf8.h"
#include "commands.h"
#include "config/duration.h"
#include "engine/recorder.h"
#include "local_conversations.h"
#include "outcome/result_json.h"
#include "runner/runners.h"
#include "runtime.h"
#include "signal_watch.h"

namespace belljar::apps {
namespace {

using execution::RunRequest;
using execution::RunResult;
using execution::Status;

struct LanguageBySuffix {
    std::string_view suffix;
    std::string_view language;
};

constexpr std::array<LanguageBySuffix, 4> kSuffixes{
    {{".py", "python"}, {".js", "javascript"}, {".ts", "typescript"}, {".sh", "bash"}}};

std::string choose_language(const RunOptions& options) {
    if (!options.language.empty()) {
        return options.language;
    }
    for (const LanguageBySuffix& known : kSuffixes) {
        if (options.file.ends_with(known.suffix)) {
            return std::string(known.language);
        }
    }
    return "python";
}

Result<std::string> read_program(const std::string& file, Bytes limit) {
    if (file == "-") {
        return read_all(Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)), limit);
    }
    Result<std::string> code = read_file(file, limit);
    if (!code && code.error().code == ErrorCode::SystemCall) {
        Error error = code.error();
        error.message = "cannot read the program";
        return fail(std::move(error));
    }
    return code;
}

// The same, with the option's name before the message.
template <typename T>
Result<T> named(std::string_view option, Result<T> value) {
    if (!value) {
        return fail(value.error().code, fmt::format("{}: {}", option, value.error().message));
    }
    return value;
}

template <typename T>
Result<T> parse_number(std::string_view text) {
    T value{};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || rest != end) {
        return fail(ErrorCode::InvalidArgument, "not a number that can be used here");
    }
    return value;
}

// Its number, from 1 on; nothing if all of the text is valid.
std::optional<std::size_t> first_line_that_is_not_utf8(std::string_view text) {
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        if (!is_valid_utf8(text.substr(0, end))) {
            return number;
        }
        text.remove_prefix(end);
    }
    return std::nullopt;
}

// Interpreters with a bootstrap program are handed the code and the arguments as text. Where the
// code is a file, and the arguments words of a command line, bytes stay what they are.
Result<void> check_text(const RunRequest& request) {
    BJ_TRY(const runner::Runners runners, runner::Runners::create());
    const runner::ManifestPtr manifest = runners.find(request.language);
    if (manifest == nullptr || manifest->has_launcher()) {
        return {};
    }
    if (const std::optional<std::size_t> line = first_line_that_is_not_utf8(request.code)) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("line {} of the program is not valid UTF-8; save it in that "
                                "encoding",
                                *line));
    }
    const auto bad = std::ranges::find_if_not(request.arguments, is_valid_utf8);
    if (bad != request.arguments.end()) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("argument {} of the program is not valid UTF-8",
                                bad - request.arguments.begin() + 1));
    }
    return {};
}

Result<RunRequest> make_request(const config::Loaded& loaded, const RunOptions& options) {
    RunRequest request{.language = choose_language(options),
                       .arguments = options.arguments,
                       .protocol = execution::Protocol::Local,
                       .tool = "belljar run"};
    BJ_TRY(request.code, read_program(options.file, loaded.settings.limits.code));
    BJ_TRY_VOID(check_text(request));
    if (options.timeout) {
        BJ_TRY(request.timeout, named("--timeout", config::parse_duration(*options.timeout)));
    }
    if (options.memory) {
        BJ_TRY(request.memory, named("--memory", parse_bytes(*options.memory)));
    }
    if (options.cpu) {
        BJ_TRY(request.cpu, named("--cpu", parse_number<double>(*options.cpu)));
    }
    if (options.processes) {
        BJ_TRY(request.processes,
               named("--processes", parse_number<std::uint64_t>(*options.processes)));
    }
    if (options.max_output) {
        BJ_TRY(request.output, named("--max-output", parse_bytes(*options.max_output)));
    }
    request.profile = options.profile;
    if (options.conversation) {
        BJ_TRY_VOID(named("--conversation", storage::check_conversation_id(*options.conversation)));
        request.conversation_id = options.conversation;
    }
    return request;
}

int exit_code_of(const RunResult& result) {
    constexpr int kSignalBase = 128;
    switch (result.status) {
        case Status::Timeout:
            return kExitTimeout;
        case Status::Memory:
        case Status::Output:
        case Status::Cancelled:
            return kExitKilled;
        default:
            break;
    }
    if (result.exit_code) {
        return *result.exit_code;
    }
    return result.signal ? kSignalBase + *result.signal : kExitKilled;
}

Result<void> write_stream(engine::OutputStream stream, std::string_view data, const Fd& stop) {
    BJ_TRY(const Fd copy,
           duplicate(stream == engine::OutputStream::Stdout ? STDOUT_FILENO : STDERR_FILENO));
    return write_all({.fd = copy, .stop = stop}, data);
}

// Until `stop` can be read, a program that writes faster than its reader reads has to wait.
engine::LiveStreams live_streams(const RunOptions& options, engine::CancellationPtr cancellation,
                                 const Fd& stop) {
    engine::LiveStreams live;
    if (options.form == OutputForm::Text) {
        live.watch.on_output = [cancellation, &stop](engine::OutputStream stream,
                                                     std::string_view data) {
            // As a pipe would end a program whose reader has gone.
            if (!write_stream(stream, data, stop)) {
                cancellation->request();
            }
        };
    }
    if (options.file != "-") {
        live.stdin_source = Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    }
    return live;
}

// Why a program failed. One that coped with what it was refused is left to speak for itself.
void explain(const RunResult& result) {
    for (const execution::CappedLimit& limit : result.capped) {
        fmt::print(stderr, "belljar: {}: {} asked, {} given\n", limit.argument, limit.asked,
                   limit.given);
    }
    if (result.success()) {
        return;
    }
    for (const execution::Denial& denial : result.denials) {
        fmt::print(stderr, "belljar: {}: the program {}. {}\n", denial.rule, denial.what,
                   denial.hint);
    }
}

// What the run is done with; outlives the runtime.
struct Surroundings {
    std::optional<LocalConversations> conversations{};
    std::unique_ptr<audit::Trail> trail{};  // nullptr: there is none
    std::unique_ptr<engine::Recorder> recorder{};
};

// As the user that the program's files belong to; with those of a conversation if one is named.
Result<std::unique_ptr<Runtime>> get_ready(const config::Settings& settings, LogLevel level,
                                           const RunOptions& options, Surroundings& around) {
    std::optional<LocalConversations>& conversations = around.conversations;
    if (options.conversation) {
        BJ_TRY(conversations, LocalConversations::open(settings));
    }
    BJ_TRY(around.trail, prepare_trail(settings, TrailUser::Command));
    BJ_TRY(std::unique_ptr<Runtime> runtime,
           Runtime::create(settings, level,
                           {.conversations = conversations ? conversations->store() : nullptr}));
    if (::geteuid() == 0 && (conversations || around.trail)) {
        BJ_TRY(const access::Account account, runtime->account());
        if (conversations) {
            BJ_TRY_VOID(conversations->give_to(account.user, account.group));
        }
        if (around.trail) {
            BJ_TRY_VOID(around.trail->give_to(account.user, account.group));
        }
    }
    BJ_TRY_VOID(runtime->drop_privileges());
    if (around.trail) {
        BJ_TRY_VOID(around.trail->start());
        around.recorder = std::make_unique<engine::Recorder>(*around.trail);
        runtime->engine().add_overseer(*around.recorder);
    }
    return runtime;
}

Task<Result<void>> run_once(Runtime* runtime, RunRequest request, const RunOptions* options,
                            engine::CancellationPtr cancellation, std::optional<RunResult>* kept) {
    BJ_CO_TRY(const std::unique_ptr<SignalWatch> signals, SignalWatch::create());
    engine::LiveStreams live = live_streams(*options, cancellation, signals->heard());
    BJ_CO_TRY(RunResult result, co_await runtime->engine().execute_live(
                                    std::move(request), std::move(cancellation), std::move(live)));
    *kept = std::move(result);
    co_return Result<void>{};
}

// When it returns, nothing is left that the run took, and a signal ends this program at once.
Result<RunResult> run_to_its_end(const config::Loaded& loaded, const RunOptions& options) {
    BJ_TRY(RunRequest request, make_request(loaded, options));
    // A person at a terminal wants the program's output, not our log.
    const bool chosen = loaded.origin_of("log.level").source != config::Origin::Source::Default;
    const LogLevel level = chosen ? loaded.settings.log.level : LogLevel::Error;
    Surroundings around;
    BJ_TRY(const std::unique_ptr<Runtime> runtime,
           get_ready(loaded.settings, level, options, around));
    std::optional<RunResult> result;
    const auto cancellation = std::make_shared<engine::Cancellation>();
    BJ_TRY_VOID(
        runtime->run(run_once(runtime.get(), std::move(request), &options, cancellation, &result),
                     [cancellation] { cancellation->request(); }));
    return std::move(*result);
}

}  // namespace

int run_program(const config::Loaded& loaded, const RunOptions& options) {
    const Result<RunResult> result = run_to_its_end(loaded, options);
    if (!result) {
        complain(result.error());
        return kExitFault;
    }
    if (options.form == OutputForm::Json) {
        const std::string record = to_text(outcome::to_json(*result)) + "\n";
        if (const Result<void> written = write_stream(engine::OutputStream::Stdout, record, Fd());
            !written) {
            complain(written.error());
            return kExitFault;
        }
    } else {
        explain(*result);
    }
    return exit_code_of(*result);
}

}  // namespace belljar::apps
