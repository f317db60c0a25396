#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "access/rights.h"
#include "access/run_origin.h"
#include "access/trace_context.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "mcp/answer.h"
#include "mcp/json_rpc.h"
#include "mcp/notice_wishes.h"

namespace belljar::mcp {

// Who asks, and what it can be told or asked before the answer.
struct Asker {
    std::string principal{};
    access::Rights rights = access::Rights::all();
    std::optional<access::TraceContext> trace{};  // of a client that keeps one
    access::Origin origin{};
    json::object capabilities{};  // of the client, as it declared them
    NoticeWishes wishes{};
    Notify notify{};  // empty: nothing can be told before the answer
    // Ends the connection that the answer was to go to; the client comes back for it. Empty: it
    // could not.
    std::function<void()> hang_up{};
    json::object inputs{};  // what was asked for in the last round, by key
    json::value state{};    // as the last round has left it; null: there was none, or it kept none
};

// A handler that cannot go on without its client: a person's word, a completion, its roots. It is
// called again from its beginning, with the answers and the state in the Asker.
struct InputNeeded {
    json::object requests{};  // by key: {"method": ..., "params": {...}}
    json::value state{};      // null: the answers say all there is to know
};

template <typename T>
using Round = std::variant<T, InputNeeded>;

struct ToolRequest {
    std::string name{};
    json::object arguments{};
    Asker asker{};
};

struct ResourceRequest {
    std::string uri{};
    Asker asker{};
};

struct PromptRequest {
    std::string name{};
    std::map<std::string, std::string> arguments{};
    Asker asker{};
};

// What an argument of a prompt or of a resource template could be.
struct CompletionRequest {
    enum class Of { Prompt, Template };
    Of of = Of::Prompt;
    std::string name{};  // of the prompt, or the URI template
    std::string argument{};
    std::string begun{};                           // what was typed of it
    std::map<std::string, std::string> context{};  // the other arguments, as far as they are known
    Asker asker{};
};

struct ResourceDefinition {
    std::string uri{};
    std::string name{};
    std::string title{};
    std::string description{};
    std::string mime{};
    std::optional<std::uint64_t> size{};
    json::object meta{};
};

struct ResourceTemplate {
    std::string uri_template{};  // RFC 6570
    std::string name{};
    std::string title{};
    std::string description{};
    std::string mime{};
};

struct ResourcePart {
    std::string uri{};
    std::string mime{};
    std::string bytes{};
    enum class Form { Text, Blob } form = Form::Text;
    json::object meta{};
};

[[nodiscard]] RpcError resource_not_found(std::string_view uri);

struct ResourceContents {
    std::vector<ResourcePart> parts{};  // never empty
    std::chrono::milliseconds lifetime{};
};

struct PromptArgument {
    std::string name{};
    std::string description{};
    bool required = false;
};

struct PromptDefinition {
    std::string name{};
    std::string title{};
    std::string description{};
    std::vector<PromptArgument> arguments{};
};

struct PromptMessage {
    enum class Role { User, Assistant } role = Role::User;
    Content content{};
};

struct PromptOutcome {
    std::string description{};
    std::vector<PromptMessage> messages{};
};

struct Completion {
    std::vector<std::string> values{};  // the first hundred are sent
};

// A skill: how to do something, in files that are read as resources.
struct Skill {
    std::string uri{};  // of its SKILL.md
    json::object frontmatter{};
    json::array resources{};  // {uri, digest, size}
};

// Something that this server offers. The methods of the protocol ask every provider in turn; what
// none of them knows does not exist. Used on the I/O thread only.
class Provider {
   public:
    Provider() = default;
    Provider(const Provider&) = delete;
    Provider& operator=(const Provider&) = delete;
    virtual ~Provider() = default;

    // Whether clients may wait for its lists of tools and prompts to change.
    [[nodiscard]] virtual bool changes_lists() const { return false; }

    [[nodiscard]] virtual std::vector<ToolDefinition> tools() const { return {}; }
    // Changes whenever tools() would give something else.
    [[nodiscard]] virtual std::uint64_t tools_version() const { return 0; }
    [[nodiscard]] virtual bool has_tool(std::string_view /*name*/) const { return false; }
    // What a caller must be allowed to do to call it with these arguments, which nobody has looked
    // at. Some need more; without any, it is what every call needs.
    [[nodiscard]] virtual access::Rights tool_needs(std::string_view /*name*/,
                                                    const json::object& /*arguments*/) const {
        return {};
    }
    // Whatever the tool or its arguments did wrong is a failed ToolOutcome, for the model to read.
    // An error is for the client: the request is malformed, or Belljar itself is at fault.
    virtual Task<RpcResult<Round<ToolOutcome>>> call_tool(ToolRequest request,
                                                          engine::CancellationPtr cancellation);

    // Those that a list shows; there may be more.
    virtual Task<std::vector<ResourceDefinition>> resources(Asker asker);
    [[nodiscard]] virtual std::vector<ResourceTemplate> templates() const { return {}; }
    // Whether it is for this provider to say what is there, and that nothing is.
    [[nodiscard]] virtual bool owns_resource(std::string_view /*uri*/) const { return false; }
    // Only if it owns it.
    virtual Task<RpcResult<Round<ResourceContents>>> read_resource(
        ResourceRequest request, engine::CancellationPtr cancellation);

    [[nodiscard]] virtual std::vector<PromptDefinition> prompts() const { return {}; }
    [[nodiscard]] virtual bool has_prompt(std::string_view /*name*/) const { return false; }
    virtual Task<RpcResult<Round<PromptOutcome>>> get_prompt(PromptRequest request,
                                                             engine::CancellationPtr cancellation);

    // Nothing if the prompt or template is not one of this provider's.
    virtual Task<std::optional<Completion>> complete(CompletionRequest /*request*/) {
        co_return std::nullopt;
    }

    [[nodiscard]] virtual std::vector<Skill> skills() const { return {}; }
};

// All of them, in the order they are asked. Borrowed; they outlive whoever holds this.
using Providers = std::vector<Provider*>;

}  // namespace belljar::mcp
