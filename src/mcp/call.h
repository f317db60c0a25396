#pragma once

#include <string>

#include "mcp/json_rpc.h"
#include "mcp/notice_wishes.h"
#include "mcp/revision.h"

namespace belljar::mcp {

// A request or notification that its era's rules let through, with the revision to answer it in.
struct Call {
    Message message{};
    Revision revision = kModernRevision;
    std::string principal{};  // who calls; empty: the one without a name
    Notify notify{};          // before the answer; empty: the client takes nothing but that
    ConnectionMemory* memory = nullptr;  // outlives the call; nullptr: nothing is remembered
};

}  // namespace belljar::mcp
