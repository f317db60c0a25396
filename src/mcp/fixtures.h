#pragma once

namespace belljar::mcp {

// Whether there is what the conformance suite of the protocol calls. Never where others can reach
// it.
enum class Fixtures { Absent, Present };

}  // namespace belljar::mcp
