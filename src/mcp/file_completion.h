#pragma once

#include <string>

#include "base/task.h"
#include "engine/conversations.h"
#include "mcp/provider.h"

namespace belljar::mcp {

// What the beginning of a conversation's id, or of a path in it, could become: those of the asker
// alone, by prefix and with case. Borrows the conversations for the call; an asker without the
// right to read files gets none.
Task<Completion> complete_conversation(engine::Conversations* conversations, Asker asker,
                                       std::string begun);

struct PathBegun {
    std::string conversation_id{};
    std::string path{};
};

Task<Completion> complete_path(engine::Conversations* conversations, Asker asker, PathBegun begun);

// Those that begin like that, in the order given.
[[nodiscard]] Completion complete_from(const std::vector<std::string>& values,
                                       std::string_view begun);

}  // namespace belljar::mcp
