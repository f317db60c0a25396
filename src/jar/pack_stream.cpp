#include "jar/pack_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/beneath.h"

namespace belljar::jar {
namespace {

constexpr std::size_t kPiece = 256UL * 1024;

std::unexpected<Error> malformed(std::string_view what) {
    return fail(ErrorCode::InvalidArgument,
                "a stream of files that makes no sense: " + std::string(what));
}

bool has_path(PackKind kind) {
    return kind == PackKind::Directory || kind == PackKind::File || kind == PackKind::Gone ||
           kind == PackKind::Read;
}

Result<void> await(const Fd& socket, short events, TimePoint deadline) {
    while (true) {
        int milliseconds = -1;
        if (deadline != TimePoint::max()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
            milliseconds = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
        }
        pollfd entry{.fd = socket.get(), .events = events, .revents = 0};
        const int ready = ::poll(&entry, 1, milliseconds);
        if (ready > 0) {
            return {};
        }
        if (ready < 0 && errno != EINTR) {
            return fail(system_error("poll"));
        }
        if (Clock::now() >= deadline) {
            return fail(ErrorCode::Unavailable, "files took too long on their way");
        }
    }
}

Result<void> receive_exactly(const Fd& socket, std::string& buffer, TimePoint deadline) {
    std::size_t filled = 0;
    while (filled < buffer.size()) {
        const ssize_t count =
            ::recv(socket.get(), buffer.data() + filled, buffer.size() - filled, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno == ECONNRESET)) {
            return fail(ErrorCode::Unavailable, "a stream of files without an end");
        }
        if (count > 0) {
            filled += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN) {
            BJ_TRY_VOID(await(socket, POLLIN, deadline));
        } else if (errno != EINTR) {
            return fail(system_error("recv"));
        }
    }
    return {};
}

}  // namespace

Result<void> PackParser::feed(std::string_view bytes) {
    if (ended_ || bytes.size() != wanted()) {
        return malformed("more than there is");
    }
    if (in_body_) {
        in_body_ = false;
        return take_record(bytes);
    }
    std::memcpy(&header_, bytes.data(), sizeof(header_));
    BJ_TRY_VOID(check_header());
    if (header_.length > 0) {
        in_body_ = true;
        return {};
    }
    return take_record({});
}

Result<void> PackParser::check_header() const {
    const PackKind kind = header_.kind;
    if (kind < PackKind::Directory || kind > kLastPackKind || header_.executable > 1 ||
        header_.reason > kLastLeftReason) {
        return malformed("an unknown record");
    }
    const bool belongs_to_file = kind == PackKind::Data || kind == PackKind::FileEnd;
    if (belongs_to_file != in_file_) {
        return malformed("a record at the wrong place");
    }
    const bool named = has_path(kind) || kind == PackKind::Left;
    const std::size_t most = named ? kLongestPath : kind == PackKind::Data ? kLargestBody : 0;
    const bool empty = header_.length == 0;
    if (header_.length > most || (empty && (has_path(kind) || kind == PackKind::Data))) {
        return malformed("a record of the wrong size");
    }
    return {};
}

Result<void> PackParser::take_record(std::string_view body) {
    const PackKind kind = header_.kind;
    if (kind == PackKind::Data) {
        return sink_.on_data(body);
    }
    if (has_path(kind) && !is_plain_path(body)) {
        return malformed("a path that is none");
    }
    if (kind == PackKind::File) {
        in_file_ = true;
    } else if (kind == PackKind::FileEnd) {
        in_file_ = false;
    }
    ended_ = kind == PackKind::End || kind == PackKind::Take;
    return sink_.on_entry({.kind = kind,
                           .path = std::string(body),
                           .number = header_.number,
                           .executable = header_.executable == 1,
                           .reason = header_.reason});
}

Result<void> PackWriter::entry(const PackedEntry& entry) {
    return append({.kind = entry.kind,
                   .length = static_cast<std::uint32_t>(entry.path.size()),
                   .number = entry.number,
                   .executable = entry.executable ? 1U : 0U,
                   .reason = entry.reason},
                  entry.path);
}

Result<void> PackWriter::data(std::string_view bytes) {
    return append({.kind = PackKind::Data,
                   .length = static_cast<std::uint32_t>(bytes.size()),
                   .number = 0,
                   .executable = 0,
                   .reason = LeftReason::None},
                  bytes);
}

Result<void> PackWriter::append(const PackHeader& header, std::string_view body) {
    buffer_.append(reinterpret_cast<const char*>(&header), sizeof(header));
    buffer_.append(body);
    return buffer_.size() < kPiece ? Result<void>{} : flush();
}

Result<void> PackWriter::flush() {
    std::string_view rest = buffer_;
    while (!rest.empty()) {
        const ssize_t count =
            ::send(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count >= 0) {
            rest.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            BJ_TRY_VOID(await(socket_, POLLOUT, deadline_));
        } else if (errno != EINTR) {
            return fail(system_error("send"));
        }
    }
    buffer_.clear();
    return {};
}

Result<void> receive_pack(const Fd& socket, PackSink& sink, TimePoint deadline) {
    PackParser parser(sink);
    std::string buffer;
    while (!parser.ended()) {
        buffer.resize(parser.wanted());
        BJ_TRY_VOID(receive_exactly(socket, buffer, deadline));
        BJ_TRY_VOID(parser.feed(buffer));
    }
    return {};
}

}  // namespace belljar::jar
