#pragma once

#include <boost/asio/any_io_executor.hpp>

#include "base/log.h"
#include "engine/executor.h"
#include "mcp/background_runs.h"
#include "mcp/changes.h"
#include "mcp/file_resources.h"
#include "mcp/info_resources.h"
#include "mcp/prompt_provider.h"
#include "mcp/provider.h"
#include "mcp/run_resources.h"
#include "mcp/shipped_resources.h"
#include "mcp/tool_provider.h"
#include "storage/output_store.h"

namespace belljar::mcp {

// Everything that Belljar offers of its own. Borrows what it is given.
class Offerings {
   public:
    struct Sources {
        engine::Executor& executor;
        Changes& changes;
        const storage::OutputStore* outputs = nullptr;  // of runs; nothing: none are kept
        std::vector<Dialect> dialects{};                // whose tools are listed, too
    };

    Offerings(const asio::any_io_executor& io, Sources sources, const Log& log)
        : tools_(sources.executor, std::move(sources.dialects)),
          background_runs_(io, sources.executor, tools_, log),
          info_(sources.executor),
          shipped_(),
          files_(io, sources.executor.conversations(), sources.changes),
          runs_(sources.outputs),
          prompts_(sources.executor) {}

    // In the order in which their lists are shown.
    [[nodiscard]] Providers providers() {
        return {&tools_, &background_runs_, &info_, &shipped_, &files_, &runs_, &prompts_};
    }

    // Ends what is under way.
    void stop() { background_runs_.stop(); }
    Task<void> wait_for_end(asio::steady_timer::time_point deadline) {
        return background_runs_.wait_for_end(deadline);
    }

   private:
    ToolProvider tools_;
    BackgroundRuns background_runs_;
    InfoResources info_;
    ShippedResources shipped_;
    FileResources files_;
    RunResources runs_;
    PromptProvider prompts_;
};

}  // namespace belljar::mcp
