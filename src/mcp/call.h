#pragma once

#include <functional>
#include <optional>
#include <string>

#include "access/rights.h"
#include "access/run_origin.h"
#include "access/trace_context.h"
#include "mcp/json_rpc.h"
#include "mcp/notice_wishes.h"
#include "mcp/questions.h"
#include "mcp/revision.h"

namespace belljar::mcp {

// A request or notification that its era's rules let through, with the revision to answer it in.
struct Call {
    Message message{};
    Revision revision = kModernRevision;
    std::string principal{};  // who calls; empty: the one without a name
    access::Rights rights = access::Rights::all();
    access::Origin origin{};
    std::optional<access::TraceContext> trace{};  // of the HTTP request that brought it
    Notify notify{};  // before the answer; empty: the client takes nothing but that
    ConnectionMemory* memory = nullptr;  // outlives the call; nullptr: nothing is remembered
    // What a legacy client is asked while its request waits; both or neither.
    QuestionsPtr questions{};
    SendQuestion send_question{};
    std::function<void()> hang_up{};  // as in Asker
};

}  // namespace belljar::mcp
