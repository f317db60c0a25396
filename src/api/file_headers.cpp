#include "api/file_headers.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/percent.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using execution::FileCondition;
using execution::FileView;
using execution::WallTime;

constexpr std::size_t kMostTags = 64;
constexpr const char* kDateForm = "%a, %d %b %Y %H:%M:%S GMT";

std::string tag_text(const FileView& file) {
    return file.revision.empty() ? file.sha256 : file.revision;
}

std::string_view without_space(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

std::unexpected<Error> bad_tags() {
    return fail(ErrorCode::InvalidArgument,
                "If-Match and If-None-Match take \"*\" or tags in quotation marks");
}

// Headers know whole seconds only.
std::chrono::sys_seconds whole(WallTime time) {
    return std::chrono::floor<std::chrono::seconds>(time);
}

std::optional<WallTime> date_in(const HttpRequest& request, std::string_view name) {
    const std::optional<std::string> text = request.header(name);
    return text ? parse_http_date(*text) : std::nullopt;
}

std::string last_name(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1));  // npos + 1 is 0
}

}  // namespace

std::string entity_tag(const FileView& file) {
    const std::string text = tag_text(file);
    return text.empty() ? "" : "\"" + text + "\"";
}

std::string http_date(WallTime time) {
    return fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

std::optional<WallTime> parse_http_date(const std::string& text) {
    std::tm parts{};
    const char* end = ::strptime(text.c_str(), kDateForm, &parts);
    if (end == nullptr || *end != '\0') {
        return std::nullopt;
    }
    return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

bool TagList::has(std::string_view tag) const {
    return any || std::ranges::any_of(
                      tags, [tag](const Tag& one) { return !one.weak && one.text == tag; });
}

bool TagList::has_weakly(std::string_view tag) const {
    return any || std::ranges::any_of(tags, [tag](const Tag& one) { return one.text == tag; });
}

Result<TagList> parse_tags(std::string_view header) {
    TagList list;
    header = without_space(header);
    if (header == "*") {
        list.any = true;
        return list;
    }
    while (true) {
        TagList::Tag tag{.weak = header.starts_with("W/")};
        header.remove_prefix(tag.weak ? 2 : 0);
        const std::size_t end = header.find('"', 1);
        if (!header.starts_with('"') || end == std::string_view::npos ||
            list.tags.size() == kMostTags) {
            return bad_tags();
        }
        tag.text = std::string(header.substr(1, end - 1));
        list.tags.push_back(std::move(tag));
        header = without_space(header.substr(end + 1));
        if (header.empty()) {
            return list;
        }
        if (header.front() != ',') {
            return bad_tags();
        }
        header = without_space(header.substr(1));
    }
}

Result<Freshness> judge_freshness(const HttpRequest& request, const FileView& file) {
    const std::string tag = tag_text(file);
    if (const std::optional<std::string> header = request.header("If-Match")) {
        BJ_TRY(const TagList list, parse_tags(*header));
        if (!list.has(tag)) {
            return Freshness::Failed;
        }
    } else if (const auto since = date_in(request, "If-Unmodified-Since");
               since && whole(file.modified) > whole(*since)) {
        return Freshness::Failed;
    }
    if (const std::optional<std::string> header = request.header("If-None-Match")) {
        BJ_TRY(const TagList list, parse_tags(*header));
        return list.has_weakly(tag) ? Freshness::NotModified : Freshness::Send;
    }
    const auto since = date_in(request, "If-Modified-Since");
    return since && whole(file.modified) <= whole(*since) ? Freshness::NotModified
                                                          : Freshness::Send;
}

std::string range_for(const HttpRequest& request, const FileView& file) {
    if (const std::optional<std::string> condition = request.header("If-Range")) {
        const std::optional<WallTime> date = parse_http_date(*condition);
        // A time is good enough only if nothing can have changed within its second unseen.
        const bool settled =
            std::chrono::system_clock::now() - file.modified > std::chrono::seconds(2);
        const bool same = date ? settled && whole(*date) == whole(file.modified)
                               : !entity_tag(file).empty() && *condition == entity_tag(file);
        if (!same) {
            return "";
        }
    }
    return request.header("Range").value_or("");
}

bool WriteHeaders::need_file() const {
    const bool several = match && !match->any && match->tags.size() != 1;
    return several || (none_match && !none_match->any);
}

Result<WriteHeaders> read_write_headers(const HttpRequest& request) {
    WriteHeaders headers;
    if (const std::optional<std::string> header = request.header("If-Match")) {
        BJ_TRY(headers.match, parse_tags(*header));
    }
    if (const std::optional<std::string> header = request.header("If-None-Match")) {
        BJ_TRY(headers.none_match, parse_tags(*header));
    }
    if (headers.match && headers.none_match) {
        return fail(ErrorCode::InvalidArgument, "send If-Match or If-None-Match, not both");
    }
    return headers;
}

Result<FileCondition> condition_of(const WriteHeaders& headers,
                                   const std::optional<FileView>& file) {
    using Kind = FileCondition::Kind;
    if (headers.none_match && headers.none_match->any) {
        return FileCondition{.kind = Kind::Absent};
    }
    if (headers.match && headers.match->any) {
        return FileCondition{.kind = Kind::Present};
    }
    if (headers.match && headers.match->tags.size() == 1 && !headers.match->tags.front().weak) {
        return FileCondition{.kind = Kind::Matches, .tag = headers.match->tags.front().text};
    }
    if (!headers.match && !headers.none_match) {
        return FileCondition{};
    }
    const bool holds = headers.match ? file && headers.match->has(tag_text(*file))
                                     : !file || !headers.none_match->has_weakly(tag_text(*file));
    if (!holds) {
        return fail(ErrorCode::Precondition, "the file is not what the request takes it for");
    }
    // Whoever changes it meanwhile has to be noticed.
    return file ? FileCondition{.kind = Kind::Matches, .tag = tag_text(*file)}
                : FileCondition{.kind = Kind::Absent};
}

Presentation presentation_of(std::string_view mime) {
    constexpr std::array<std::string_view, 11> kHarmless{
        "text/plain", "text/csv",      "text/markdown",   "text/tab-separated-values",
        "image/png",  "image/gif",     "image/jpeg",      "image/webp",
        "image/bmp",  "text/x-python", "application/json"};
    const bool harmless = std::ranges::find(kHarmless, mime) != kHarmless.end() ||
                          mime.starts_with("audio/") || mime.starts_with("video/");
    return harmless ? Presentation::Inline : Presentation::Attachment;
}

std::string content_disposition(Presentation presentation, std::string_view path) {
    const std::string name = last_name(path);
    std::string plain;
    for (const char letter : name) {
        const bool fits =
            letter >= ' ' && letter < 0x7F && letter != '"' && letter != '\\' && letter != '%';
        plain += fits ? letter : '_';
    }
    const std::string_view how = presentation == Presentation::Inline ? "inline" : "attachment";
    return plain == name ? fmt::format("{}; filename=\"{}\"", how, plain)
                         : fmt::format("{}; filename=\"{}\"; filename*=UTF-8''{}", how, plain,
                                       percent_encoded(name));
}

std::string content_type_of(const std::string& mime) {
    return mime.starts_with("text/") ? mime + "; charset=utf-8" : mime;
}

}  // namespace belljar::api
