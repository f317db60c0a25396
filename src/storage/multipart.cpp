#include "storage/multipart.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/ascii.h"
#include "base/percent.h"

namespace belljar::storage {
namespace {

constexpr std::size_t kLongestBoundary = 70;  // RFC 2046, section 5.1.1
constexpr std::size_t kMostLines = 16;

std::unexpected<Error> refuse(std::string_view why) {
    return fail(ErrorCode::InvalidArgument, fmt::format("the form cannot be read: {}", why));
}

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool is_token_letter(char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= 'a' && letter <= 'z') || std::string_view("!#$%&'*+-.^_`|~").contains(letter);
}

bool is_boundary_letter(char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= 'a' && letter <= 'z') || std::string_view("'()+_,-./:=? ").contains(letter);
}

struct Parameter {
    std::string name{};  // in lower case
    std::string value{};
};

// A value in quotes. Of the escapes only \" and \\ are ones: paths of Windows have backslashes.
Result<std::string> read_quoted(std::string_view& text) {
    std::string value;
    for (std::size_t index = 1; index < text.size(); ++index) {
        const char letter = text[index];
        if (letter == '"') {
            text.remove_prefix(index + 1);
            return value;
        }
        const bool escapes = letter == '\\' && index + 1 < text.size() &&
                             (text[index + 1] == '"' || text[index + 1] == '\\');
        index += escapes ? 1 : 0;
        value += text[index];
    }
    return refuse("a quotation mark is missing");
}

// "form-data; name="x"; filename="y"": the first word, in lower case, and what follows.
Result<std::vector<Parameter>> read_parameters(std::string_view text, std::string& kind) {
    const std::size_t first = std::min(text.find(';'), text.size());
    kind = to_lower(std::string(trimmed(text.substr(0, first))));
    text.remove_prefix(first);
    std::vector<Parameter> parameters;
    while (!(text = trimmed(text)).empty()) {
        if (text.front() != ';') {
            return refuse("a semicolon is missing in a header");
        }
        text = trimmed(text.substr(1));
        const std::size_t length = static_cast<std::size_t>(
            std::ranges::find_if_not(text, is_token_letter) - text.begin());
        if (length == 0 || length >= text.size() || text[length] != '=') {
            return refuse("a parameter of a header has no name or no value");
        }
        Parameter parameter{.name = to_lower(std::string(text.substr(0, length)))};
        text.remove_prefix(length + 1);
        if (text.starts_with('"')) {
            BJ_TRY(parameter.value, read_quoted(text));
        } else {
            const std::size_t end = static_cast<std::size_t>(
                std::ranges::find_if_not(text, is_token_letter) - text.begin());
            parameter.value = std::string(text.substr(0, end));
            text.remove_prefix(end);
        }
        if (std::ranges::find(parameters, parameter.name, &Parameter::name) != parameters.end()) {
            return refuse("a header has a parameter twice");
        }
        parameters.push_back(std::move(parameter));
    }
    return parameters;
}

// As browsers write a quotation mark.
std::string with_quotes(std::string text) {
    for (std::size_t at = text.find("%22"); at != std::string::npos; at = text.find("%22", at)) {
        text.replace(at, 3, "\"");
    }
    return text;
}

// RFC 8187: charset'language'percent-encoded.
Result<std::string> read_extended(const std::string& value) {
    const std::size_t first = value.find('\'');
    const std::size_t second = value.find('\'', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos || to_lower(value.substr(0, first)) != "utf-8") {
        return refuse("a file's name is not in UTF-8");
    }
    std::optional<std::string> decoded = percent_decoded(value.substr(second + 1));
    return decoded ? Result<std::string>(std::move(*decoded))
                   : refuse("a file's name is not encoded as it should be");
}

Result<PartHead> read_disposition(std::string_view value) {
    std::string kind;
    BJ_TRY(const std::vector<Parameter> parameters, read_parameters(value, kind));
    if (kind != "form-data") {
        return refuse("each part needs Content-Disposition: form-data");
    }
    PartHead head;
    std::optional<std::string> extended;
    bool named = false;
    for (const Parameter& parameter : parameters) {
        if (parameter.name == "name") {
            head.field = with_quotes(parameter.value);
            named = true;
        } else if (parameter.name == "filename") {
            head.file_name = with_quotes(parameter.value);
        } else if (parameter.name == "filename*") {
            BJ_TRY(extended, read_extended(parameter.value));
        }
    }
    if (!named) {
        return refuse("a part has no name");
    }
    if (extended) {
        head.file_name = std::move(extended);
    }
    return head;
}

Result<void> check_line(std::string_view name, std::string_view value) {
    const std::string lower = to_lower(std::string(value));
    if (name == "content-type" && lower.starts_with("multipart/")) {
        return refuse("a part may not consist of parts");
    }
    if (name == "content-transfer-encoding" && lower != "binary" && lower != "8bit" &&
        lower != "7bit") {
        return refuse("a part may not have a transfer encoding");
    }
    return {};
}

