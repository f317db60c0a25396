#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/http_message.h"
#include "base/result.h"
#include "execution/conversation.h"

namespace belljar::api {

// The tag of a file as headers have it, in quotation marks; empty if none is known.
[[nodiscard]] std::string entity_tag(const execution::FileView& file);

// "Tue, 03 Mar 2026 10:11:12 GMT", and back; nothing if it is no such time.
[[nodiscard]] std::string http_date(execution::WallTime time);
[[nodiscard]] std::optional<execution::WallTime> parse_http_date(const std::string& text);

// The tags of If-Match or If-None-Match, without quotation marks.
struct TagList {
    struct Tag {
        std::string text{};
        bool weak = false;
    };

    bool any = false;  // "*"
    std::vector<Tag> tags{};

    // Strongly: a weak tag is not the same as anything.
    [[nodiscard]] bool has(std::string_view tag) const;
    [[nodiscard]] bool has_weakly(std::string_view tag) const;
};
// InvalidArgument if it is no such list.
[[nodiscard]] Result<TagList> parse_tags(std::string_view header);

// What the headers of a request say about sending a file, by RFC 9110, section 13.2.2.
enum class Freshness { Send, NotModified, Failed };
[[nodiscard]] Result<Freshness> judge_freshness(const access::HttpRequest& request,
                                                const execution::FileView& file);
// The Range header, unless If-Range says that the client has a part of another file.
[[nodiscard]] std::string range_for(const access::HttpRequest& request,
                                    const execution::FileView& file);

// What the headers of a request say about changing a file.
struct WriteHeaders {
    std::optional<TagList> match{};
    std::optional<TagList> none_match{};

    // Whether the file has to be looked at to know the condition.
    [[nodiscard]] bool need_file() const;
};
[[nodiscard]] Result<WriteHeaders> read_write_headers(const access::HttpRequest& request);
// `file`: as it is; nothing if there is none, or if it need not be known. Precondition if it is
// clear already that the headers do not hold.
[[nodiscard]] Result<execution::FileCondition> condition_of(
    const WriteHeaders& headers, const std::optional<execution::FileView>& file);

// How a browser treats what it gets.
enum class Presentation { Inline, Attachment };
// Inline only for what runs nothing.
[[nodiscard]] Presentation presentation_of(std::string_view mime);
// With the last name of the path, in ASCII and by RFC 8187.
[[nodiscard]] std::string content_disposition(Presentation presentation, std::string_view path);
// The type with the character set that text is sent in.
[[nodiscard]] std::string content_type_of(const std::string& mime);

}  // namespace belljar::api
