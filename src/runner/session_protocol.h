#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "execution/request.h"
#include "execution/session.h"

namespace belljar::runner {

// What a guest that stays is told, and answers: a line of JSON each, see guest/python/session.py.
struct CellPlace {
    std::string branch{};  // the session's id: sessions that were forked share a guest
    std::uint64_t cell = 0;
    std::size_t checkpoints = 0;  // states to be kept, if the guest can
    std::string mark{};           // of its report, see guest_protocol.h
};
[[nodiscard]] std::string encode_cell(const execution::RunRequest& request, const CellPlace& place);

// The only line that does not wait for the answer to the one before it: ends the running cell.
[[nodiscard]] std::string encode_stop();

[[nodiscard]] std::string encode_session_order(const execution::SessionOrder& order,
                                               std::string_view branch, std::string_view fork);

// What the guest says of a cell: a line of JSON and, behind its size ahead of the line, a report.
// It comes from inside the jar and may be anything.
struct CellAnswer {
    bool kept = false;    // the cell came to its end, and its state is the session's now
    int wait_status = 0;  // as wait(2) gives it, or would
    std::string report{};
    std::vector<std::string> notes{};
};
[[nodiscard]] Result<CellAnswer> parse_cell_answer(std::string_view text, std::uint64_t cell);

// How long an answer is, once its first line is there; nothing before.
[[nodiscard]] std::optional<std::size_t> size_of_answer(std::string_view text);

// To an order that is not a cell: its members, or what it was refused for.
[[nodiscard]] Result<json::object> parse_session_answer(std::string_view text);

}  // namespace belljar::runner
