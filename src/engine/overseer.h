#pragma once

#include "base/result.h"
#include "execution/governance.h"
#include "execution/request.h"
#include "execution/result.h"
#include "execution/run_account.h"

namespace belljar::engine {

// Watches over runs from outside their jars. On the I/O thread; does not block, and outlives the
// engine.
class Overseer {
   public:
    Overseer() = default;
    Overseer(const Overseer&) = delete;
    Overseer& operator=(const Overseer&) = delete;
    virtual ~Overseer() = default;

    // Before anything else is done about a request, and again when it has waited for its place; the
    // error is its refusal.
    [[nodiscard]] virtual Result<void> admit(const execution::RunRequest& /*request*/) {
        return {};
    }
    // After a run has ended or was refused, before the answer leaves. An error is answered instead.
    [[nodiscard]] virtual Result<void> record(const execution::RunAccount& /*account*/,
                                              const Result<execution::RunResult>& /*result*/) {
        return {};
    }
    // Something that is not the matter of one run alone.
    virtual void notice(const execution::SecurityEvent& /*event*/) {}
};

}  // namespace belljar::engine
