#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "execution/request.h"

namespace belljar::execution {

// What is to be told of a request after it has been carried out or refused, when the request itself
// is gone.
struct RunAccount {
    std::chrono::system_clock::time_point asked{};
    std::string principal{};
    std::string language{};
    std::optional<std::string> conversation_id{};
    std::optional<std::string> session_id{};
    std::optional<std::string> profile{};  // that it asked for
    std::optional<std::string> approved_by{};
    std::optional<std::string> label{};
    std::optional<std::string> trace{};
    Protocol protocol = Protocol::Rest;
    std::string tool{};
    std::string client{};
    std::string address{};
    std::string code_sha256{};
    std::uint64_t code_bytes = 0;
    std::shared_ptr<const std::string> code{};  // if the text itself is to be recorded
};

}  // namespace belljar::execution
