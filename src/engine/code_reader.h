#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "execution/request.h"
#include "execution/result.h"
#include "policy/reading.h"

namespace belljar::engine {

// A program that is to be read, and never run: by the interpreter that would run it, in a jar like
// any other, because what it reads is not ours.
struct CodeToRead {
    std::string code{};
    std::string language{};           // python, javascript or typescript
    std::vector<std::string> more{};  // texts of modules that it brings along
    std::string principal{};
};

// The run that reads it, of a program of ours.
[[nodiscard]] Result<execution::RunRequest> reading_request(const CodeToRead& code);

// What its result says.
[[nodiscard]] policy::Reading reading_of(const execution::RunResult& result);

}  // namespace belljar::engine
