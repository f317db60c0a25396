#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace belljar::isolation {

// Directories of jars that have no file tree of their own (jar::Mode::Nested): one for the warden,
// below it one for each jar. Init empties a jar's before it ends; what is left is removed here.
class Scratch {
   public:
    Scratch() = default;
    Scratch(Scratch&&) noexcept = default;
    Scratch& operator=(Scratch&&) noexcept = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch();

    static Result<Scratch> create(const std::string& parent);

    // A directory with a workspace and a tmp in it that belong to `owner`.
    [[nodiscard]] Result<Fd> make(std::uint64_t id, uid_t owner) const;
    // Removes as much of it as jar::remove_some() would. False: not all of it is gone.
    [[nodiscard]] Result<bool> remove(std::uint64_t id, std::size_t& most) const;

   private:
    std::string path_;
    Fd directory_;
};

}  // namespace belljar::isolation
