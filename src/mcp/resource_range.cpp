#include "mcp/resource_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/utf8.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kRangeKey = "belljar/range";

std::unexpected<RpcError> bad_question(std::string_view question) {
    return rpc_fail(RpcCode::InvalidParams,
                    fmt::format("\"?{}\" is not understood: behind a resource's address there may "
                                "be ?offset=N&length=N, whole numbers of bytes.",
                                make_valid_utf8(question.substr(0, 64))));
}

// False if it is no whole number.
bool read_number(std::string_view text, std::uint64_t& number) {
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && stopped == end;
}

// How many bytes at the front are the rest of a character that began before them.
std::size_t rest_of_character(std::string_view bytes) {
    std::size_t count = 0;
    while (count < bytes.size() && count < 3 &&
           (static_cast<unsigned char>(bytes[count]) & 0xC0U) == 0x80U) {
        ++count;
    }
    return count;
}

// How many bytes at the end are the beginning of a character that goes on behind them.
std::size_t beginning_of_character(std::string_view bytes) {
    for (std::size_t count = 1; count <= std::min<std::size_t>(3, bytes.size()); ++count) {
        const auto byte = static_cast<unsigned char>(bytes[bytes.size() - count]);
        if ((byte & 0xC0U) == 0xC0U) {
            const bool whole = utf8_character_length(bytes.substr(bytes.size() - count)) == count;
            return whole ? 0 : count;
        }
        if (byte < 0x80U) {
            return 0;
        }
    }
    return 0;
}

struct Text {
    std::string_view text{};
    std::size_t skipped = 0;  // bytes before it
};

// Nothing if it is no text.
std::optional<Text> find_text(const PartRead& part, std::uint64_t offset) {
    if (!is_text_type(part.mime)) {
        return std::nullopt;
    }
    std::string_view text = part.bytes;
    const std::size_t skipped = offset > 0 ? rest_of_character(text) : 0;
    const bool goes_on = offset + text.size() < part.total;
    text.remove_prefix(skipped);
    text.remove_suffix(goes_on ? beginning_of_character(text) : 0);
    const bool nothing_left = text.empty() && !part.bytes.empty();
    return nothing_left || !is_valid_utf8(text) ? std::nullopt : std::optional(Text{text, skipped});
}

}  // namespace

RpcResult<RangedUri> parse_ranged_uri(std::string_view uri) {
    const std::size_t mark = uri.find('?');
    RangedUri ranged{.uri = std::string(uri.substr(0, mark))};
    if (mark == std::string_view::npos) {
        return ranged;
    }
    const std::string_view question = uri.substr(mark + 1);
    std::string_view rest = question;
    while (!rest.empty()) {
        const std::string_view member = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(rest.size(), member.size() + 1));
        const std::size_t equals = member.find('=');
        const std::string_view name = member.substr(0, equals);
        const std::string_view value =
            equals == std::string_view::npos ? "" : member.substr(equals + 1);
        std::uint64_t number = 0;
        if (!read_number(value, number)) {
            return bad_question(question);
        }
        if (name == "offset") {
            ranged.offset = number;
        } else if (name == "length" && number > 0) {
            ranged.length = std::min(number, kMostPerRead);
        } else {
            return bad_question(question);
        }
    }
    return ranged;
}

RpcResult<ResourceContents> make_contents(const RangedUri& asked, PartRead part) {
    if (asked.offset > 0 && asked.offset >= part.total) {
        return rpc_fail(RpcCode::InvalidParams,
                        fmt::format("The offset {} lies behind the {} bytes that there are.",
                                    asked.offset, part.total));
    }
    const std::optional<Text> text = find_text(part, asked.offset);
    ResourcePart made{.uri = asked.uri,
                      .mime = std::move(part.mime),
                      .bytes = text ? std::string(text->text) : std::move(part.bytes),
                      .form = text ? ResourcePart::Form::Text : ResourcePart::Form::Blob};
    const std::uint64_t offset = asked.offset + (text ? text->skipped : 0);
    const std::uint64_t next = offset + made.bytes.size();
    json::object range{{"offset", offset}, {"bytes", made.bytes.size()}, {"total", part.total}};
    if (next < part.total) {
        range["next"] = fmt::format("{}?offset={}&length={}", asked.uri, next, asked.length);
    }
    made.meta[kRangeKey] = std::move(range);
    return ResourceContents{.parts = {std::move(made)}};
}

bool is_text_type(std::string_view mime) {
    constexpr std::array<std::string_view, 10> kTypes{
        "application/json",       "application/jsonl", "application/x-ndjson",   "application/xml",
        "application/yaml",       "application/toml",  "application/javascript", "application/sql",
        "application/typescript", "application/x-sh"};
    mime = mime.substr(0, mime.find(';'));
    return mime.starts_with("text/") || mime.ends_with("+json") || mime.ends_with("+xml") ||
           std::ranges::find(kTypes, mime) != kTypes.end();
}

RpcError files_right_lacking() {
    return {.code = RpcCode::InvalidRequest,
            .message = fmt::format("Reading this needs the right {}, which this caller does not "
                                   "have. Ask whoever runs this server for it.",
                                   access::name_of(access::Right::FilesRead))};
}

}  // namespace belljar::mcp
