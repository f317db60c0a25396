#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "execution/governance.h"
#include "jar/pack_stream.h"
#include "storage/conversation_changes.h"
#include "storage/conversation_directory.h"

// The files of a conversation on their way into a jar and back. These calls block: they are for
// threads that have nothing else to do.
namespace belljar::engine {

// The server's end of a jar's courier, and what the jar has been given or has sent. One call uses
// it at a time.
struct FileChannel {
    Fd socket{};
    std::map<std::string, storage::StoredEntry> known{};
};

// The program as a launcher or a bootstrap puts it into the workspace, under one of these names. It
// is not one of the conversation's files.
struct ProgramFile {
    std::vector<std::string> names{};
    std::string sha256{};

    [[nodiscard]] bool may_be(std::string_view path) const {
        return std::ranges::find(names, path) != names.end();
    }
};

struct LeftFile {
    std::string path{};
    jar::LeftReason reason = jar::LeftReason::None;
};

// What came back.
struct TakenFiles {
    std::vector<storage::ConversationChanges::Done> changes{};
    std::vector<LeftFile> left{};  // not kept; the first ones
    std::uint64_t left_count = 0;
    bool whole = false;  // nothing was missing of what the jar had to send
    execution::FileAccess access{};
};

// What the jar has not got yet, and waits until it is there. TooLarge if it finds no room.
[[nodiscard]] Result<void> give_files(FileChannel& channel,
                                      const storage::ConversationDirectory& directory,
                                      storage::ConversationBounds bounds, TimePoint deadline);

// Orders a jar to send what has changed; take_files() gets it.
[[nodiscard]] Result<void> ask_for_files(const FileChannel& channel, TimePoint deadline);

// Takes what a jar sends, as far as it comes and the bounds allow.
[[nodiscard]] Result<TakenFiles> take_files(FileChannel& channel,
                                            const storage::ConversationDirectory& directory,
                                            storage::ConversationBounds bounds,
                                            const std::optional<ProgramFile>& program,
                                            TimePoint deadline);

}  // namespace belljar::engine