// Lines that each end with CRLF.
Result<PartHead> read_head(std::string_view header) {
    std::optional<PartHead> head;
    for (std::size_t lines = 0; !header.empty(); ++lines) {
        const std::size_t end = header.find("\r\n");
        const std::string_view line = header.substr(0, end);
        header.remove_prefix(end + 2);
        const std::size_t colon = line.find(':');
        if (lines == kMostLines || colon == std::string_view::npos || colon == 0 ||
            !std::ranges::all_of(line.substr(0, colon), is_token_letter)) {
            return refuse("the header of a part is damaged or too long");
        }
        const std::string name = to_lower(std::string(line.substr(0, colon)));
        const std::string_view value = trimmed(line.substr(colon + 1));
        BJ_TRY_VOID(check_line(name, value));
        if (name != "content-disposition") {
            continue;
        }
        if (head) {
            return refuse("a part has two dispositions");
        }
        BJ_TRY(head, read_disposition(value));
    }
    if (!head) {
        return refuse("each part needs Content-Disposition: form-data");
    }
    return *head;
}

}  // namespace

Result<std::string> multipart_boundary(std::string_view content_type) {
    std::string kind;
    BJ_TRY(const std::vector<Parameter> parameters, read_parameters(content_type, kind));
    const auto boundary = std::ranges::find(parameters, "boundary", &Parameter::name);
    if (kind != "multipart/form-data") {
        return refuse("send it with Content-Type: multipart/form-data");
    }
    if (boundary == parameters.end() || boundary->value.empty() ||
        boundary->value.size() > kLongestBoundary || boundary->value.ends_with(' ') ||
        !std::ranges::all_of(boundary->value, is_boundary_letter)) {
        return refuse("its Content-Type needs a boundary of 1 to 70 letters");
    }
    return boundary->value;
}

Result<void> MultipartParser::feed(std::string_view data) {
    waiting_ += data;
    while (true) {
        BJ_TRY(const bool more, step());
        if (!more) {
            return {};
        }
    }
}

Result<void> MultipartParser::finish() const {
    if (place_ != Place::Ended) {
        return refuse("its end is missing");
    }
    return {};
}

Result<bool> MultipartParser::step() {
    switch (place_) {
        case Place::Start:
            return read_start();
        case Place::AfterBoundary:
            return read_after_boundary();
        case Place::Header:
            return read_header();
        case Place::Content:
            return read_content();
        case Place::Ended:
            break;
    }
    // An end of line is customary.
    if (offset_ + waiting_.size() > content_ + 2 ||
        !std::string_view("\r\n").starts_with(waiting_)) {
        return refuse("something follows its end");
    }
    return false;
}

void MultipartParser::drop(std::size_t count) {
    waiting_.erase(0, count);
    offset_ += count;
}

// The first boundary has no end of line before it.
Result<bool> MultipartParser::read_start() {
    const std::string_view first = std::string_view(delimiter_).substr(2);
    const std::size_t known = std::min(first.size(), waiting_.size());
    if (waiting_.compare(0, known, first.substr(0, known)) != 0) {
        return refuse("it does not begin with its boundary");
    }
    if (known < first.size()) {
        return false;
    }
    drop(first.size());
    place_ = Place::AfterBoundary;
    return true;
}

Result<bool> MultipartParser::read_after_boundary() {
    if (waiting_.size() < 2) {
        return false;
    }
    const bool last = waiting_.starts_with("--");
    if (!last && !waiting_.starts_with("\r\n")) {
        return refuse("a boundary has something behind it");
    }
    drop(2);
    content_ = offset_;
    place_ = last ? Place::Ended : Place::Header;
    return true;
}

Result<bool> MultipartParser::read_header() {
    const std::size_t end = waiting_.find("\r\n\r\n");
    if (std::min(end, waiting_.size()) > kMostHeader) {
        return fail(ErrorCode::TooLarge, "the header of a part of the form is too long");
    }
    if (end == std::string::npos) {
        return false;
    }
    if (++parts_ > kMostParts) {
        return fail(ErrorCode::TooLarge,
                    fmt::format("the form has more than {} parts", kMostParts));
    }
    BJ_TRY(const PartHead head, read_head(std::string_view(waiting_).substr(0, end + 2)));
    drop(end + 4);
    content_ = offset_;
    place_ = Place::Content;
    BJ_TRY_VOID(sink_.on_part(head, content_));
    return true;
}

Result<bool> MultipartParser::read_content() {
    const std::size_t end = waiting_.find(delimiter_);
    if (end == std::string::npos) {
        // The delimiter may have begun.
        const std::size_t kept = std::min(waiting_.size(), delimiter_.size() - 1);
        drop(waiting_.size() - kept);
        return false;
    }
    const std::uint64_t length = offset_ + end - content_;
    drop(end + delimiter_.size());
    place_ = Place::AfterBoundary;
    BJ_TRY_VOID(sink_.on_end(length));
    return true;
}

}  // namespace belljar::storage
