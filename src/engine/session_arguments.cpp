#include "engine/session_arguments.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/object.hpp>

namespace belljar::engine {
namespace {

using execution::SessionAction;
using execution::SessionOrder;

struct Action {
    std::string_view name;
    std::optional<SessionAction> action;  // none: the list
};

constexpr std::array<Action, 6> kActions{{{"list", std::nullopt},
                                          {"undo", SessionAction::Undo},
                                          {"fork", SessionAction::Fork},
                                          {"diff", SessionAction::Diff},
                                          {"reset", SessionAction::Reset},
                                          {"end", SessionAction::End}}};

Result<Action> read_action(const json::object& arguments) {
    const json::value* value = arguments.if_contains("action");
    if (value != nullptr && value->is_string()) {
        for (const Action& action : kActions) {
            if (action.name == value->get_string()) {
                return action;
            }
        }
    }
    return fail(ErrorCode::InvalidArgument,
                "\"action\" must be one of list, undo, fork, diff, reset and end");
}

}  // namespace

Result<std::optional<SessionOrder>> parse_session_arguments(const json::object& arguments) {
    constexpr std::int64_t kMostCells = 1'000'000;
    for (const auto& [name, value] : arguments) {
        if (name != "action" && name != "session_id" && name != "cells") {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("unknown argument \"{}\"; allowed are action, session_id and "
                                    "cells",
                                    std::string_view(name).substr(0, 64)));
        }
    }
    BJ_TRY(const Action action, read_action(arguments));
    if (!action.action) {
        return std::optional<SessionOrder>();
    }
    SessionOrder order{.action = *action.action};
    const json::value* id = arguments.if_contains("session_id");
    if (id == nullptr || !id->is_string() || id->get_string().empty()) {
        return fail(
            ErrorCode::InvalidArgument,
            fmt::format("\"{}\" needs \"session_id\", as execute_code gave it", action.name));
    }
    order.session_id = std::string(id->get_string());
    if (const json::value* cells = arguments.if_contains("cells");
        cells != nullptr && !cells->is_null()) {
        if (!cells->is_int64() || cells->get_int64() < 1 || cells->get_int64() > kMostCells) {
            return fail(ErrorCode::InvalidArgument,
                        "\"cells\" must be a whole number from 1: how many cells back");
        }
        order.cells = static_cast<std::uint64_t>(cells->get_int64());
    }
    return std::optional(order);
}

}  // namespace belljar::engine
