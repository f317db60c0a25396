#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "execution/conversation.h"
#include "storage/conversation_changes.h"

namespace belljar::storage {

// Takes the next bytes of a file; an error ends the reading.
using ByteSink = std::function<Result<void>(std::string_view)>;

// A file that comes with others: where it goes, and what gives its bytes when it is written.
struct IncomingFile {
    std::string path{};
    std::function<Result<void>(const ByteSink&)> content{};
    bool executable = false;
};

struct ImportOrder {
    std::string directory{};  // that all paths are below; empty: the topmost
    std::vector<IncomingFile> files{};
    execution::Existing existing = execution::Existing::Kept;
};

// Writes all files or none. InvalidArgument if a path cannot be or two of them cannot be together;
// Conflict if a file is there that is to be kept, or something that no file can replace; whatever
// the content fails with. The conversation is locked meanwhile.
[[nodiscard]] Result<std::vector<ConversationChanges::Done>> import_files(
    const ConversationDirectory& directory, ConversationBounds bounds, TimePoint deadline,
    const ImportOrder& order);

}  // namespace belljar::storage
