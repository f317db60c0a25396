#pragma once

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>

#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "base/task.h"

namespace belljar::apps {

// Leads standard error of this process, and so its log, into a file. Lines are added to the end of
// whatever the file holds, so it may be cut short at any time; a file that was moved away is left
// for a new one of the old name.
class LogFile {
   public:
    // An empty path leaves standard error as it is.
    explicit LogFile(std::string path) : path_(std::move(path)) {}

    // Makes the file, readable by its owner and group, if it is not there.
    Result<void> open();
    // To the account that the server runs as, so that it can be opened again.
    Result<void> give_to(uid_t user, gid_t group) const;
    // Another file, or the same once more. On failure the log goes where it went.
    Result<void> change(const std::string& path);
    // Every second or so, whether the file is still the one of that name; ends with stop().
    Task<void> watch(asio::any_io_executor executor, const Log* log);
    void stop();

   private:
    [[nodiscard]] bool was_moved() const;

    std::string path_;
    Fd before_;  // standard error as it was, to return to
    bool stopped_ = false;
    asio::steady_timer* pause_ = nullptr;
};

}  // namespace belljar::apps
