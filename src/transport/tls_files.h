#pragma once

#include <sys/types.h>

#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/task.h"

namespace belljar::transport {

// The certificate and the key that clients are shown, from files that are read again when they
// change: new connections get the new pair. A pair that cannot be read or does not fit together
// leaves the old one in force, and the log says why. Used on the I/O thread; borrows the log.
class TlsFiles {
   public:
    struct Paths {
        std::string certificate{};  // with those above it; PEM
        std::string key{};

        bool operator==(const Paths&) const = default;
    };

    static Result<std::unique_ptr<TlsFiles>> open(const Paths& paths, const Log& log);

    // For the next connection. Looks at the files, but not more often than every few seconds.
    [[nodiscard]] std::shared_ptr<asio::ssl::context> context();
    // Reads the files now, these if they are others.
    Result<void> reload(const Paths& paths);

   private:
    // What tells one file from the next under the same name.
    struct Stamp {
        ino_t inode = 0;
        std::int64_t modified = 0;
        off_t size = 0;
        bool operator==(const Stamp&) const = default;
    };
    struct Stamps {
        Stamp certificate;
        Stamp key;
        bool operator==(const Stamps&) const = default;
    };

    TlsFiles(Paths paths, const Log& log) : paths_(std::move(paths)), log_(log) {}
    [[nodiscard]] static Stamp stamp_of(const std::string& path);
    [[nodiscard]] static Stamps stamps_of(const Paths& paths);

    Paths paths_;
    const Log& log_;
    std::shared_ptr<asio::ssl::context> context_;
    Stamps seen_{};
    TimePoint looked_{};
};

}  // namespace belljar::transport
