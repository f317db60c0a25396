#include "attack_rendezvous.h"

namespace belljar::apps {
namespace {

constexpr std::string_view kReady = "ready\n";
constexpr std::string_view kGo = "go\n";
constexpr std::size_t kLongestWord = 4096;

}  // namespace

Result<engine::LiveStreams> Rendezvous::join() {
    BJ_TRY(Pipe pipe, make_pipe());
    const std::size_t guest = heard_.size();
    heard_.emplace_back();
    write_ends_.push_back(std::move(pipe.write_end));
    engine::LiveStreams live;
    live.stdin_source = std::move(pipe.read_end);
    live.watch.on_output = [this, guest](engine::OutputStream stream, std::string_view data) {
        if (stream == engine::OutputStream::Stdout) {
            hear(guest, data);
        }
    };
    return live;
}

void Rendezvous::hear(std::size_t guest, std::string_view data) {
    std::string& heard = heard_[guest];
    const bool was_ready = heard.find(kReady) != std::string::npos;
    if (was_ready || heard.size() + data.size() > kLongestWord) {
        return;
    }
    heard += data;
    if (heard.find(kReady) == std::string::npos || ++ready_ != expected_) {
        return;
    }
    when_all_ready_();
    for (const Fd& end : write_ends_) {
        // A guest that has gone meanwhile is judged by how it ended.
        [[maybe_unused]] const Result<void> written = write_all(end, kGo);
    }
    write_ends_.clear();
}

}  // namespace belljar::apps
