#pragma once

#include <string_view>

namespace belljar::api {

// A file of src/api/docs/, which is part of the binary; empty if there is none of that name.
[[nodiscard]] std::string_view embedded_page(std::string_view name);

}  // namespace belljar::api
