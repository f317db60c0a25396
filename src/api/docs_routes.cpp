#include "api/docs_routes.h"

#include <array>

#include "api/embedded_pages.h"
#include "api/entity_tag.h"
#include "api/operation_parts.h"

namespace belljar::api {
namespace {

using access::HttpResponse;

// The page runs its own script alone, and reaches nobody but this server.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct Page {
    std::string_view id;
    std::string_view path;
    std::string_view name;
    std::string_view media_type;
    std::string_view summary;
};

constexpr std::array<Page, 3> kPages{
    {{"getDocs", "/docs", "docs.html", "text/html", "This document as a page"},
     {"getDocsStyle", "/docs/docs.css", "docs.css", "text/css", "How that page looks"},
     {"getDocsScript", "/docs/docs.js", "docs.js", "text/javascript", "What makes that page"}}};

HttpResponse send(const access::HttpRequest& request, const Page& page) {
    return with_tag(request, {.content_type = std::string(page.media_type) + "; charset=utf-8",
                              .headers = {{"Content-Security-Policy", std::string(kPolicy)},
                                          {"X-Content-Type-Options", "nosniff"},
                                          {"Referrer-Policy", "no-referrer"}},
                              .body = std::string(embedded_page(page.name))});
}

}  // namespace

void DocsRoutes::add_to(OperationTable& table) {
    for (const Page& page : kPages) {
        table.add(
            {.id = std::string(page.id),
             .method = "GET",
             .path = std::string(page.path),
             .tag = "system",
             .summary = std::string(page.summary),
             .door = access::Gate::Door::Open,
             .parameters = {tag_parameter()},
             .answers = {{.description = "The page.",
                          .content = {{.media_type = std::string(page.media_type),
                                       .schema = {{"type", "string"}}}},
                          .headers = {header_parameter("ETag", "Of this version.")}},
                         not_modified()},
             .handler = [&page](Call call) { return answer_at_once(send(call.request, page)); }});
    }
}

}  // namespace belljar::api
