#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "access/token_book.h"
#include "access/token_json.h"
#include "audit_place.h"
#include "base/json.h"
#include "commands.h"
#include "data_place.h"

namespace belljar::apps {
namespace {

using access::TokenRecord;
using access::WallTime;

WallTime wall_clock() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::string show_time(WallTime time) { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", time); }

std::string show_expiry(const std::optional<WallTime>& expires, WallTime now) {
    if (!expires) {
        return "never";
    }
    return show_time(*expires) + (*expires <= now ? " (over)" : "");
}

// "runs_per_day=100 storage_bytes=1000"
std::string show_limits(const execution::PrincipalLimits& limits) {
    std::string text;
    for (const auto& [name, limit] : access::limits_to_json(limits)) {
        text +=
            fmt::format("{}{}={}", text.empty() ? "" : " ", std::string_view(name), to_text(limit));
    }
    return text.empty() ? "as everybody" : text;
}

json::object to_json(const TokenRecord& record) {
    json::object object{{"name", record.name},
                        {"roles", json::array(record.roles.begin(), record.roles.end())},
                        {"created", show_time(record.created)},
                        {"expires", nullptr},
                        {"expired", record.expires && *record.expires <= wall_clock()},
                        {"limits", access::limits_to_json(record.limits)}};
    if (record.expires) {
        object["expires"] = show_time(*record.expires);
    }
    return object;
}

// The first line of standard input.
Result<std::string> read_chosen_token() {
    const Fd input(::dup(STDIN_FILENO));
    BJ_TRY(std::string text, read_all(input, kibibytes(8)));
    text.erase(std::min(text.find('\n'), text.size()));
    if (text.empty()) {
        return fail(ErrorCode::InvalidArgument, "standard input holds no token");
    }
    return text;
}

Result<void> create(const Fd& folder, const TokenOptions& options) {
    BJ_TRY(const std::optional<WallTime> expires,
           access::parse_expiry(options.expires, wall_clock()));
    access::NewToken wanted{
        .name = options.name, .roles = options.roles, .expires = expires, .limits = options.limits};
    if (!options.storage.empty()) {
        BJ_TRY(const Bytes storage, parse_bytes(options.storage));
        wanted.limits.storage_bytes = storage.count;
    }
    if (options.source == TokenOptions::Source::StandardInput) {
        BJ_TRY(wanted.chosen, read_chosen_token());
    }
    BJ_TRY(const std::string token, access::add_token(folder, wanted));
    if (options.form == OutputForm::Json) {
        json::object object{{"name", wanted.name},
                            {"roles", json::array(wanted.roles.begin(), wanted.roles.end())},
                            {"expires", nullptr},
                            {"limits", access::limits_to_json(wanted.limits)},
                            {"token", token}};
        if (expires) {
            object["expires"] = show_time(*expires);
        }
        fmt::print("{}\n", to_text(object));
        return {};
    }
    fmt::print(stderr, "Token of {} ({}; expires: {}), shown this once:\n", wanted.name,
               fmt::join(wanted.roles, ", "), show_expiry(expires, wall_clock()));
    fmt::print("{}\n", token);
    return {};
}

Result<void> list(const Fd& folder, OutputForm form) {
    BJ_TRY(const std::vector<TokenRecord> records, access::read_tokens(folder));
    if (form == OutputForm::Json) {
        json::array tokens;
        for (const TokenRecord& record : records) {
            tokens.push_back(to_json(record));
        }
        fmt::print("{}\n", to_text(json::object{{"tokens", std::move(tokens)}}));
        return {};
    }
    if (records.empty()) {
        fmt::print("There are no named tokens; make one with: belljar token create NAME\n");
        return {};
    }
    fmt::print("{:<20} {:<24} {:<21} {:<21} {}\n", "NAME", "ROLES", "CREATED", "EXPIRES", "LIMITS");
    for (const TokenRecord& record : records) {
        fmt::print("{:<20} {:<24} {:<21} {:<21} {}\n", record.name,
                   fmt::format("{}", fmt::join(record.roles, ",")), show_time(record.created),
                   show_expiry(record.expires, wall_clock()), show_limits(record.limits));
    }
    return {};
}

Result<void> revoke(const Fd& folder, const TokenOptions& options) {
    BJ_TRY_VOID(access::remove_token(folder, options.name));
    fmt::print("The token of {} is revoked; a running server refuses it from now on.\n",
               options.name);
    return {};
}

// Beside a server that keeps an audit trail, who may speak for whom is part of it.
Result<void> change(const config::Settings& settings, const Fd& folder,
                    const TokenOptions& options) {
    const bool makes = options.deed == TokenOptions::Deed::Create;
    BJ_TRY(const std::unique_ptr<audit::Trail> trail, join_trail(settings));
    if (trail) {
        BJ_TRY_VOID(trail->admit());
    }
    Result<void> done = makes ? create(folder, options) : revoke(folder, options);
    if (done && trail) {
        done = trail->record(audit::entry_of(
            audit::Decision{
                .what = makes ? "createToken" : "revokeToken",
                .target = options.name,
                .outcome = "done",
                .client = "command line",
                .text = makes ? fmt::format("roles: {}", fmt::join(options.roles, ", ")) : ""},
            trail->redaction()));
    }
    return done;
}

Result<void> try_manage(const config::Loaded& loaded, const TokenOptions& options) {
    BJ_TRY(const Fd directory, open_data_directory(choose_data_directory(loaded.settings)));
    BJ_TRY(const Fd folder, access::open_token_folder(directory));
    if (options.deed == TokenOptions::Deed::List) {
        return list(folder, options.form);
    }
    return change(loaded.settings, folder, options);
}

}  // namespace

int manage_tokens(const config::Loaded& loaded, const TokenOptions& options) {
    if (const Result<void> done = try_manage(loaded, options); !done) {
        complain(done.error());
        return kExitFailed;
    }
    return 0;
}

}  // namespace belljar::apps
