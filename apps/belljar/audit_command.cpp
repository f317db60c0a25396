#include "audit_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <cstdio>

#include "access/privileges.h"
#include "audit/search.h"
#include "audit/upkeep.h"
#include "audit/verification.h"
#include "audit_place.h"
#include "base/utc_time.h"
#include "commands.h"

namespace belljar::apps {
namespace {

Result<Fd> open_place(const config::Settings& settings) {
    const std::string path = choose_audit_directory(settings);
    Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid()) {
        return fail(ErrorCode::NotFound,
                    fmt::format("there is no audit trail in {}; choose the server's data directory "
                                "with --data-dir",
                                path));
    }
    return directory;
}

std::optional<std::string> if_given(const CLI::App& command, const char* option,
                                    const std::string& value) {
    return command.count(option) > 0 ? std::optional(value) : std::nullopt;
}

Result<std::optional<audit::Filter::WallTime>> read_time(const char* option,
                                                         const std::string& text) {
    if (text.empty()) {
        return std::optional<audit::Filter::WallTime>();
    }
    const auto time = parse_utc(text);
    if (!time) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}: give a time such as 2026-01-31T12:00:00Z, or a day", option));
    }
    return time;
}

Result<audit::Filter> read_filter(const CLI::App& command, const AuditOptions& options) {
    audit::Filter filter{
        .principal = if_given(command, "--principal", options.principal),
        .execution_id = if_given(command, "--run", options.execution_id),
        .conversation_id = if_given(command, "--conversation", options.conversation_id)};
    if (command.get_name() != "erase") {
        filter.tool = if_given(command, "--tool", options.tool);
        filter.status = if_given(command, "--status", options.status);
        filter.kind = if_given(command, "--kind", options.kind);
    }
    BJ_TRY(filter.since, read_time("--since", options.since));
    BJ_TRY(filter.until, read_time("--until", options.until));
    return filter;
}

json::object report_json(const audit::VerificationReport& report) {
    json::object object{{"intact", report.intact()},
                        {"files", report.files},
                        {"records", report.records},
                        {"first_seq", report.first_seq},
                        {"last_seq", report.last_seq},
                        {"last_hash", report.last_hash},
                        {"signatures", report.signatures},
                        {"signed_seq", report.signed_seq},
                        {"signed_at", report.signed_at},
                        {"erased", report.erased},
                        {"key", report.key},
                        {"notes", json::array(report.notes.begin(), report.notes.end())},
                        {"fault", nullptr}};
    if (report.fault) {
        object["fault"] = json::object{{"file", report.fault->file},
                                       {"line", report.fault->line},
                                       {"seq", report.fault->seq},
                                       {"why", report.fault->why}};
    }
    return object;
}

void show(const audit::VerificationReport& report) {
    if (report.fault) {
        const audit::Fault& fault = *report.fault;
        fmt::print("The audit trail is broken.\n  {}{}{}: {}\n", fault.file,
                   fault.line > 0 ? fmt::format(", line {}", fault.line) : "",
                   fault.seq > 0 ? fmt::format(", record {}", fault.seq) : "", fault.why);
        fmt::print("Whole up to there: {} records.\n", report.records);
    } else {
        fmt::print("The audit trail is whole: records {} to {} in {} files, {} signatures.\n",
                   report.first_seq, report.last_seq, report.files, report.signatures);
        fmt::print("Signed up to record {} ({}), key {}; {} records were erased.\n",
                   report.signed_seq, report.signed_at.empty() ? "never" : report.signed_at,
                   report.key, report.erased);
    }
    for (const std::string& note : report.notes) {
        fmt::print("Note: {}.\n", note);
    }
}

Result<int> verify(const Fd& directory, const AuditOptions& options) {
    audit::VerificationWish wish;
    if (!options.public_key.empty()) {
        BJ_TRY(wish.public_key, read_file(options.public_key, kibibytes(64)));
    }
    BJ_TRY(const audit::VerificationReport report, audit::verify_trail(directory, wish));
    if (options.json) {
        fmt::print("{}\n", to_text(report_json(report)));
    } else {
        show(report);
    }
    return report.intact() ? 0 : kExitFailed;
}

// False once nobody reads any more.
bool print_line(std::string_view line) {
    return std::fwrite(line.data(), 1, line.size(), stdout) == line.size();
}

bool print_record(std::string_view line, const std::string& format) {
    return format == "csv" ? print_line(audit::to_csv(line)) : print_line(std::string(line) + "\n");
}

Result<int> print_newest(const Fd& directory, const AuditOptions& options,
                         const audit::Filter& filter) {
    audit::PageWish wish{.filter = filter, .limit = 200};
    std::uint64_t left = options.limit;
    do {
        BJ_TRY(const audit::Page page, audit::page_of_trail(directory, wish));
        for (const std::string& line : page.lines) {
            if (left == 0 || !print_record(line, options.format)) {
                return 0;
            }
            --left;
        }
        wish.before = page.next;
    } while (wish.before != 0 && left > 0);
    return 0;
}

