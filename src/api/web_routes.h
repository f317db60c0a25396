#pragma once

#include <string>
#include <string_view>

#include "access/http_message.h"
#include "api/route_group.h"

namespace belljar::api {

// The files that the page of the web interface loads. Without a token, as they hold nothing that is
// not in the source; what the page shows it asks for with the token of its user.
class WebRoutes final : public RouteGroup {
   public:
    void add_to(OperationTable& table) override;
};

// Whether it is a browser that asks, for somebody to look at.
[[nodiscard]] bool wants_page(const access::HttpRequest& request);
// The page itself, which is at the same path as what programs get.
[[nodiscard]] access::HttpResponse web_page(const access::HttpRequest& request);

// Whether an Accept-Encoding header allows this coding by its name.
[[nodiscard]] bool accepts_coding(std::string_view header, std::string_view coding);

}  // namespace belljar::api
