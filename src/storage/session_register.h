#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace belljar::storage {

// Which sessions there are, below sessions/ in the data directory: a file for each, named by its
// id, that holds whose it is. A server that starts learns from it which ones its predecessor had,
// so that their owners are told what became of them. On one thread.
class SessionRegister {
   public:
    struct Entry {
        std::string session_id{};
        std::string principal{};
    };

    // Reads what is there, and removes what is older than a day or more than can be told of.
    static Result<std::unique_ptr<SessionRegister>> open(const Fd& data_directory);

    // Gives the directory to the account that the server will run as.
    [[nodiscard]] Result<void> give_to(uid_t user, gid_t group) const;

    // Those of earlier servers.
    [[nodiscard]] const std::vector<Entry>& found() const { return found_; }

    Result<void> add(const Entry& entry) const;
    void remove(const std::string& session_id) const;

   private:
    explicit SessionRegister(Fd directory) : directory_(std::move(directory)) {}
    void take_stock();

    Fd directory_;
    std::vector<Entry> found_;
};

}  // namespace belljar::storage
