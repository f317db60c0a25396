#pragma once

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "approved/directory.h"
#include "base/log.h"
#include "base/task.h"
#include "engine/directory_watch.h"
#include "engine/file_threads.h"
#include "engine/tool_shelf.h"
#include "execution/governance.h"

namespace belljar::engine {

// The directory of approved tools: read at the start and again whenever it changes, tried in a jar,
// and then served. On the I/O thread.
class ApprovedTools {
   public:
    // Which of the modules can be imported, and why the others cannot. An error: nobody knows.
    using Trial = std::function<Task<Result<approved::Collection>>(approved::Collection)>;
    using Tell = std::function<void(const execution::SecurityEvent&)>;

    // No source: there are none.
    ApprovedTools(const asio::any_io_executor& executor, std::optional<approved::Source> source,
                  const Log& log);

    // Serves what is there now, untried. For a program that runs once.
    void load();
    // The same after a trial; then whenever something has changed, until stop(). `renewed` is
    // called each time after something else is served.
    Task<void> begin(Trial trial, Tell tell);
    Task<void> watch(std::function<void()> renewed);
    void stop();

    [[nodiscard]] ToolShelf& shelf() { return shelf_; }
    [[nodiscard]] const ToolShelf& shelf() const { return shelf_; }

   private:
    // What a path leads to; another one means that somebody has swapped a link.
    struct Identity {
        dev_t device = 0;
        ino_t inode = 0;
        bool operator==(const Identity&) const = default;
    };

    [[nodiscard]] std::vector<Identity> identities() const;
    // Whether something else is served afterwards.
    Task<bool> renew(Result<approved::Collection> read);
    void tell_refusals(const std::vector<approved::Refusal>& refusals);
    void tell(const std::string& name, const std::string& text, const std::string& file);

    std::optional<approved::Source> source_;
    const Log& log_;
    ToolShelf shelf_;
    DirectoryWatch watch_;
    FileThreads threads_{1};
    Trial trial_;
    Tell tell_;
    std::string read_digest_;  // of what was read last, whether it is served or not
    std::string problem_;      // with all of it, so that it is told once
    std::vector<approved::Refusal> told_;
    bool loaded_ = false;
};

}  // namespace belljar::engine
