#include "mcp/answer.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <chrono>

#include "base/base64.h"
#include "base/utf8.h"
#include "mcp/era.h"

namespace belljar::mcp {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kInstructions =
    "Belljar runs code in a sandbox made for each call and thrown away afterwards. Use "
    "execute_code to compute, to check an idea or to transform data instead of guessing the "
    "result. Files stay for calls that give the same conversation_id, variables with session; "
    "there is no network. start_run and poll_run are for what takes minutes. get_sandbox_info "
    "lists the languages and limits.";

// The same for everyone and fixed while the program runs.
constexpr milliseconds kDiscoveryLifetime = std::chrono::hours(1);
// Descriptions name languages and limits, which the operator may change.
constexpr milliseconds kToolListLifetime = std::chrono::minutes(5);

void add_caching(json::object& result, const Caching& caching) {
    result["ttlMs"] = caching.lifetime.count();
    result["cacheScope"] = caching.scope == Caching::Scope::Public ? "public" : "private";
}

void add_meta(json::object& result, std::string_view key, json::value value) {
    json::value& meta = result["_meta"];
    if (!meta.is_object()) {
        meta.emplace_object();
    }
    meta.get_object()[key] = std::move(value);
}

json::object server_info(Revision revision, const Identity& identity) {
    json::object info{{"name", identity.name}, {"version", identity.version}};
    if (revision >= Revision::V2025_06_18) {
        info["title"] = identity.title;
    }
    return info;
}

json::object capabilities(const Offers& offers, Revision revision) {
    json::object lists;
    if (offers.list_changes) {
        lists["listChanged"] = true;
    }
    json::object offered{{"tools", lists},
                         {"resources", json::object{{"subscribe", true}, {"listChanged", true}}},
                         {"prompts", lists},
                         {"logging", json::object{}}};
    if (revision >= Revision::V2025_03_26) {
        offered["completions"] = json::object{};
    }
    if (era_of(revision) == Era::Modern && !offers.extensions.empty()) {
        offered["extensions"] = offers.extensions;
    }
    return offered;
}

json::object encode_tool(const ToolDefinition& tool, Revision revision) {
    json::object object{
        {"name", tool.name}, {"description", tool.description}, {"inputSchema", tool.input_schema}};
    if (revision >= Revision::V2025_03_26) {
        object["annotations"] = tool.annotations;
    }
    if (revision >= Revision::V2025_06_18) {
        if (!tool.title.empty()) {
            object["title"] = tool.title;
        }
        if (!tool.output_schema.empty()) {
            object["outputSchema"] = tool.output_schema;
        }
        if (!tool.meta.empty()) {
            object["_meta"] = tool.meta;
        }
    }
    if (revision >= Revision::V2025_11_25 && !tool.icon.empty()) {
        object["icons"] = json::array{
            {{"src", tool.icon}, {"mimeType", "image/svg+xml"}, {"sizes", json::array{"any"}}}};
    }
    return object;
}

json::object text_block(std::string_view text) {
    return {{"type", "text"}, {"text", make_valid_utf8(text)}};
}

// One overload per kind; what a revision has no block for is said in words.
class ContentEncoder {
   public:
    explicit ContentEncoder(Revision revision) : revision_(revision) {}

    json::object operator()(const std::string& text) const { return text_block(text); }

    json::object operator()(const Picture& picture) const {
        return media_block("image", picture.mime, picture.data);
    }

    json::object operator()(const Audio& audio) const {
        if (revision_ < Revision::V2025_03_26) {
            return text_block(
                fmt::format("[a sound of type {} and {} bytes, which this revision "
                            "of the protocol cannot carry]",
                            audio.mime, audio.data.size()));
        }
        return media_block("audio", audio.mime, audio.data);
    }

    json::object operator()(const ResourceLink& link) const {
        if (revision_ < Revision::V2025_06_18) {
            return text_block(in_words(link));
        }
        json::object block{{"type", "resource_link"},
                           {"uri", make_valid_utf8(link.uri)},
                           {"name", make_valid_utf8(link.name)},
                           {"mimeType", make_valid_utf8(link.mime)}};
        if (!link.description.empty()) {
            block["description"] = make_valid_utf8(link.description);
        }
        if (link.size) {
            block["size"] = *link.size;
        }
        return block;
    }

