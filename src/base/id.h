#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace belljar {

// `bytes` bytes of kernel randomness in lower-case hexadecimal.
[[nodiscard]] std::string random_hex(std::size_t bytes);

// A random UUID (version 4); execution ids have this form.
[[nodiscard]] std::string make_uuid();

// Compares without telling by its duration where the two differ.
[[nodiscard]] bool equal_in_constant_time(std::string_view left, std::string_view right);

}  // namespace belljar
