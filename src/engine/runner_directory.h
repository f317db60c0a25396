#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <string>

#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "base/task.h"
#include "runner/runners.h"

namespace belljar::engine {

// The operator's own manifests, in a directory that is read again when it changes. Files count only
// if nobody but root and this user can have written them. On the I/O thread.
class RunnerDirectory {
   public:
    // `path`: may be empty, and need not exist.
    RunnerDirectory(const asio::any_io_executor& executor, std::string path,
                    runner::Runners shipped, const Log& log);

    // The shipped languages with those of the directory. A file that is broken is logged, and what
    // it said before stays in force; one that others may write is as good as none.
    [[nodiscard]] runner::Runners read();
    // Hands over what there is after each change. Until stop().
    Task<void> watch(std::function<void(runner::Runners)> changed);
    void stop();

   private:
    [[nodiscard]] Result<Fd> open_directory() const;
    void read_file(const Fd& directory, const std::string& name);
    void add_to(runner::Runners& runners, const std::string& name);
    void refuse(const std::string& name, const std::string& reason);
    bool begin_watch();
    void drain_events();
    // Until something may have changed.
    Task<void> await_change();
    Task<void> rest(Duration duration);

    std::string path_;
    runner::Runners shipped_;
    const Log& log_;
    struct Entry {
        runner::ManifestPtr used{};  // by the last runners
        runner::ManifestPtr read{};
        std::string refused{};  // the reason, so that it is told once
    };
    std::map<std::string, Entry> files_;  // by name
    std::string refused_;                 // the directory
    asio::posix::stream_descriptor events_;
    asio::steady_timer timer_;
    int watched_ = -1;
    bool stopping_ = false;
};

}  // namespace belljar::engine
