#pragma once

#include <string>
#include <string_view>

namespace belljar::apps {

// The answer of a server to `belljar admin DEED`, for people: a list as a table, anything else as
// one line for each member. What is no JSON is shown as it is. Control characters are left out.
[[nodiscard]] std::string admin_view(std::string_view deed, std::string_view body);

}  // namespace belljar::apps
