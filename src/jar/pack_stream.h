#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

// How the files of a conversation travel between the server and the init of a jar: records, each of
// a header of fixed size and a body of bounded size. What comes out of a jar is hostile.
namespace belljar::jar {

enum class PackKind : std::uint32_t {
    Directory = 1,  // path
    File,           // path; Data and FileEnd follow
    Data,           // bytes
    FileEnd,
    Gone,       // path: what was there is not any more; what was in a directory comes before it
    Left,       // words: something that is not kept, with a reason
    End,        // of the stream
    Take,       // an order: send what has changed
    Read,       // path: a file of the server's that was read, or may have been
    ReadsSeen,  // no file was read that is not told of as read, changed or gone
};
inline constexpr PackKind kLastPackKind = PackKind::ReadsSeen;

// Why something in a workspace is not kept.
enum class LeftReason : std::uint32_t {
    None,
    Link,
    Special,     // pipe, socket or device
    Name,        // no plain path
    TooMany,     // more than a conversation may have
    TooLarge,    // more bytes than a conversation may have
    Unreadable,  // its owner forbids it, or it cannot be read
    NoRoom,      // in the workspace, for what the conversation has
};
inline constexpr LeftReason kLastLeftReason = LeftReason::NoRoom;

struct PackHeader {
    PackKind kind;
    std::uint32_t length;  // of the body
    // File: when it was changed, in nanoseconds since 1970. End: from the server, how many bytes
    // may come back; from a jar, how many things are left there.
    std::int64_t number;
    std::uint32_t executable;  // File: 1 if it is a program
    LeftReason reason;
};

inline constexpr std::size_t kLargestBody = 64UL * 1024;
inline constexpr std::size_t kMostKept = 10'000;  // files and directories of a conversation
inline constexpr std::size_t kMostLeftTold = 16;  // by name; of the others only the number is told

struct PackedEntry {
    PackKind kind = PackKind::End;
    std::string path{};
    std::int64_t number = 0;
    bool executable = false;
    LeftReason reason = LeftReason::None;
};

// Who is told what a stream says. An error ends the reading.
class PackSink {
   public:
    PackSink() = default;
    PackSink(const PackSink&) = delete;
    PackSink& operator=(const PackSink&) = delete;
    virtual ~PackSink() = default;

    // Everything but Data.
    virtual Result<void> on_entry(const PackedEntry& entry) = 0;
    virtual Result<void> on_data(std::string_view data) = 0;
};

// Reads one stream, up to its End or a Take: wanted() bytes at a time, so that nothing of the next
// stream is taken. Paths are plain (base/beneath.h), data is inside of files, sizes are bounded.
class PackParser {
   public:
    explicit PackParser(PackSink& sink) : sink_(sink) {}

    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] std::size_t wanted() const {
        return in_body_ ? header_.length : sizeof(PackHeader);
    }
    // Exactly wanted() bytes.
    Result<void> feed(std::string_view bytes);

   private:
    [[nodiscard]] Result<void> check_header() const;
    Result<void> take_record(std::string_view body);

    PackSink& sink_;
    PackHeader header_{};
    bool in_body_ = false;
    bool in_file_ = false;
    bool ended_ = false;
};

// Collects records and sends them in large pieces. The socket may block or not.
class PackWriter {
   public:
    PackWriter(const Fd& socket, TimePoint deadline) : socket_(socket), deadline_(deadline) {}

    Result<void> entry(const PackedEntry& entry);
    Result<void> data(std::string_view bytes);  // at most kLargestBody
    Result<void> flush();

   private:
    Result<void> append(const PackHeader& header, std::string_view body);

    const Fd& socket_;
    TimePoint deadline_;
    std::string buffer_;
};

// One stream from the socket. Unavailable if the other side ends before it, or is too slow.
[[nodiscard]] Result<void> receive_pack(const Fd& socket, PackSink& sink, TimePoint deadline);

}  // namespace belljar::jar
