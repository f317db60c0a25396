#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "access/key_set.h"
#include "base/clock.h"
#include "base/log.h"

namespace belljar::access {

// Keys from a local file, read again when it changes; looked at no more than once a second. A file
// that is gone holds no keys. One that cannot be understood changes nothing, so that a file which
// is just being written locks nobody out. Borrows the log.
class KeyFile final : public KeySource {
   public:
    // Fails if there are no keys to begin with.
    static Result<std::unique_ptr<KeyFile>> open(std::string path, const Log& log);

    [[nodiscard]] const KeySet& keys() override;
    bool ask_for_newer() override { return false; }

   private:
    struct Stamp {
        ino_t inode = 0;
        std::int64_t changed = 0;
        off_t size = 0;
        bool operator==(const Stamp&) const = default;
    };

    KeyFile(std::string path, const Log& log) : path_(std::move(path)), log_(log) {}
    Result<void> read();
    [[nodiscard]] std::optional<Stamp> stamp() const;

    std::string path_;
    const Log& log_;
    KeySet keys_;
    std::optional<Stamp> seen_;
    TimePoint looked_{};
};

}  // namespace belljar::access
