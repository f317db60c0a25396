#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace belljar::execution {

// When something was changed, for people and for caches.
using WallTime = std::chrono::system_clock::time_point;

// A file of a conversation: whose, which conversation, and where below /workspace.
struct FileName {
    std::string principal{};        // as access/ tells; empty: the one without a name
    std::string conversation_id{};  // as its caller chose it; never a path
    std::string path{};             // relative, with slashes; empty where all files are meant

    bool operator==(const FileName&) const = default;
};

struct FileView {
    std::string path{};
    std::uint64_t size = 0;
    std::string mime{};  // by its name
    WallTime modified{};
    std::string sha256{};  // hexadecimal; empty unless it was asked for

    bool operator==(const FileView&) const = default;
};

// Whether the whole content is read for it.
enum class Digest { Omitted, Computed };

// A part of a file, which may be shorter than what was asked for: the file may end before.
struct FilePart {
    FileView file{};
    std::uint64_t offset = 0;
    std::string content{};
};

struct ConversationView {
    std::string conversation_id{};
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
    WallTime modified{};
};

// What happened to a file, by a run or by a caller.
struct FileChange {
    enum class Kind { Created, Changed, Deleted };

    FileName file{};
    Kind kind = Kind::Created;
};

}  // namespace belljar::execution
