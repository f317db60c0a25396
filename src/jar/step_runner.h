#pragma once

#include <functional>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "jar/step.h"

namespace belljar::jar {

// Runs steps one after the other. The first that fails is told to the warden and ends the process:
// a jar that is not wholly closed never runs a guest.
class StepRunner {
   public:
    // Borrows the socket to the warden.
    explicit StepRunner(const Fd& warden) : warden_(warden) {}

    template <typename Function, typename... Arguments>
    void run(Step step, Function&& function, Arguments&&... arguments) const {
        if (is_switched_off(step)) {
            return;
        }
        check(step,
              std::invoke(std::forward<Function>(function), std::forward<Arguments>(arguments)...));
    }

    template <typename Function, typename... Arguments>
    auto value(Step step, Function&& function, Arguments&&... arguments) const {
        auto result =
            std::invoke(std::forward<Function>(function), std::forward<Arguments>(arguments)...);
        if (!result) {
            end(step, result.error());
        }
        return std::move(*result);
    }

    [[noreturn]] void end(Step step, const Error& error) const;

   private:
    void check(Step step, const Result<void>& result) const {
        if (!result) {
            end(step, result.error());
        }
    }
    // Never in a build for use; see apps/init/step_switches.cpp.
    static bool is_switched_off(Step step);

    const Fd& warden_;
};

}  // namespace belljar::jar
