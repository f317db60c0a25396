#include "engine/runs.h"

namespace belljar::engine {
namespace {

std::unexpected<Error> no_runs_remembered() {
    return fail(ErrorCode::Unsupported, "runs are not remembered here");
}

}  // namespace

Task<Result<execution::RunPage>> Runs::list(execution::RunQuery /*query*/) {
    co_return no_runs_remembered();
}

Task<Result<execution::RunRecord>> Runs::find(std::optional<std::string> /*principal*/,
                                              std::string /*execution_id*/) {
    co_return no_runs_remembered();
}

Task<Result<execution::RunView>> Runs::cancel(std::optional<std::string> /*principal*/,
                                              std::string /*execution_id*/) {
    co_return no_runs_remembered();
}

Task<Result<execution::RunView>> Runs::start(execution::RunRequest /*request*/) {
    co_return no_runs_remembered();
}

}  // namespace belljar::engine
