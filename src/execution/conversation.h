#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
    bool directory = false;
    // Another one whenever the content is another one; costs nothing to tell. Empty where the file
    // has just been changed by a run.
    std::string revision{};

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
    std::string principal{};
    WallTime created{};
    WallTime last_used{};  // by a run or a caller, for reading or writing
};

// How much one conversation or one principal has, and may have.
struct StorageUsage {
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;        // files and directories
    std::uint64_t conversations = 0;  // of a principal
    std::uint64_t most_bytes = 0;
    std::uint64_t most_entries = 0;
    std::uint64_t most_conversations = 0;  // of a principal
};

// What a page of a list begins after, and how long it is.
struct PageQuery {
    std::string after{};  // `next` of the page before; empty: the first page
    std::size_t limit = 100;
};

struct ConversationPage {
    std::vector<ConversationView> conversations{};  // sorted by principal and id
    std::string next{};                             // empty: there are no more
};

enum class Show { Files, FilesAndDirectories };
enum class Depth { Directory, Tree };  // what is in it, or also what is below that

struct FileQuery {
    FileName where{};  // path: of a directory; empty: everything
    Show show = Show::Files;
    Depth depth = Depth::Tree;
    PageQuery page{};
};

struct FilePage {
    std::vector<FileView> files{};  // sorted by path
    std::string next{};             // empty: there are no more
};

// What has to hold for a file to be written, moved away or deleted: two who change one file at a
// time cannot lose a change unseen.
struct FileCondition {
    enum class Kind { None, Absent, Present, Matches };

    Kind kind = Kind::None;
    std::string tag{};  // for Matches: its sha256 or its revision

    bool operator==(const FileCondition&) const = default;
};

enum class Existing { Kept, Replaced };

struct FileMove {
    FileName from{};
    std::string to{};  // a path in the same conversation
    Existing existing = Existing::Kept;
    FileCondition condition{};  // of the file that is moved
};

// Which conversations a clean-up takes; nothing: for no such reason.
struct CleanupOrder {
    enum class Mode { DryRun, Remove };

    Mode mode = Mode::DryRun;
    std::optional<std::chrono::seconds> idle{};  // not used for so long
    std::optional<std::chrono::seconds> age{};   // made so long ago
    std::optional<std::uint64_t> total_bytes{};  // the longest unused go until no more is left
    std::optional<std::string> principal{};      // nothing: everybody's
    std::vector<FileName> busy{};                // of those, none goes
};

struct CleanupReport {
    enum class Reason { Idle, Age, Space };
    struct Removal {
        ConversationView conversation{};
        Reason reason = Reason::Idle;
    };

    std::vector<Removal> removals{};  // that were made, or would be
    std::uint64_t bytes = 0;          // of those
    std::uint64_t conversations = 0;  // that were looked at
    std::uint64_t in_use = 0;         // that would have gone, had nobody used them
};

// What happened to a file, by a run or by a caller.
struct FileChange {
    enum class Kind { Created, Changed, Deleted };

    FileName file{};
    Kind kind = Kind::Created;
};

}  // namespace belljar::execution
