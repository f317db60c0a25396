#include "api/described_routes.h"

#include <boost/json/array.hpp>

#include "api/operation_parts.h"
#include "base/json_schema.h"

namespace belljar::api {
namespace {

constexpr std::string_view kMessage = R"({
  "type": "object",
  "description": "A message of JSON-RPC 2.0, as the Model Context Protocol has them.",
  "properties": {
    "jsonrpc": {"const": "2.0"},
    "id": {"type": ["string", "integer", "null"]},
    "method": {"type": "string"},
    "params": {"type": "object"},
    "result": {},
    "error": {
      "type": "object",
      "properties": {
        "code": {"type": "integer"},
        "message": {"type": "string"},
        "data": {}
      },
      "required": ["code", "message"]
    }
  },
  "required": ["jsonrpc"]
})";

constexpr std::string_view kResource = R"({
  "type": "object",
  "properties": {
    "resource": {"type": "string"},
    "resource_name": {"type": "string"},
    "authorization_servers": {"type": "array", "items": {"type": "string"}},
    "scopes_supported": {"type": "array", "items": {"type": "string"}},
    "bearer_methods_supported": {"type": "array", "items": {"type": "string"}}
  },
  "required": ["resource", "authorization_servers", "scopes_supported",
               "bearer_methods_supported"],
  "additionalProperties": false
})";

Content events() { return {.media_type = "text/event-stream", .schema = {{"type", "string"}}}; }

// One message, or several at once in revisions that have that.
json::object messages() {
    return {{"anyOf", json::array{reference("McpMessage"),
                                  json::object{{"type", "array"},
                                               {"minItems", 1},
                                               {"items", reference("McpMessage")}}}}};
}

// What MCP answers with: a message, or in the shape of all refusals if it came so far only.
json::object message_or_refusal() {
    return {{"anyOf", json::array{reference("McpMessage"), reference("Refusal")}}};
}

std::vector<Answer> mcp_answers() {
    std::vector<Answer> answers{
        {.description = "The answer, or events that end with it.",
         .content = {{.schema = messages()}, events()}},
        {.status = 202, .description = "A notification or an answer was taken."},
        {.status = 204, .description = "The MCP session has ended."}};
    for (const unsigned status : {400U, 403U, 404U, 405U, 406U, 409U, 415U}) {
        answers.push_back({.status = status,
                           .description = "What is wrong with the message.",
                           .content = {{.schema = message_or_refusal()}}});
    }
    return answers;
}

Operation mcp(std::string_view id, std::string_view method, std::string_view path,
              std::string_view summary) {
    return {.id = std::string(id),
            .method = std::string(method),
            .path = std::string(path),
            .tag = "mcp",
            .summary = std::string(summary),
            .parameters = {header_parameter("MCP-Protocol-Version", "The revision in use."),
                           header_parameter("Mcp-Session-Id", "As the server gave it.")},
            .answers = mcp_answers()};
}

}  // namespace

void DescribedRoutes::add_to(OperationTable& table) {
    table.add_schema("McpMessage", schema_from(kMessage));
    table.add_schema("ProtectedResource", schema_from(kResource));
    struct Endpoint {
        std::string_view name;
        std::string_view path;
        std::string_view note;
    };
    for (const Endpoint& endpoint :
         {Endpoint{"Mcp", "/mcp", ""}, Endpoint{"McpV1", "/mcp/v1", ", at an older path"}}) {
        const std::string name(endpoint.name);
        const std::string note(endpoint.note);
        Operation post = mcp("post" + name, "POST", endpoint.path, "A message of MCP" + note);
        post.description =
            "What a caller may do with tools is decided by its rights, tool by tool.";
        post.bodies = {{.schema = messages()}};
        table.add(std::move(post));
        table.add(
            mcp("listen" + name, "GET", endpoint.path, "Messages of the server, as events" + note));
        table.add(mcp("end" + name, "DELETE", endpoint.path, "Ends an MCP session" + note));
    }
    Operation root = mcp("postMcpAtRoot", "POST", "/", "A message of MCP, at the oldest path");
    root.bodies = {{.schema = messages()}};
    table.add(std::move(root));
    Operation sse = mcp("listenSse", "GET", "/mcp/sse", "The older transport: events");
    sse.parameters.clear();
    table.add(std::move(sse));
    Operation message =
        mcp("postSseMessage", "POST", "/mcp/messages", "The older transport: messages");
    message.parameters = {query_parameter("sessionId", "As the stream of events told.")};
    message.bodies = {{.schema = messages()}};
    table.add(std::move(message));
    for (const std::string_view path : {"", "/mcp"}) {
        table.add({.id = path.empty() ? "getProtectedResource" : "getProtectedMcp",
                   .method = "GET",
                   .path = "/.well-known/oauth-protected-resource" + std::string(path),
                   .tag = "system",
                   .summary = "Who gives out tokens for this server (RFC 9728)",
                   .description = "404 where tokens are only the server's own.",
                   .door = access::Gate::Door::Open,
                   .answers = {answer_in("ProtectedResource", "The description.")}});
    }
}

}  // namespace belljar::api
