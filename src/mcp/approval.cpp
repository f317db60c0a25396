#include "mcp/approval.h"

#include <fmt/format.h>

#include <algorithm>

#include "crypto/digest.h"
#include "engine/run_arguments.h"
#include "mcp/rounds.h"
#include "policy/reading.h"
#include "policy/rulebook.h"

namespace belljar::mcp {
namespace {

using execution::Finding;

constexpr std::string_view kKey = "approval";

bool anybody_asks(const engine::Executor& executor) {
    const std::shared_ptr<const policy::Rulebook> rules = executor.rulebook();
    return rules && std::ranges::any_of(rules->profiles(), [](const auto& entry) {
               return policy::may_ask(entry.second);
           });
}

std::string reasons(const engine::RunPreview& preview) {
    constexpr std::size_t kShown = 5;
    std::string text;
    std::size_t count = 0;
    for (const Finding& finding : preview.findings) {
        if (finding.action == execution::ScanAction::Ask && count++ < kShown) {
            text += fmt::format("\n- {}", policy::in_words(finding));
        }
    }
    return text;
}

json::object question_of(const engine::RunPreview& preview) {
    return {{"method", "elicitation/create"},
            {"params",
             {{"message", fmt::format("A {} program wants to run, and policy (profile {}) wants "
                                      "you to look at it first:{}\nMay it run?",
                                      preview.language, preview.profile, reasons(preview))},
              {"requestedSchema",
               {{"type", "object"},
                {"properties",
                 {{"approve",
                   {{"type", "boolean"},
                    {"title", "Run it"},
                    {"description", "Whether the program may run, this once"}}}}},
                {"required", json::array{"approve"}}}}}}};
}

// What the user has said, if the question was put in the round before.
std::optional<bool> word_of(const Asker& asker, const std::string& digest) {
    const json::value* answer = asker.inputs.if_contains(kKey);
    if (answer == nullptr || !answer->is_object() || asker.state != json::value(digest)) {
        return std::nullopt;
    }
    const json::object& given = answer->get_object();
    const json::value* action = given.if_contains("action");
    const json::value* content = given.if_contains("content");
    const json::value* approve = content != nullptr && content->is_object()
                                     ? content->get_object().if_contains("approve")
                                     : nullptr;
    return action != nullptr && *action == "accept" && approve != nullptr &&
           *approve == json::value(true);
}

}  // namespace

Task<Result<Round<Cleared>>> seek_approval(engine::Executor* executor, const ToolRequest* request) {
    if (!anybody_asks(*executor)) {
        co_return Cleared{};
    }
    Result<execution::RunRequest> run = engine::parse_run_arguments(request->arguments);
    if (!run) {
        co_return Cleared{};  // the tool says what is wrong with them
    }
    run->principal = request->asker.principal;
    run->tool_sets = request->asker.origin.tool_sets;
    run->protocol = execution::Protocol::Mcp;
    const std::string digest = crypto::sha256_hex(run->code);
    const Result<engine::RunPreview> preview = co_await executor->preview(std::move(*run));
    if (!preview || !preview->asks) {
        co_return Cleared{};
    }
    if (const std::optional<bool> word = word_of(request->asker, digest)) {
        if (*word) {
            co_return Cleared{.approved_by = request->asker.principal.empty()
                                                 ? "the user of the client"
                                                 : request->asker.principal};
        }
        co_return fail(ErrorCode::Denied,
                       "the user was asked whether this program may run, and did not agree; it "
                       "was not run. Do without what policy asked about, or ask the user first.");
    }
    json::object question = question_of(*preview);
    if (missing_capability(request->asker.capabilities, question)) {
        // The run itself is refused with the reason, and how it can be approved.
        co_return Cleared{};
    }
    json::object requests;
    requests[kKey] = std::move(question);
    co_return InputNeeded{.requests = std::move(requests), .state = json::value(digest)};
}

}  // namespace belljar::mcp