Result<int> print_all(const Fd& directory, const AuditOptions& options,
                      const audit::Filter& filter) {
    BJ_TRY_VOID(audit::search_trail(
        directory, filter,
        [&options](const audit::LineParts& /*parts*/, std::string_view line) -> Result<bool> {
            return print_record(line, options.format);
        }));
    return std::fflush(stdout) == 0 ? 0 : kExitFailed;
}

// With no more rights than the trail's owner has.
Result<int> erase(const Fd& directory, const config::Settings& settings,
                  const AuditOptions& options, const audit::Filter& filter) {
    struct stat status{};
    if (::geteuid() == 0 && ::fstat(directory.get(), &status) == 0 && status.st_uid != 0) {
        BJ_TRY_VOID(access::drop_privileges({.user = status.st_uid, .group = status.st_gid}));
    }
    BJ_TRY(const std::unique_ptr<audit::Writer> writer,
           audit::Writer::open(directory, {.rotate_size = settings.audit.rotate_size,
                                           .rotate_age = settings.audit.rotate_age}));
    BJ_TRY_VOID(audit::finish_erasure(directory, *writer));
    BJ_TRY(const audit::ErasureReport report,
           audit::erase_records(directory, *writer,
                                {.filter = filter,
                                 .asked_by = fmt::format("command line, user {}", ::getuid()),
                                 .reason = options.reason}));
    fmt::print("Erased the personal part of {} records in {} files.\n", report.records,
               report.files);
    return 0;
}

Result<int> obey(const CLI::App& command, const config::Loaded& loaded,
                 const AuditOptions& options) {
    BJ_TRY(const Fd directory, open_place(loaded.settings));
    if (command.get_name() == "verify") {
        return verify(directory, options);
    }
    if (command.get_name() == "key") {
        BJ_TRY(const std::string pem, audit::read_small(directory, audit::kPublicKeyFile));
        return print_line(pem) ? 0 : kExitFailed;
    }
    BJ_TRY(const audit::Filter filter, read_filter(command, options));
    if (command.get_name() == "erase") {
        return erase(directory, loaded.settings, options, filter);
    }
    if (options.format == "csv") {
        print_line(audit::csv_header());
    }
    return command.get_name() == "query" ? print_newest(directory, options, filter)
                                         : print_all(directory, options, filter);
}

void add_whose(CLI::App& command, AuditOptions& options) {
    command.add_option("--principal", options.principal, "Whose; \"\" for the one without a name");
    command.add_option("--run", options.execution_id, "Of this run");
    command.add_option("--conversation", options.conversation_id, "Of this conversation");
    command.add_option("--since", options.since, "Then or later, such as 2026-01-31T12:00:00Z");
    command.add_option("--until", options.until, "Before");
}

void add_filters(CLI::App& command, AuditOptions& options) {
    add_whose(command, options);
    command.add_option("--tool", options.tool, "Such as execute_code");
    command.add_option("--status", options.status, "Such as ok, timeout, denied, refused");
    command.add_option("--kind", options.kind, "Such as run, refusal, decision, access, event");
    command.add_option("--format", options.format, "jsonl (default) or csv")
        ->check(CLI::IsMember({"jsonl", "csv"}));
}

}  // namespace

void add_audit(CLI::App& app, AuditOptions& options, std::string& data_directory) {
    CLI::App* audit = app.add_subcommand("audit", "Verify, read and prune the audit trail");
    audit->require_subcommand(1);
    audit->add_option("--data-dir", data_directory, "The one of the server (/var/lib/belljar)");
    CLI::App* verify =
        audit->add_subcommand("verify", "Look for any record that was changed, dropped or moved");
    verify->add_option("--public-key", options.public_key,
                       "A copy of the public key that was kept elsewhere");
    verify->add_flag("--json", options.json, "For programs");
    CLI::App* query = audit->add_subcommand("query", "The latest records, latest first");
    add_filters(*query, options);
    query->add_option("--limit", options.limit, "How many (50)");
    CLI::App* everything = audit->add_subcommand("export", "All records, oldest first");
    add_filters(*everything, options);
    CLI::App* erase =
        audit->add_subcommand("erase", "Take the personal part out of somebody's records");
    add_whose(*erase, options);
    erase->add_option("--reason", options.reason, "Is recorded; must not name the person");
    CLI::App* key = audit->add_subcommand("key", "Print the public key");
    for (CLI::App* command : {verify, query, everything, erase, key}) {
        command->fallthrough();
    }
    audit->footer(
        "Works beside a running server.\n"
        "Exit code of verify: 0 if the trail is whole, 1 if not.");
}

int examine_trail(const CLI::App& app, const config::Loaded& loaded, const AuditOptions& options) {
    const CLI::App* audit = app.get_subcommand("audit");
    const Result<int> code = obey(*audit->get_subcommands().front(), loaded, options);
    if (code) {
        return *code;
    }
    complain(code.error());
    return code.error().code == ErrorCode::InvalidArgument ? kExitUsage : kExitFailed;
}

}  // namespace belljar::apps
