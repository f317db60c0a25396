#pragma once

#include <string>
#include <vector>

#include "engine/admission.h"
#include "execution/principal_limits.h"

namespace belljar::engine {

// What is known of those who may use this server. Asked anew for each run, because tokens come, go
// and change while it works. On the I/O thread.
class Principals {
   public:
    Principals() = default;
    Principals(const Principals&) = delete;
    Principals& operator=(const Principals&) = delete;
    virtual ~Principals() = default;

    [[nodiscard]] virtual Callers callers() = 0;
    // Those that it has of its own.
    [[nodiscard]] virtual execution::PrincipalLimits limits_of(const std::string& principal) = 0;
    // Its roles that are no roles of the server's own.
    [[nodiscard]] virtual std::vector<std::string> tool_sets_of(const std::string& /*principal*/) {
        return {};
    }
};

}  // namespace belljar::engine
