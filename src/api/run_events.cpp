#include "api/run_events.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "access/event_stream.h"
#include "base/json.h"
#include "base/utf8.h"
#include "execution/error_wire.h"
#include "outcome/result_json.h"

namespace belljar::api {
namespace {

using engine::OutputStream;

// Of the text of one event, so that one piece is never a large part of the queue.
constexpr std::size_t kLongestText = 16 * 1024;

}  // namespace

engine::RunWatch RunEvents::watch() {
    return {.on_start = [this](const engine::RunStart& begun) { start(begun); },
            .on_output =
                [this](OutputStream stream, std::string_view bytes) {
                    show(stream, channel_of(stream).characters.take(bytes));
                }};
}

void RunEvents::start(const engine::RunStart& begun) {
    stream_->open(access::event_stream_head());
    stream_->put(event("started", to_text(json::object{{"execution_id", begun.execution_id},
                                                       {"language", begun.language}})));
}

void RunEvents::show(OutputStream stream, std::string_view text) {
    while (!text.empty()) {
        const std::string_view part = utf8_beginning(text, kLongestText);
        text.remove_prefix(part.size());
        const bool shown =
            tell_dropped() && stream_->offer(event(execution::name_of(stream),
                                                   to_text(json::object{{"text", part}})));
        channel_of(stream).dropped += shown ? 0 : part.size();
    }
}

// True if nothing is left to be told.
bool RunEvents::tell_dropped() {
    if (!has_dropped()) {
        return true;
    }
    if (!stream_->offer(dropped_event())) {
        return false;
    }
    channels_[0].dropped = channels_[1].dropped = 0;
    return true;
}

bool RunEvents::has_dropped() const { return channels_[0].dropped + channels_[1].dropped > 0; }

std::string RunEvents::dropped_event() {
    return event("dropped", to_text(json::object{{"stdout_bytes", channels_[0].dropped},
                                                 {"stderr_bytes", channels_[1].dropped}}));
}

void RunEvents::show_rest() {
    for (const OutputStream stream : {OutputStream::Stdout, OutputStream::Stderr}) {
        show(stream, channel_of(stream).characters.finish());
    }
    if (has_dropped()) {
        stream_->put(dropped_event());
    }
}

void RunEvents::finish(const execution::RunResult& result) {
    show_rest();
    stream_->put(event("result", to_text(outcome::to_json(result))));
}

void RunEvents::fail(const Error& error) {
    show_rest();
    stream_->put(event(
        "error", to_text(json::object{{"error", make_valid_utf8(execution::client_message(error))},
                                      {"status", execution::http_status(error.code)}})));
}

std::string RunEvents::event(std::string_view name, std::string data) {
    return access::format_event(
        {.id = std::to_string(++events_), .name = std::string(name), .data = std::move(data)});
}

RunEvents::Channel& RunEvents::channel_of(OutputStream stream) {
    return channels_[stream == OutputStream::Stdout ? 0 : 1];
}

}  // namespace belljar::api
