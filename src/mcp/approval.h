#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "base/task.h"
#include "engine/executor.h"
#include "mcp/provider.h"

namespace belljar::mcp {

// Nobody has to be asked, or somebody has agreed: who.
struct Cleared {
    std::optional<std::string> approved_by{};
};

// Looks whether policy wants a person to agree before the program of an execute_code call runs, and
// if so asks the user of the client. The error says that nobody can be asked, or that the user does
// not agree. Costs nothing where no profile asks.
Task<Result<Round<Cleared>>> seek_approval(engine::Executor* executor, const ToolRequest* request);

}  // namespace belljar::mcp
