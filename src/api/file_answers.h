#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "access/http_message.h"
#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/conversations.h"
#include "execution/conversation.h"

namespace belljar::api {

// A file in lists and answers.
[[nodiscard]] json::object file_json(const execution::FileView& file);
// "2026-03-03T10:11:12Z"
[[nodiscard]] std::string iso_time(execution::WallTime time);

// A file of a conversation, or a range of it, with all that a client wants to know about it, as a
// browser may show it without harm: a guest chose these bytes. Everything that the request's
// headers ask for is done. The conversations are borrowed.
Task<access::HttpResponse> send_file(engine::Conversations* conversations,
                                     access::HttpRequest request, execution::FileName name);

// The file as it is, with a tag; NotFound if there is none.
Task<Result<execution::FileView>> look_at(engine::Conversations* conversations,
                                          execution::FileName name);

// What the body of a request is, as a file to be read at any place.
struct BodySource {
    Fd file{};
    std::uint64_t size = 0;
};
[[nodiscard]] Result<BodySource> open_body(const access::HttpRequest& request);

}  // namespace belljar::api
