#include "execution/run_record.h"

#include <array>

namespace belljar::execution {
namespace {

constexpr std::array kStates{RunState::Queued, RunState::Running, RunState::Ended};

}  // namespace

std::string_view name_of(RunState state) {
    switch (state) {
        case RunState::Queued:
            return "queued";
        case RunState::Running:
            return "running";
        case RunState::Ended:
            break;
    }
    return "ended";
}

std::optional<RunState> parse_run_state(std::string_view name) {
    for (const RunState state : kStates) {
        if (name_of(state) == name) {
            return state;
        }
    }
    return std::nullopt;
}

}  // namespace belljar::execution
