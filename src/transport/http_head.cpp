#include "transport/http_head.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"

namespace belljar::transport {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kLongestMethod = 32;
constexpr std::size_t kMostDigits = 20;  // of a length; the parser refuses what 64 bits do not hold

HeadFault bad(std::string_view what) {
    return {.status = 400, .message = fmt::format("not a valid HTTP/1.1 request: {}", what)};
}

constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

constexpr bool is_token_letter(char letter) {
    constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
    return is_digit(letter) || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') || kMarks.contains(letter);
}

bool is_token(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_token_letter);
}

// Takes the next line off the front, without its end.
std::string_view take_line(std::string_view& rest) {
    const std::size_t end = std::min(rest.find(kLineEnd), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + kLineEnd.size(), rest.size()));
    return line;
}

// A letter that no head has, anywhere.
bool is_forbidden(std::string_view bytes, std::size_t index) {
    const auto letter = static_cast<unsigned char>(bytes[index]);
    if (letter == '\n') {
        return index == 0 || bytes[index - 1] != '\r';
    }
    if (letter == '\r') {
        return index + 1 < bytes.size() && bytes[index + 1] != '\n';
    }
    return (letter < 0x20 && letter != '\t') || letter == 0x7F;
}

std::optional<HeadFault> check_letters(std::string_view bytes) {
    for (std::size_t index = 0; index < bytes.size(); ++index) {
        if (is_forbidden(bytes, index)) {
            return bad("a control character, or a line that does not end with CR and LF");
        }
    }
    return std::nullopt;
}

// A line break, or the end of a text in C, that would come out of decoding the path.
std::optional<HeadFault> check_target(std::string_view method, std::string_view target) {
    if (target == "*" && method == "OPTIONS") {
        return std::nullopt;
    }
    if (!target.starts_with('/')) {
        return bad("the target must be a path, which begins with /");
    }
    if (!std::ranges::all_of(target, [](char letter) { return letter > ' ' && letter < 0x7F; }) ||
        target.contains('#')) {
        return bad("the target has characters that must be encoded");
    }
    const std::string lower = to_lower(target);
    const std::string path = lower.substr(0, lower.find('?'));
    if (path.contains("%0d") || path.contains("%0a") || path.contains("%00") ||
        lower.contains("%0d%0a")) {
        return bad("the target holds an encoded line break or NUL");
    }
    return std::nullopt;
}

std::optional<HeadFault> check_request_line(std::string_view line) {
    const std::size_t first = line.find(' ');
    const std::size_t last = line.rfind(' ');
    if (first == std::string_view::npos || first == last) {
        return bad("the first line must be a method, a path and HTTP/1.1");
    }
    const std::string_view method = line.substr(0, first);
    const std::string_view version = line.substr(last + 1);
    if (!is_token(method) || method.size() > kLongestMethod ||
        (version != "HTTP/1.1" && version != "HTTP/1.0")) {
        return bad("the first line must be a method, a path and HTTP/1.1");
    }
    return check_target(method, line.substr(first + 1, last - first - 1));
}

// What the headers say about where the body ends.
struct Framing {
    std::size_t lengths = 0;
    std::size_t encodings = 0;
    std::size_t hosts = 0;
};

std::optional<HeadFault> check_field(std::string_view line, Framing& framing) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
        return bad("a header must be a name, a colon and a value, on one line");
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    if (equals_ignoring_case(name, "content-length")) {
        ++framing.lengths;
        if (value.empty() || value.size() > kMostDigits || !std::ranges::all_of(value, is_digit)) {
            return bad("Content-Length must be a number");
        }
    }
    if (equals_ignoring_case(name, "transfer-encoding")) {
        ++framing.encodings;
        if (to_lower(value) != "chunked") {
            return bad("the only Transfer-Encoding taken is chunked");
        }
    }
    framing.hosts += equals_ignoring_case(name, "host") ? 1 : 0;
    return std::nullopt;
}

HeadFault too_large(const HeadLimits& limits) {
    return {.status = 431,
            .message =
                fmt::format("the headers are larger than the {} bytes allowed", limits.size.count)};
}

HeadFault line_too_long(const HeadLimits& limits) {
    return {.status = 414,
            .message = fmt::format("the first line is longer than the {} bytes allowed",
                                   limits.request_line.count)};
}

}  // namespace

std::optional<std::size_t> find_end_of_head(std::string_view bytes) {
    constexpr std::string_view kEnd = "\r\n\r\n";
    const std::size_t end = bytes.find(kEnd);
    return end == std::string_view::npos ? std::nullopt : std::optional(end + kEnd.size());
}

std::optional<HeadFault> find_early_fault(std::string_view bytes, const HeadLimits& limits) {
    if (bytes.size() > limits.size.count) {
        return too_large(limits);
    }
    return check_letters(bytes);
}

std::optional<HeadFault> find_fault(std::string_view head, const HeadLimits& limits) {
    if (std::optional<HeadFault> fault = find_early_fault(head, limits)) {
        return fault;
    }
    std::string_view rest = head;
    const std::string_view request_line = take_line(rest);
    if (request_line.size() > limits.request_line.count) {
        return line_too_long(limits);
    }
    if (std::optional<HeadFault> fault = check_request_line(request_line)) {
        return fault;
    }
    Framing framing;
    std::size_t headers = 0;
    for (std::string_view line = take_line(rest); !line.empty(); line = take_line(rest)) {
        if (++headers > limits.headers) {
            return HeadFault{
                .status = 431,
                .message = fmt::format("more than the {} headers allowed", limits.headers)};
        }
        if (std::optional<HeadFault> fault = check_field(line, framing)) {
            return fault;
        }
    }
    if (framing.lengths + framing.encodings > 1) {
        return bad("the length of the body is said more than once");
    }
    if (framing.encodings > 0 && request_line.ends_with("1.0")) {
        return bad("HTTP/1.0 has no Transfer-Encoding");
    }
    return framing.hosts > 1 ? std::optional(bad("there is more than one Host")) : std::nullopt;
}

}  // namespace belljar::transport
