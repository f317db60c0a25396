#pragma once

namespace belljar::storage {

// What is left after a bounded part of what is too old was removed.
enum class Upkeep { Nothing, More };

}  // namespace belljar::storage
