#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "execution/session.h"

namespace belljar::engine {

// What a caller wants done with its sessions, from {"action": ..., "session_id": ..., "cells": n}.
// Nothing: a list of them.
[[nodiscard]] Result<std::optional<execution::SessionOrder>> parse_session_arguments(
    const json::object& arguments);

}  // namespace belljar::engine
