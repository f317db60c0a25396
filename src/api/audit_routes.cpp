#include "api/audit_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <charconv>
#include <chrono>

#include "api/json_body.h"
#include "api/operation_parts.h"
#include "api/paging.h"
#include "api/query.h"
#include "api/refusals.h"
#include "audit/search.h"
#include "base/utc_time.h"

namespace belljar::api {
namespace {

using access::HttpResponse;
using access::Right;

constexpr std::string_view kExample = R"({"principal": "alice", "reason": "request 17"})";

json::object time_or_null() { return {{"type", json::array{"string", "null"}}}; }

Operation operation_of_auditors(std::string_view id, std::string_view method, std::string_view path,
                                std::string_view summary) {
    return {.id = std::string(id),
            .method = std::string(method),
            .path = std::string(path),
            .tag = "audit",
            .summary = std::string(summary),
            .rights = {Right::AuditRead}};
}

Result<audit::PageWish> read_wish(const std::string& text) {
    BJ_TRY(const Query query,
           Query::parse(text, {"limit", "cursor", "principal", "execution_id", "conversation_id",
                               "tool", "status", "kind", "since", "until"}));
    BJ_TRY(const execution::PageQuery page, read_page(query));
    audit::PageWish wish{.filter = {.principal = query.text("principal"),
                                    .execution_id = query.text("execution_id"),
                                    .conversation_id = query.text("conversation_id"),
                                    .tool = query.text("tool"),
                                    .status = query.text("status"),
                                    .kind = query.text("kind")},
                         .limit = page.limit};
    BJ_TRY(wish.filter.since, query.time("since"));
    BJ_TRY(wish.filter.until, query.time("until"));
    if (!page.after.empty()) {
        const char* const end = page.after.data() + page.after.size();
        const auto [rest, error] = std::from_chars(page.after.data(), end, wish.before);
        if (error != std::errc{} || rest != end || wish.before == 0) {
            return fail(ErrorCode::InvalidArgument,
                        "\"cursor\" must be the next_cursor of the page before");
        }
    }
    return wish;
}

Result<audit::ErasureOrder> read_order(const json::object& body, const std::string& asked_by) {
    audit::ErasureOrder order{.asked_by = asked_by};
    for (const auto& [name, value] : body) {
        if (!value.is_string()) {
            return fail(ErrorCode::InvalidArgument, "every member must be a text");
        }
        const std::string text(value.get_string());
        if (name == "principal") {
            order.filter.principal = text;
        } else if (name == "conversation_id") {
            order.filter.conversation_id = text;
        } else if (name == "execution_id") {
            order.filter.execution_id = text;
        } else if (name == "reason") {
            order.reason = text;
        } else if (const auto time = parse_utc(text);
                   (name == "since" || name == "until") && time) {
            (name == "since" ? order.filter.since : order.filter.until) = *time;
        } else {
            return fail(ErrorCode::InvalidArgument,
                        "principal, conversation_id, execution_id, since, until (times) and reason "
                        "are known here");
        }
    }
    return order;
}

json::value time_json(const std::optional<audit::Trail::WallTime>& time) {
    return time ? json::value(format_utc(*time)) : json::value(nullptr);
}

json::object report_json(const Result<audit::VerificationReport>& result) {
    if (!result) {
        return {{"intact", nullptr}, {"reason", result.error().message}};
    }
    const audit::VerificationReport& report = *result;
    json::object object{{"intact", report.intact()},
                        {"files", report.files},
                        {"records", report.records},
                        {"first_seq", report.first_seq},
                        {"last_seq", report.last_seq},
                        {"signatures", report.signatures},
                        {"signed_seq", report.signed_seq},
                        {"erased", report.erased},
                        {"notes", json::array(report.notes.begin(), report.notes.end())}};
    if (report.fault) {
        object["fault"] = json::object{{"file", report.fault->file},
                                       {"line", report.fault->line},
                                       {"seq", report.fault->seq},
                                       {"why", report.fault->why}};
    }
    return object;
}

json::object verification_json(const audit::Trail::Verification& verification) {
    return {{"running", verification.running},
            {"ended", time_json(verification.ended)},
            {"report", verification.report ? json::value(report_json(*verification.report))
                                           : json::value(nullptr)}};
}

json::object or_null(std::string_view type) { return {{"type", json::array{type, "null"}}}; }

}  // namespace

void AuditRoutes::add_to(OperationTable& table) {
    add_records(table);
    add_chain(table);
    add_erasures(table);
}

void AuditRoutes::add_records(OperationTable& table) {
    table.add_schema("TrailRecord", object_schema({{"seq", count_schema()},
                                                   {"prev", text_schema()},
                                                   {"time", text_schema()},
                                                   {"kind", text_schema()},
                                                   {"body", json::object{{"type", "object"}}},
                                                   {"hash", text_schema()},
                                                   {"mac", or_null("string")},
                                                   {"commit", or_null("string")},
                                                   {"salt", or_null("string")},
                                                   {"personal", or_null("object")},
                                                   {"erased", json::object{{"type", "boolean"}}}},
                                                  {"seq", "prev", "time", "kind", "body", "hash"}));
    table.add_schema("TrailPage", page_schema("records", "TrailRecord"));
    Operation list = operation_of_auditors("listTrail", "GET", "/v1/audit/records",
                                           "Records of the audit trail, latest first");
    list.description =
        "Runs, refusals, decisions and events, each as it stands in the trail. A page may hold "
        "fewer than asked for, even none, and still have a next one.";
    list.parameters = page_parameters();
    for (const std::string_view name :
         {"principal", "execution_id", "conversation_id", "tool", "status", "kind"}) {
        list.parameters.push_back(query_parameter(name, "Only records with this one."));
    }
    list.parameters.push_back(query_parameter("since", "Only records of then or later."));
    list.parameters.push_back(query_parameter("until", "Only records from before."));
    list.answers = {page_answer("TrailPage", "A page of records.")};
    list.handler = [this](Call call) { return this->list(std::move(call)); };
    table.add(std::move(list));
}

void AuditRoutes::add_chain(OperationTable& table) {
    table.add_schema("TrailChain", object_schema({{"last_seq", count_schema()},
                                                  {"last_hash", text_schema()},
                                                  {"signed_seq", count_schema()},
                                                  {"signed_at", time_or_null()},
                                                  {"key", text_schema()},
                                                  {"writable", json::object{{"type", "boolean"}}},
                                                  {"failures", count_schema()},
                                                  {"lost_copies", count_schema()},
                                                  {"verification", reference("TrailVerification")}},
                                                 {"last_seq", "last_hash", "signed_seq",
                                                  "signed_at", "writable", "verification"}));
    table.add_schema(
        "TrailVerification",
        object_schema({{"running", json::object{{"type", "boolean"}}},
                       {"ended", time_or_null()},
                       {"report", json::object{{"type", json::array{"object", "null"}}}}},
                      {"running", "ended", "report"}));
    Operation chain =
        operation_of_auditors("getTrailChain", "GET", "/v1/audit/chain",
                              "Where the audit trail ends, and what is known of its state");
    chain.answers = {answer_in("TrailChain", "As it is now.")};
    chain.handler = [this](Call /*call*/) { return this->chain(); };
    table.add(std::move(chain));
    Operation last = operation_of_auditors("getTrailVerification", "GET", "/v1/audit/verification",
                                           "What the last verification found");
    last.answers = {answer_in("TrailVerification", "Of this server since its start.")};
    last.handler = [this](Call /*call*/) { return verification(); };
    table.add(std::move(last));
    Operation verify = operation_of_auditors("verifyTrail", "POST", "/v1/audit/verification",
                                             "Verifies the whole trail, in the background");
    verify.description = "One at a time: while one is under way, this changes nothing.";
    verify.answers = {answer_in("TrailVerification", "It has begun.", 202)};
    verify.handler = [this](Call /*call*/) { return this->verify(); };
    table.add(std::move(verify));
    Operation key = operation_of_auditors("getTrailKey", "GET", "/v1/audit/key",
                                          "The public key that signatures are verified with");
    key.answers = {
        {.description = "PEM, Ed25519. Keep a copy elsewhere.",
         .content = {{.media_type = "application/x-pem-file", .schema = text_schema()}}}};
    key.handler = [this](Call /*call*/) { return this->key(); };
    table.add(std::move(key));
}

void AuditRoutes::add_erasures(OperationTable& table) {
    json::object order = object_schema({{"principal", text_schema()},
                                        {"conversation_id", text_schema()},
                                        {"execution_id", text_schema()},
                                        {"since", text_schema()},
                                        {"until", text_schema()},
                                        {"reason", text_schema()}},
                                       {});
    order["additionalProperties"] = false;
    table.add_schema("ErasureOrder", std::move(order));
    table.add_schema("Erasure",
                     object_schema({{"records", count_schema()}, {"files", count_schema()}},
                                   {"records", "files"}));
    Operation erase = operation_of_auditors("eraseFromTrail", "POST", "/v1/audit/erasures",
                                            "Erases the personal part of records");
    erase.description =
        "Of everything that a principal, a conversation or a run has left in the trail, the "
        "personal part goes: who, from where, which code, which files. The chain stays verifiable, "
        "and a signed record says which records it was. Copies that were sent elsewhere stay.";
    erase.rights = {Right::Admin};
    erase.bodies = {{.schema = reference("ErasureOrder")}};
    erase.answers = {answer_in("Erasure", "How many records and files it was.")};
    erase.handler = [this](Call call) { return this->erase(std::move(call)); };
    table.add(std::move(erase));
}

Task<HttpResponse> AuditRoutes::list(Call call) {
    const Result<audit::PageWish> wish = read_wish(call.request.query);
    if (!wish) {
        co_return refuse(wish.error());
    }
    const Result<audit::Page> page = co_await threads_.run(
        [this, wish = *wish] { return audit::page_of_trail(trail_.directory(), wish); });
    if (!page) {
        co_return refuse(page.error());
    }
    json::array records;
    for (const std::string& line : page->lines) {
        if (Result<json::value> record = parse_json(line)) {
            records.push_back(std::move(*record));
        }
    }
    co_return make_page(call.request, {{"records", std::move(records)}},
                        page->next == 0 ? "" : fmt::format("{}", page->next));
}

Task<HttpResponse> AuditRoutes::chain() {
    const audit::Trail::Figures figures = trail_.figures();
    co_return HttpResponse{.body = to_text(json::object{
                               {"last_seq", figures.last_seq},
                               {"last_hash", figures.last_hash},
                               {"signed_seq", figures.signed_seq},
                               {"signed_at", time_json(figures.signed_at)},
                               {"key", figures.key},
                               {"writable", figures.writable},
                               {"failures", figures.failures},
                               {"lost_copies", figures.lost_copies},
                               {"verification", verification_json(trail_.last_verification())}})};
}

Task<HttpResponse> AuditRoutes::key() {
    Result<std::string> pem = co_await threads_.run(
        [this] { return audit::read_small(trail_.directory(), audit::kPublicKeyFile); });
    co_return pem ? HttpResponse{.content_type = "application/x-pem-file", .body = std::move(*pem)}
                  : refuse(pem.error());
}

Task<HttpResponse> AuditRoutes::verification() {
    co_return HttpResponse{.body = to_text(verification_json(trail_.last_verification()))};
}

Task<HttpResponse> AuditRoutes::verify() {
    trail_.verify();
    co_return HttpResponse{.status = 202,
                           .body = to_text(verification_json(trail_.last_verification()))};
}

Task<HttpResponse> AuditRoutes::erase(Call call) {
    if (!is_json(call.request)) {
        co_return refuse_media_type();
    }
    const Result<json::object> body = read_object(call.request.body, kExample);
    if (!body) {
        co_return refuse(body.error());
    }
    const Result<audit::ErasureOrder> order = read_order(*body, call.request.principal);
    if (!order) {
        co_return refuse(order.error());
    }
    const Result<audit::ErasureReport> report =
        co_await threads_.run([this, order = *order] { return trail_.erase(order); });
    if (!report) {
        co_return refuse(report.error());
    }
    co_return HttpResponse{
        .body = to_text(json::object{{"records", report->records}, {"files", report->files}})};
}

std::string audit_figures(const audit::Trail& trail) {
    const audit::Trail::Figures figures = trail.figures();
    std::string text;
    const auto add = [&text](std::string_view name, std::string_view type, std::string_view help,
                             auto value) {
        fmt::format_to(std::back_inserter(text), "# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name,
                       help, type, value);
    };
    add("belljar_audit_records_total", "counter", "Records that this process wrote.",
        figures.records);
    add("belljar_audit_bytes_total", "counter", "Bytes of them.", figures.bytes);
    add("belljar_audit_failures_total", "counter", "Records that could not be written.",
        figures.failures);
    add("belljar_audit_lost_copies_total", "counter", "Copies that nobody took.",
        figures.lost_copies);
    add("belljar_audit_writable", "gauge", "Whether the trail can be written.",
        figures.writable ? 1 : 0);
    add("belljar_audit_last_seq", "gauge", "Number of the last record.", figures.last_seq);
    const auto age = figures.signed_at ? std::chrono::duration_cast<std::chrono::seconds>(
                                             std::chrono::system_clock::now() - *figures.signed_at)
                                             .count()
                                       : -1;
    add("belljar_audit_signature_age_seconds", "gauge", "Since the last signature; -1 before one.",
        age);
    return text;
}

}  // namespace belljar::api
