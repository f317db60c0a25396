#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/task.h"
#include "execution/request.h"
#include "execution/run_record.h"

namespace belljar::engine {

// The runs that go on and those that have ended, for the protocols. A principal that is given sees
// its own alone: what is said about a run of somebody else is what is said about one that does not
// exist. Without one, everybody's are meant; that is for administrators. Errors: NotFound;
// InvalidArgument for a cursor that is none; Unsupported where nothing is remembered. This class
// remembers nothing: it is what an installation without a data directory has, and what fakes begin
// with. On the I/O thread.
class Runs {
   public:
    Runs() = default;
    Runs(const Runs&) = delete;
    Runs& operator=(const Runs&) = delete;
    virtual ~Runs() = default;

    virtual Task<Result<execution::RunPage>> list(execution::RunQuery query);
    virtual Task<Result<execution::RunRecord>> find(std::optional<std::string> principal,
                                                    std::string execution_id);
    // Asks the run to end, and does not wait for that. Conflict if it has ended.
    virtual Task<Result<execution::RunView>> cancel(std::optional<std::string> principal,
                                                    std::string execution_id);
    // Begins a run that goes on without whoever asked for it; find() has its result later.
    // QuotaReached or Overloaded if there are as many of those as may be.
    virtual Task<Result<execution::RunView>> start(execution::RunRequest request);
};

}  // namespace belljar::engine
