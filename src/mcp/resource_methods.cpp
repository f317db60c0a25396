#include "mcp/resource_methods.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "mcp/page.h"

namespace belljar::mcp {
namespace {

using engine::CancellationPtr;

// What a conversation holds may change with the next run.
constexpr Caching kVolatile{};
constexpr Caching kTemplates{std::chrono::hours(1), Caching::Scope::Public};
constexpr std::size_t kLongestUri = 4096;

void add_text(json::object& object, std::string_view name, const std::string& text) {
    if (!text.empty()) {
        object[name] = make_valid_utf8(text);
    }
}

json::object encode_resource(const ResourceDefinition& resource, Revision revision) {
    json::object object{{"uri", make_valid_utf8(resource.uri)},
                        {"name", make_valid_utf8(resource.name)}};
    add_text(object, "description", resource.description);
    add_text(object, "mimeType", resource.mime);
    if (resource.size) {
        object["size"] = *resource.size;
    }
    if (revision >= Revision::V2025_06_18) {
        add_text(object, "title", resource.title);
        if (!resource.meta.empty()) {
            object["_meta"] = resource.meta;
        }
    }
    return object;
}

json::object encode_template(const ResourceTemplate& described, Revision revision) {
    json::object object{{"uriTemplate", described.uri_template}, {"name", described.name}};
    add_text(object, "description", described.description);
    add_text(object, "mimeType", described.mime);
    if (revision >= Revision::V2025_06_18) {
        add_text(object, "title", described.title);
    }
    return object;
}

json::object encode_part(const ResourcePart& part, Revision revision) {
    json::object object{{"uri", make_valid_utf8(part.uri)}};
    add_text(object, "mimeType", part.mime);
    if (part.form == ResourcePart::Form::Text) {
        object["text"] = make_valid_utf8(part.bytes);
    } else {
        object["blob"] = encode_base64(part.bytes);
    }
    if (revision >= Revision::V2025_06_18 && !part.meta.empty()) {
        object["_meta"] = part.meta;
    }
    return object;
}

RpcResult<std::string> read_uri(const json::object& params, std::string_view method) {
    const json::value* uri = params.if_contains("uri");
    const json::string* text = uri != nullptr ? uri->if_string() : nullptr;
    if (text == nullptr || text->empty() || text->size() > kLongestUri) {
        return rpc_fail(RpcCode::InvalidParams,
                        fmt::format("{} needs params.uri, a string of at most {} characters.",
                                    method, kLongestUri));
    }
    return std::string(*text);
}

}  // namespace

Provider* ResourceMethods::find(std::string_view uri) const {
    for (Provider* provider : providers_) {
        if (provider->owns_resource(uri)) {
            return provider;
        }
    }
    return nullptr;
}

Task<RpcResult<std::string>> ResourceMethods::list(Call call, CancellationPtr /*cancellation*/) {
    const Asker asker{.principal = call.principal, .rights = call.rights};
    json::array resources;
    for (Provider* provider : providers_) {
        const std::vector<ResourceDefinition> given = co_await provider->resources(asker);
        for (const ResourceDefinition& resource : given) {
            resources.emplace_back(encode_resource(resource, call.revision));
        }
    }
    RpcResult<json::object> page =
        make_page("resources", std::move(resources), call.message.params);
    if (!page) {
        co_return std::unexpected(std::move(page.error()));
    }
    co_return to_text(complete(std::move(*page), call.revision, identity_, kVolatile));
}

Task<RpcResult<std::string>> ResourceMethods::list_templates(Call call,
                                                             CancellationPtr /*cancellation*/) {
    json::array templates;
    for (const Provider* provider : providers_) {
        for (const ResourceTemplate& described : provider->templates()) {
            templates.emplace_back(encode_template(described, call.revision));
        }
    }
    RpcResult<json::object> page =
        make_page("resourceTemplates", std::move(templates), call.message.params);
    if (!page) {
        co_return std::unexpected(std::move(page.error()));
    }
    co_return to_text(complete(std::move(*page), call.revision, identity_, kTemplates));
}

Task<RpcResult<std::string>> ResourceMethods::read(Call call, CancellationPtr cancellation) {
    RpcResult<std::string> uri = read_uri(call.message.params, "resources/read");
    if (!uri) {
        co_return std::unexpected(std::move(uri.error()));
    }
    Provider* provider = find(*uri);
    if (provider == nullptr) {
        co_return std::unexpected(resource_not_found(*uri));
    }
    const Revision revision = call.revision;
    const Rounds::Handler<ResourceContents> handler = [provider, uri = *uri,
                                                       cancellation](Asker asker) {
        return provider->read_resource({.uri = uri, .asker = std::move(asker)}, cancellation);
    };
    Rounds::Ended<ResourceContents> ended =
        co_await rounds_.run<ResourceContents>(std::move(call), handler, cancellation);
    if (!ended) {
        co_return std::unexpected(std::move(ended.error()));
    }
    if (json::object* needed = std::get_if<json::object>(&*ended)) {
        co_return to_text(complete(std::move(*needed), revision, identity_));
    }
    const ResourceContents& contents = std::get<ResourceContents>(*ended);
    json::object result;
    json::array& parts = result["contents"].emplace_array();
    for (const ResourcePart& part : contents.parts) {
        parts.emplace_back(encode_part(part, revision));
    }
    co_return to_text(complete(std::move(result), revision, identity_,
                               Caching{contents.lifetime, Caching::Scope::Private}));
}

// A resource need not exist yet: its coming into being is a change.
Task<RpcResult<std::string>> ResourceMethods::subscribe(Call call,
                                                        CancellationPtr /*cancellation*/) {
    RpcResult<std::string> uri = read_uri(call.message.params, "resources/subscribe");
    if (!uri) {
        co_return std::unexpected(std::move(uri.error()));
    }
    if (call.memory == nullptr) {
        co_return rpc_fail(RpcCode::InvalidRequest,
                           "A subscription needs a session: begin with initialize.");
    }
    if (call.memory->subscriptions.size() >= kMostSubscriptions &&
        !call.memory->subscriptions.contains(*uri)) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           fmt::format("There are {} subscriptions already; end some of them with "
                                       "resources/unsubscribe.",
                                       kMostSubscriptions));
    }
    call.memory->subscriptions.insert(std::move(*uri));
    co_return to_text(complete({}, call.revision, identity_));
}

Task<RpcResult<std::string>> ResourceMethods::unsubscribe(Call call,
                                                          CancellationPtr /*cancellation*/) {
    RpcResult<std::string> uri = read_uri(call.message.params, "resources/unsubscribe");
    if (!uri) {
        co_return std::unexpected(std::move(uri.error()));
    }
    if (call.memory != nullptr) {
        call.memory->subscriptions.erase(*uri);
    }
    co_return to_text(complete({}, call.revision, identity_));
}

}  // namespace belljar::mcp
