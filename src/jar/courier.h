#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "jar/pack_stream.h"

namespace belljar::jar {

// Carries the files of a conversation into a workspace and, later, what has changed out of it. Part
// of init: with the guest's own rights, and out of its reach. No link is followed, and nothing is
// sent but directories and the content of regular files.
class Courier {
   public:
    // How it comes that nobody changes the files meanwhile, if so.
    enum class Guests { Ended, MayRun };

    // `workspace` is the directory itself.
    Courier(Fd socket, Fd workspace)
        : socket_(std::move(socket)), workspace_(std::move(workspace)) {}

    [[nodiscard]] const Fd& socket() const { return socket_; }
    // Whether the server has given files, be they none, and so awaits them at the end.
    [[nodiscard]] bool awaited() const { return awaited_; }

    // Takes files, or sends what has changed, as the server asks. After an error there is nobody to
    // talk to any more.
    Result<void> on_readable();
    // Sends what has changed since the last time.
    Result<void> send_changes(Guests guests);

   private:
    class Unpacker;
    class Walk;

    // A file or directory as it was given or last sent.
    struct Known {
        mode_t type = 0;
        ino_t inode = 0;
        off_t size = 0;
        std::int64_t modified = 0;
        std::int64_t changed = 0;  // by the kernel's own clock, which no program sets
        std::int64_t read = 0;     // always earlier than any reading of it would be

        bool operator==(const Known&) const = default;
    };
    static Known known_of(const struct stat& status);

    Result<void> send_gone(PackWriter& writer);
    // Whether the kernel notes here when files are read.
    [[nodiscard]] bool notes_reads() const;

    Fd socket_;
    Fd workspace_;
    std::map<std::string, Known> known_;
    std::uint64_t budget_ = 0;  // bytes that may be in the workspace
    bool awaited_ = false;
};

}  // namespace belljar::jar
