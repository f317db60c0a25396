// Only for tests, in a program that is never installed: steps that are named in a file beside it,
// one per line, are left out, to show that another layer holds. Takes the place of the function in
// src/jar/step_runner.cpp.

#include <unistd.h>

#include <array>
#include <set>
#include <sstream>
#include <string>

#include "base/assert.h"
#include "base/fd.h"
#include "jar/step_runner.h"

namespace belljar::jar {
namespace {

// Read once, at the first step, while the host's files can still be seen.
std::string read_switches() {
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    const std::string self(path.data(), static_cast<std::size_t>(length > 0 ? length : 0));
    const Result<std::string> names =
        read_file(self.substr(0, self.rfind('/') + 1) + "steps-off", kibibytes(4));
    return names.value_or("");
}

// A name that is none would leave every layer on, and a test would prove nothing.
std::set<Step> switched_off_steps() {
    std::set<Step> steps;
    std::istringstream lines(read_switches());
    for (std::string line; std::getline(lines, line);) {
        std::uint32_t step = 0;
        while (name_of(static_cast<Step>(step)) != line) {
            BJ_ASSERT(++step <= static_cast<std::uint32_t>(Step::SetUpDeadline));
        }
        steps.insert(static_cast<Step>(step));
    }
    return steps;
}

}  // namespace

bool StepRunner::is_switched_off(Step step) {
    static const std::set<Step> steps = switched_off_steps();
    return steps.contains(step);
}

}  // namespace belljar::jar
