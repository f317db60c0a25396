#pragma once

#include <string>
#include <string_view>

namespace belljar::mcp {

// The two members of _meta that every modern request needs.
inline std::string meta(std::string_view version = "2026-07-28") {
    return R"("_meta":{"io.modelcontextprotocol/protocolVersion":")" + std::string(version) +
           R"(","io.modelcontextprotocol/clientCapabilities":{}})";
}

// A request with id 1; `params` are the members of its params object.
inline std::string request(std::string_view method, std::string_view params = "") {
    return R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) + R"(","params":{)" +
           std::string(params) + "}}";
}

inline std::string modern(std::string_view method, std::string_view params = "") {
    return request(method, meta() + (params.empty() ? "" : ",") + std::string(params));
}

inline std::string notification(std::string_view method, std::string_view params = "") {
    return R"({"jsonrpc":"2.0","method":")" + std::string(method) + R"(","params":{)" +
           std::string(params) + "}}";
}

}  // namespace belljar::mcp
