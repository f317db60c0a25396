#include "audit/copies.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "audit/line.h"
#include "base/clock.h"

namespace belljar::audit {
namespace {

constexpr std::size_t kMostLines = 10'000;
constexpr std::size_t kMostBytes = std::size_t{16} * 1024 * 1024;
constexpr std::size_t kLongestCopy = std::size_t{48} * 1024;  // what a datagram can surely take
constexpr int kPatienceForReader = 200;                       // ms, for a reader that is slow
constexpr Duration kFarewell = std::chrono::seconds(2);
constexpr int kPriority = 13 * 8 + 5;  // facility "log audit", severity "notice"

// A record that is too long for a datagram is named by what proves it.
std::string short_form(std::string_view line) {
    if (line.size() <= kLongestCopy) {
        return std::string(line);
    }
    const Result<LineParts> parts = split_line(line);
    if (!parts) {
        return std::string(line.substr(0, kLongestCopy));
    }
    return to_text(json::object{{"seq", parts->seq},
                                {"time", parts->time},
                                {"kind", parts->kind},
                                {"hash", parts->hash},
                                {"bytes", line.size()}});
}

std::string_view without_break(std::string_view line) {
    if (line.ends_with('\n')) {
        line.remove_suffix(1);
    }
    return line;
}

bool wait_until_writable(int fd) {
    pollfd waited{.fd = fd, .events = POLLOUT, .revents = 0};
    return ::poll(&waited, 1, kPatienceForReader) > 0 && (waited.revents & POLLOUT) != 0;
}

Fd connect_datagram(const std::string& path) {
    Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (!socket.valid() || path.size() >= sizeof(address.sun_path)) {
        return Fd();
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    return ::connect(socket.get(), generic, sizeof(address)) == 0 ? std::move(socket) : Fd();
}

}  // namespace

Result<std::vector<CopyTarget>> parse_copy_targets(const std::vector<std::string>& names) {
    std::vector<CopyTarget> targets;
    for (const std::string& name : names) {
        if (name == "stdout") {
            targets.push_back(CopyTarget::Stdout);
        } else if (name == "syslog") {
            targets.push_back(CopyTarget::Syslog);
        } else if (name == "journald") {
            targets.push_back(CopyTarget::Journald);
        } else {
            return fail(ErrorCode::InvalidArgument,
                        "audit.copies: stdout, syslog and journald are known");
        }
    }
    return targets;
}

std::string syslog_message(std::string_view line, std::string_view time) {
    return fmt::format("<{}>1 {} - belljar {} audit - {}", kPriority, time, ::getpid(), line);
}

std::string journal_message(std::string_view line) {
    const Result<LineParts> parts = split_line(line);
    return fmt::format(
        "MESSAGE={}\nPRIORITY=5\nSYSLOG_FACILITY=13\nSYSLOG_IDENTIFIER=belljar-audit\n"
        "BELLJAR_AUDIT_SEQ={}\nBELLJAR_AUDIT_KIND={}\nBELLJAR_AUDIT_HASH={}\n",
        line, parts ? parts->seq : 0, parts ? parts->kind : "", parts ? parts->hash : "");
}

Copies::Copies(std::vector<CopyTarget> targets, Places places)
    : targets_(std::move(targets)), places_(std::move(places)), thread_([this] { serve(); }) {}

Copies::~Copies() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Copies::send(std::string_view line) {
    {
        const std::lock_guard lock(mutex_);
        if (queue_.size() >= kMostLines || queued_bytes_ + line.size() > kMostBytes) {
            lost_ += targets_.size();
            return;
        }
        queue_.emplace_back(line);
        queued_bytes_ += line.size();
    }
    changed_.notify_one();
}

void Copies::serve() {
    std::unique_lock lock(mutex_);
    TimePoint give_up = TimePoint::max();
    while (true) {
        changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
        if (closing_ && give_up == TimePoint::max()) {
            give_up = Clock::now() + kFarewell;
        }
        if (queue_.empty()) {
            return;
        }
        const std::string line = std::move(queue_.front());
        queue_.pop_front();
        queued_bytes_ -= line.size();
        lock.unlock();
        for (const CopyTarget target : targets_) {
            if (Clock::now() >= give_up || !deliver(target, line)) {
                ++lost_;
            }
        }
        lock.lock();
    }
}

bool Copies::deliver(CopyTarget target, const std::string& line) {
    if (target == CopyTarget::Stdout) {
        return write_out(line);
    }
    const std::string copy = short_form(without_break(line));
    if (target == CopyTarget::Journald) {
        return send_datagram(journald_, places_.journald, journal_message(copy));
    }
    return send_datagram(syslog_, places_.syslog, syslog_message(copy, utc_timestamp()));
}

// A line that was begun is completed before another is.
bool Copies::write_out(std::string_view line) {
    const bool begun = !unwritten_.empty();
    unwritten_ += line;
    const std::size_t whole = unwritten_.size();
    while (!unwritten_.empty()) {
        if (!wait_until_writable(places_.standard_output)) {
            break;
        }
        // A pipe that is ready takes at least this much without waiting.
        const std::size_t size = std::min<std::size_t>(unwritten_.size(), PIPE_BUF);
        const ssize_t written = ::write(places_.standard_output, unwritten_.data(), size);
        if (written <= 0 && errno != EINTR) {
            break;
        }
        unwritten_.erase(0, static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    if (unwritten_.empty()) {
        return true;
    }
    if (unwritten_.size() == whole && !begun) {
        unwritten_.clear();  // nothing of it left
    } else if (unwritten_.size() >= line.size()) {
        unwritten_.resize(unwritten_.size() - line.size());  // only the one before has begun
    }
    return false;
}

bool Copies::send_datagram(Fd& socket, const std::string& path, std::string_view text) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (!socket.valid()) {
            socket = connect_datagram(path);
        }
        if (!socket.valid()) {
            return false;
        }
        if (::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
            return true;
        }
        if (errno == EAGAIN || errno == ENOBUFS) {
            static_cast<void>(wait_until_writable(socket.get()));
        } else {
            socket.reset();  // its reader began anew
        }
    }
    return false;
}

}  // namespace belljar::audit
