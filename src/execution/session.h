#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace belljar::execution {

// What can be done with a session besides running a cell in it.
enum class SessionAction { Undo, Fork, Diff, Reset, End };

struct SessionOrder {
    std::string principal{};  // as access/ tells
    std::string session_id{};
    SessionAction action = SessionAction::Undo;
    std::uint64_t cells = 1;  // how many back, for undo and diff
};

// Names that were not there before, are another thing now, or are gone.
struct Changes {
    std::vector<std::string> added{};
    std::vector<std::string> changed{};
    std::vector<std::string> removed{};
};

struct SessionDiff {
    Changes variables{};
    Changes files{};
};

// A session as its owner sees it.
struct SessionView {
    std::string session_id{};
    std::string principal{};
    std::string language{};
    std::optional<std::string> conversation_id{};
    std::uint64_t cells = 0;  // run so far, those that were undone included
    bool busy = false;
    Duration idle{};                      // since the last cell
    Duration expires{};                   // if nothing happens until then
    bool checkpoints = false;             // whether cells can be undone
    std::optional<SessionDiff> diff{};    // if asked for
    std::optional<std::string> forked{};  // from which session
};

// What a cell did to its session, for the result of the run.
struct CellNews {
    std::uint64_t cell = 0;
    enum class State { Kept, RolledBack, Lost } state = State::Kept;
    std::vector<std::string> notes{};  // what the program should know of its session
};

}  // namespace belljar::execution
