#include "api/token_routes.h"

#include <algorithm>
#include <boost/json/array.hpp>

#include "api/json_body.h"
#include "api/operation_parts.h"
#include "api/refusals.h"
#include "api/token_body.h"

namespace belljar::api {
namespace {

using access::HttpResponse;
using access::TokenRecord;

constexpr std::string_view kTokenExample =
    R"({"name": "alice", "roles": ["user"], "expires": "30d"})";

access::WallTime wall_clock() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

Result<TokenRecord> find(const Fd& folder, const std::string& name) {
    BJ_TRY(const std::vector<TokenRecord> records, access::read_tokens(folder));
    const auto found = std::ranges::find(records, name, &TokenRecord::name);
    if (found == records.end()) {
        return fail(ErrorCode::NotFound, "there is no token of this name");
    }
    return *found;
}

HttpResponse show_record(const TokenRecord& record) {
    return {.body = to_text(token_json(record, wall_clock()))};
}

Operation on_token(std::string_view id, std::string_view method, std::string_view summary) {
    return {.id = std::string(id),
            .method = std::string(method),
            .path = "/v1/admin/tokens/{name}",
            .tag = "admin",
            .summary = std::string(summary),
            .rights = {access::Right::Admin}};
}

}  // namespace

void TokenRoutes::add_to(OperationTable& table) {
    table.add_schema("TokenLimits", limits_schema());
    table.add_schema("Token", token_schema());
    table.add_schema("NewToken", new_token_schema());
    table.add_schema("TokenChange", token_change_schema());
    table.add_schema(
        "Tokens",
        object_schema({{"tokens", json::object{{"type", "array"}, {"items", reference("Token")}}}},
                      {"tokens"}));
    table.add({.id = "listTokens",
               .method = "GET",
               .path = "/v1/admin/tokens",
               .tag = "admin",
               .summary = "The named tokens, without the tokens themselves",
               .rights = {access::Right::Admin},
               .answers = {answer_in("Tokens", "All of them.")},
               .handler = [this](Call /*call*/) { return list(); }});
    table.add({.id = "createToken",
               .method = "POST",
               .path = "/v1/admin/tokens",
               .tag = "admin",
               .summary = "Makes a token",
               .description = "The answer holds it, and nobody can find it out afterwards: only a "
                              "hash is kept. It is valid at once. 409 if the name is taken.",
               .rights = {access::Right::Admin},
               .bodies = {{.schema = reference("NewToken")}},
               .answers = {answer_in("Token", "With the member `token`.", 201)},
               .handler = [this](Call call) { return create(std::move(call)); }});
    add_changes(table);
}

void TokenRoutes::add_changes(OperationTable& table) {
    Operation get = on_token("getToken", "GET", "One token, without the token itself");
    get.answers = {answer_in("Token", "What is known of it.")};
    get.handler = [this](Call call) { return show(std::move(call)); };
    table.add(std::move(get));
    Operation patch = on_token("changeToken", "PATCH", "Changes roles, expiry or limits");
    patch.description =
        "Holds from the next request on. Of `limits`, those that are named become another; null "
        "takes a limit away, so that the one of everybody holds.";
    patch.bodies = {{.schema = reference("TokenChange")}};
    patch.answers = {answer_in("Token", "As it is now.")};
    patch.handler = [this](Call call) { return change(std::move(call)); };
    table.add(std::move(patch));
    Operation remove = on_token("revokeToken", "DELETE", "Makes a token worthless");
    remove.answers = {{.status = 204, .description = "It is refused from now on."}};
    remove.handler = [this](Call call) { return revoke(std::move(call)); };
    table.add(std::move(remove));
}

Task<HttpResponse> TokenRoutes::list() {
    const Result<std::vector<TokenRecord>> records =
        co_await threads_.run([this] { return access::read_tokens(folder_); });
    if (!records) {
        co_return refuse(records.error());
    }
    json::array tokens;
    for (const TokenRecord& record : *records) {
        tokens.push_back(token_json(record, wall_clock()));
    }
    co_return HttpResponse{.body = to_text(json::object{{"tokens", std::move(tokens)}})};
}

Task<HttpResponse> TokenRoutes::show(Call call) {
    const Result<TokenRecord> record = co_await threads_.run(
        [this, name = call.path_value("name")] { return find(folder_, name); });
    co_return record ? show_record(*record) : refuse(record.error());
}

Task<HttpResponse> TokenRoutes::create(Call call) {
    if (!is_json(call.request)) {
        co_return refuse_media_type();
    }
    const Result<json::object> body = read_object(call.request.body, kTokenExample);
    if (!body) {
        co_return refuse(body.error());
    }
    const Result<access::NewToken> wanted = read_new_token(*body, wall_clock());
    if (!wanted) {
        co_return refuse(wanted.error());
    }
    const Result<std::string> token = co_await threads_.run(
        [this, wanted = *wanted] { return access::add_token(folder_, wanted); });
    if (!token) {
        co_return refuse(token.error());
    }
    json::object shown = token_json({.name = wanted->name,
                                     .roles = wanted->roles,
                                     .created = wall_clock(),
                                     .expires = wanted->expires,
                                     .limits = wanted->limits},
                                    wall_clock());
    shown["token"] = *token;
    co_return HttpResponse{.status = 201,
                           .headers = {{"Location", "/v1/admin/tokens/" + wanted->name},
                                       {"Cache-Control", "no-store"}},
                           .body = to_text(shown)};
}

Task<HttpResponse> TokenRoutes::change(Call call) {
    if (!is_json(call.request)) {
        co_return refuse_media_type();
    }
    const Result<json::object> body = read_object(call.request.body, R"({"roles": ["user"]})");
    if (!body) {
        co_return refuse(body.error());
    }
    const Result<TokenRecord> changed = co_await threads_.run(
        [this, name = call.path_value("name"), body = *body]() -> Result<TokenRecord> {
            BJ_TRY(const TokenRecord before, find(folder_, name));
            BJ_TRY(const access::TokenChange wanted,
                   read_token_change(body, before.limits, wall_clock()));
            return access::change_token(folder_, name, wanted);
        });
    co_return changed ? show_record(*changed) : refuse(changed.error());
}

Task<HttpResponse> TokenRoutes::revoke(Call call) {
    const Result<void> removed = co_await threads_.run(
        [this, name = call.path_value("name")] { return access::remove_token(folder_, name); });
    co_return removed ? HttpResponse{.status = 204} : refuse(removed.error());
}

}  // namespace belljar::api
