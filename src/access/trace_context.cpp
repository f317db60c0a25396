#include "access/trace_context.h"

#include <algorithm>
#include <cstddef>

#include "base/id.h"

namespace belljar::access {
namespace {

constexpr std::size_t kParentLength = 55;  // 00-(32)-(16)-(2)
constexpr std::size_t kSpanBytes = 8;
constexpr std::size_t kLongestState = 512;
constexpr std::size_t kMostMembers = 32;
constexpr std::size_t kLongestPart = 256;

bool is_hexadecimal(std::string_view text) {
    return std::ranges::all_of(text, [](char letter) {
        return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
    });
}

bool is_zero(std::string_view text) {
    return text.find_first_not_of('0') == std::string_view::npos;
}

bool is_key_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
           std::string_view("_-*/@").contains(letter);
}

// "vendor=value"; an empty one is allowed between two commas.
bool is_member(std::string_view member) {
    if (member.empty()) {
        return true;
    }
    const std::size_t equals = member.find('=');
    if (equals == 0 || equals == std::string_view::npos || equals > kLongestPart) {
        return false;
    }
    const std::string_view value = member.substr(equals + 1);
    return std::ranges::all_of(member.substr(0, equals), is_key_letter) && !value.empty() &&
           value.size() <= kLongestPart && std::ranges::all_of(value, [](char letter) {
               return letter >= ' ' && letter <= '~' && letter != ',' && letter != '=';
           });
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t";
    const std::size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
    const std::size_t end = text.find_last_not_of(kBlank);
    return end == std::string_view::npos ? "" : text.substr(begin, end - begin + 1);
}

bool is_state(std::string_view state) {
    if (state.size() > kLongestState) {
        return false;
    }
    for (std::size_t members = 1; members <= kMostMembers; ++members) {
        const std::size_t comma = state.find(',');
        if (!is_member(trimmed(state.substr(0, comma)))) {
            return false;
        }
        if (comma == std::string_view::npos) {
            return true;
        }
        state.remove_prefix(comma + 1);
    }
    return false;
}

}  // namespace

std::optional<TraceContext> parse_trace(std::string_view traceparent, std::string_view tracestate) {
    if (traceparent.size() < kParentLength) {
        return std::nullopt;
    }
    const std::string_view version = traceparent.substr(0, 2);
    const std::string_view trace_id = traceparent.substr(3, 32);
    const std::string_view parent_id = traceparent.substr(36, 16);
    const std::string_view flags = traceparent.substr(53, 2);
    const bool dashes = traceparent[2] == '-' && traceparent[35] == '-' && traceparent[52] == '-';
    // A later version may go on behind another dash; this one may not.
    const bool ends = traceparent.size() == kParentLength ||
                      (version != "00" && traceparent[kParentLength] == '-');
    const bool valid = dashes && ends && is_hexadecimal(version) && version != "ff" &&
                       is_hexadecimal(trace_id) && !is_zero(trace_id) &&
                       is_hexadecimal(parent_id) && !is_zero(parent_id) && is_hexadecimal(flags);
    if (!valid) {
        return std::nullopt;
    }
    return TraceContext{.trace_id = std::string(trace_id),
                        .parent_id = std::string(parent_id),
                        .span_id = random_hex(kSpanBytes),
                        .flags = std::string(flags),
                        .state = is_state(tracestate) ? std::string(tracestate) : std::string()};
}

}  // namespace belljar::access