    json::object operator()(const EmbeddedResource& resource) const {
        json::object inner{{"uri", make_valid_utf8(resource.uri)},
                           {"mimeType", make_valid_utf8(resource.mime)}};
        if (resource.kind == EmbeddedResource::Kind::Text) {
            inner["text"] = make_valid_utf8(resource.data);
        } else {
            inner["blob"] = encode_base64(resource.data);
        }
        return {{"type", "resource"}, {"resource", std::move(inner)}};
    }

   private:
    static json::object media_block(std::string_view type, std::string_view mime,
                                    std::string_view data) {
        return {{"type", type}, {"data", encode_base64(data)}, {"mimeType", make_valid_utf8(mime)}};
    }

    static std::string in_words(const ResourceLink& link) {
        return fmt::format("[{}: {} ({}{}){}{}]", link.name, link.uri, link.mime,
                           link.size ? fmt::format(", {} bytes", *link.size) : "",
                           link.description.empty() ? "" : ": ", link.description);
    }

    Revision revision_;
};

// One overload per kind of result.
class Encoder {
   public:
    Encoder(Revision revision, const Identity& identity)
        : revision_(revision), identity_(identity) {}

    json::object operator()(const Discovery& discovery) const {
        json::object result{{"supportedVersions", json::array{name_of(kModernRevision)}},
                            {"capabilities", capabilities(discovery.offers, revision_)},
                            {"instructions", kInstructions}};
        add_caching(result, {kDiscoveryLifetime, Caching::Scope::Public});
        return result;
    }

    json::object operator()(const Handshake& handshake) const {
        return {{"protocolVersion", name_of(handshake.revision)},
                {"capabilities", capabilities(handshake.offers, handshake.revision)},
                {"serverInfo", server_info(handshake.revision, identity_)},
                {"instructions", kInstructions}};
    }

    json::object operator()(const Acknowledgement& /*acknowledgement*/) const { return {}; }

    json::object operator()(const ToolList& list) const {
        json::array tools;
        for (const ToolDefinition& tool : list.tools) {
            tools.emplace_back(encode_tool(tool, revision_));
        }
        json::object result;
        result["tools"] = std::move(tools);
        if (era_of(revision_) == Era::Modern) {
            add_caching(result, {kToolListLifetime, Caching::Scope::Private});
        }
        return result;
    }

    json::object operator()(const ToolOutcome& outcome) const {
        json::array content;
        if (!outcome.text.empty() || outcome.more.empty()) {
            content.emplace_back(text_block(outcome.text));
        }
        for (const Content& more : outcome.more) {
            content.emplace_back(mcp::encode(more, revision_));
        }
        json::object result;
        result["content"] = std::move(content);
        result["isError"] = outcome.failed;
        if (outcome.structured && revision_ >= Revision::V2025_06_18) {
            result["structuredContent"] = *outcome.structured;
        }
        if (outcome.retry_after > std::chrono::seconds(0)) {
            add_meta(result, kRetryAfterKey, outcome.retry_after.count());
        }
        return result;
    }

   private:
    Revision revision_;
    const Identity& identity_;
};

}  // namespace

json::object complete(json::object result, Revision revision, const Identity& identity,
                      std::optional<Caching> caching) {
    if (era_of(revision) == Era::Legacy) {
        return result;
    }
    if (!result.contains("resultType")) {
        result["resultType"] = "complete";
    }
    if (caching) {
        add_caching(result, *caching);
    }
    add_meta(result, kServerInfoKey, server_info(revision, identity));
    return result;
}

json::object encode(const Content& content, Revision revision) {
    return std::visit(ContentEncoder(revision), content);
}

json::object encode(const Answer& answer, Revision revision, const Identity& identity) {
    return complete(std::visit(Encoder(revision, identity), answer), revision, identity);
}

}  // namespace belljar::mcp
